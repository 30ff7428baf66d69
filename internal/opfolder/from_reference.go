package opfolder

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/pyparser"
)

// Formula is a torch expression that an operator is made of.
type Formula struct {
	Expression string // of torch, over tensors by their names: torch.sigmoid(x)
	Reduces    bool   // it reduces the last dimension
}

var (
	stringLiteral = regexp.MustCompile(`'[^']*'|"[^"]*"`)
	word          = regexp.MustCompile(`\.?\s*\b[A-Za-z_]\w*\b\s*(\(|=[^=]|=$)?`)
	// notTensors are words of a formula that name no tensor.
	notTensors = []string{
		"torch", "F", "math", "True", "False", "None", "and", "or", "not", "if",
		"else", "in", "is",
	}
)

// CreateFrom makes the folder of an operator whose truth is a torch expression: a spec with what only the
// user can know, the rest by default, and the Python file with the truth.
func CreateFrom(folder string, f Formula) error {
	return create(folder, func(name string) (map[string]string, error) {
		tensors, err := f.tensors()
		if err == nil {
			err = f.parses()
		}
		if err != nil {
			return nil, err
		}
		return map[string]string{name + ".toml": f.spec(name, tensors), name + ".py": f.python(name,
			tensors)}, nil
	})
}

// placeOfSyntax matches the place of a syntax error in the function that parses makes.
var placeOfSyntax = regexp.MustCompile(`^line \d+, column \d+: `)

// parses returns an error if the expression is none of Python's. Without a Python it returns nil.
func (f Formula) parses() error {
	facts := pyparser.New(pyparser.OfPATH)("def reference():\n    return " + f.Expression + "\n")
	if facts.Syntax == "" {
		return nil
	}
	return fmt.Errorf("--reference %q: it is no expression of Python: %s", f.Expression,
		placeOfSyntax.ReplaceAllString(facts.Syntax, ""))
}

// tensors returns the names of the expression's tensors, in the order of their appearance.
func (f Formula) tensors() ([]string, error) {
	if strings.ContainsAny(f.Expression, "\n\r;#\\") || strings.TrimSpace(f.Expression) == "" {
		return nil, fmt.Errorf("--reference %q: want one expression of torch, e.g. 'torch.sigmoid(x)'",
			f.Expression)
	}
	var names []string
	for _, found := range word.FindAllStringSubmatch(stringLiteral.ReplaceAllString(f.Expression, "''"), -1) {
		name := strings.TrimRight(found[0], "(= \t")
		if found[1] != "" && strings.HasPrefix(found[1], "=") {
			continue // the name of an argument
		}
		name = strings.TrimSpace(name)
		switch {
		case strings.HasPrefix(name, "."), slices.Contains(notTensors, name), slices.Contains(names, name):
		case name == "lambda" || name == "for" || name == "yield" || name == "await":
			return nil, fmt.Errorf("--reference %q: %s is not for a formula: begin with triad new NAME, "+
				"and write "+
				"the function into NAME.py", f.Expression, name)
		case found[1] == "(":
			return nil, fmt.Errorf("--reference %q: %s() is not known: write torch.%s or F.%s",
				f.Expression, name,
				name, name)
		case op.CheckOperatorName(name) != nil:
			return nil, fmt.Errorf("--reference %q: tensor %q: want a name of lower-case letters and "+
				"digits that the "+
				"format does not take", f.Expression, name)
		default:
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("--reference %q: it has no tensor: want an expression such as "+
			"'torch.sigmoid(x)'",
			f.Expression)
	}
	return names, nil
}

// output returns a name for the output.
func (f Formula) output(tensors []string) string {
	for _, name := range []string{"y", "z"} {
		if !slices.Contains(tensors, name) {
			return name
		}
	}
	return "out"
}

// spec returns the text of the .toml.
func (f Formula) spec(name string, tensors []string) string {
	out := f.output(tensors)
	var text strings.Builder
	fmt.Fprintf(&text, "# What %[1]s is. triad ops show ./%[1]s prints what was understood.\nname = %[1]q\n"+
		"formula = %[2]q\n", name, out+" = "+f.Expression)
	text.WriteString(`
# What is left out here has a default: dtypes (fp32, fp16, bf16), contract, [cost.forward],
# [cost.backward], and [check] with its shapes and distributions. docs/spec.md lists all keys.
[[dims]]
name = "rows"
[[dims]]
name = "cols"
`)
	for _, t := range tensors {
		fmt.Fprintf(&text, "\n[[inputs]]\nname = %q\nshape = [\"rows\", \"cols\"]\ndifferentiable = "+
			"true\n", t)
	}
	shape := `["rows", "cols"]`
	if f.Reduces {
		shape = `["rows"]`
	}
	fmt.Fprintf(&text, "\n[[outputs]]\nname = %q\nshape = %s\n", out, shape)
	text.WriteString("\n[synonyms] # what people call sizes in kernels of their own; add yours\n" +
		f.synonyms())
	fmt.Fprintf(&text, "\n# Its truth is autograd of the reference. Leave the section out for an "+
		"operator without\n# gradients.\n[backward]\ninputs = [%s]\noutputs = [%s]\nchained = false\n",
		quoted(append(slices.Clone(tensors), "grad_"+out)), quoted(gradients(tensors)))
	return text.String()
}

// synonyms returns names of sizes. A kernel that works element by element has one size for all of them.
func (f Formula) synonyms() string {
	if f.Reduces {
		return `rows = "m batch b height h tokens outer"
cols = "n d dim width w size length len hidden features k"
`
	}
	return `rows = "m batch b height h tokens outer"
cols = "width w d dim hidden features"
"rows * cols" = "n size numel total elements length len count num_elements total_elements"
`
}

// python returns the text of the .py.
func (f Formula) python(name string, tensors []string) string {
	out, parameters := f.output(tensors), strings.Join(tensors, ", ")
	imports := ""
	for module, line := range map[string]string{
		`\bmath\.`: "import math\n", `\bF\.`: "import torch.nn.functional as F\n",
	} {
		if regexp.MustCompile(module).MatchString(f.Expression) {
			imports += line
		}
	}
	order := make([]string, len(tensors))
	inFP32 := make([]string, len(tensors))
	for i, t := range tensors {
		order[i], inFP32[i] = fmt.Sprint(i), t+".float()"
	}
	tuple := func(words string) string { return "(" + words + ",)" }
	return fmt.Sprintf(`"""%[1]s: %[2]s = %[3]s

reference() is the truth. triad runs it in fp64, on exactly the inputs that a kernel gets, and
follows every operation to know how far fp32 arithmetic may move each element. Gradients come from
autograd of it.
"""

%[4]simport torch

from implementation import differentiable_row


def reference(%[5]s):
    return %[3]s


def in_fp32(%[5]s):
    """The formula with every value inside fp32, rounded once at the end."""
    return reference(%[6]s).to(%[7]s.dtype).contiguous()


# Rows to judge beside your kernels: any functions of the same signature.
IMPLEMENTATIONS = [
    differentiable_row("torch/fp32", in_fp32, %[8]d, %[9]s, (%[2]q,), %[10]s),
]
`, name, out, f.Expression, imports, parameters, strings.Join(inFP32, ", "), tensors[0], len(tensors),
		tuple(strings.Join(order, ", ")), tuple(quoted(gradients(tensors))))
}

func gradients(tensors []string) []string {
	var names []string
	for _, t := range tensors {
		names = append(names, "grad_"+t)
	}
	return names
}

// quoted returns names as a list for TOML and Python.
func quoted(names []string) string {
	var list []string
	for _, name := range names {
		list = append(list, fmt.Sprintf("%q", name))
	}
	return strings.Join(list, ", ")
}
