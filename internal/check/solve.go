package check

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/userfile"
)

// solveCall is a file without a main() that has a function which launches its kernels, and how check calls
// it.
type solveCall struct {
	function cfacts.Function
	values   map[string]int64  // of ints, by --size
	counts   map[string]string // elements of pointers, by --size: a product of ints
	host     []string          // pointers to host memory, which it copies to the device itself
}

// sweep holds the values of ints without a --size, one call after the other. Each further int is one larger
// than the previous one, so that mixed-up sizes show. mostElements: with many ints an array of their whole
// product is too large.
var sweep = []int64{1, 37, 300}

const mostElements = 1 << 18

var (
	decimalInteger = regexp.MustCompile(`^[0-9]{1,18}$`)
	sizeFormula    = regexp.MustCompile(`^[A-Za-z0-9_+*() ]+$`)
	wordInText     = regexp.MustCompile(`[A-Za-z_]\w*`)
	integerTypes   = []string{
		"int", "unsigned int", "unsigned", "long", "long long", "unsigned long",
		"unsigned long long", "size_t", "int64_t", "int32_t", "uint32_t", "uint64_t", "short",
	}
	// numberTypes maps the types of parameters that are no sizes to the values that they get.
	numberTypes = map[string]string{
		"float": "0.5", "double": "0.5", "bool": "false", "char": "0", "cudaStream_t": "nullptr",
	}
)

// ReadSolve reads a file that is no program; it returns nil for a program, or if there is nothing to call.
func ReadSolve(file string, sizes []string) (*solveCall, error) {
	text, err := userfile.Read(file)
	if err != nil { // a folder, or nothing: the builder reports it
		return nil, withoutSizes(sizes)
	}
	read := cfacts.ReadCUDA(string(text))
	callable := callableOf(read)
	if read.Main || len(callable) == 0 {
		return nil, withoutSizes(sizes)
	}
	if len(callable) > 1 {
		return nil, op.Usagef("check: %s has no main(), and %s and %s both launch its kernels: call the one "+
			"to check solve, or judge one by its parameters with triad compare OP --add %[1]s:NAME", file,
			callable[0].Name, callable[1].Name)
	}
	s := &solveCall{
		function: callable[0], values: map[string]int64{}, counts: map[string]string{},
		host: read.HostArrays(callable[0]),
	}
	for _, size := range sizes {
		if err := s.size(size); err != nil {
			return nil, err
		}
	}
	return s, s.takes(file)
}

// callableOf returns the functions that may stand for the file's main(): solve, else those that are
// extern "C", else those that launch kernels and that no other one of them calls.
func callableOf(read *cfacts.File) []cfacts.Function {
	var declared, launching []cfacts.Function
	for _, f := range read.Functions {
		switch {
		case f.Kind != cfacts.Host:
		case f.Name == "solve" && (f.ExternC || f.Launches):
			return []cfacts.Function{f}
		case f.ExternC && len(f.Template) == 0:
			declared = append(declared, f)
		case f.Launches:
			launching = append(launching, f)
		}
	}
	if len(declared) > 0 {
		return declared
	}
	return slices.DeleteFunc(launching, func(f cfacts.Function) bool {
		return slices.ContainsFunc(f.Template, func(t cfacts.TemplateParam) bool { return !t.Type }) ||
			slices.ContainsFunc(launching, func(g cfacts.Function) bool {
				return g.Line != f.Line && uses(g, f.Name)
			})
	})
}

// Declared reports whether the function is extern "C", so that it is meant to be called from outside.
func (s *solveCall) Declared() bool { return s.function.ExternC }

func withoutSizes(sizes []string) error {
	if len(sizes) > 0 {
		return op.Usagef("--size %s: sizes are for a file with a function that launches, such as solve, and "+
			"no main()", sizes[0])
	}
	return nil
}

// size parses one --size.
func (s *solveCall) size(text string) error {
	name, value, _ := strings.Cut(text, "=")
	i := slices.IndexFunc(s.function.Params, func(p cfacts.Param) bool { return p.Name == name })
	if i < 0 {
		return op.Usagef(
			"--size %q: %s has no parameter %s: it is %s",
			text,
			s.function.Name,
			name,
			s.function.Text,
		)
	}
	p := s.function.Params[i]
	if p.Pointer {
		if !sizeFormula.MatchString(value) {
			return op.Usagef(
				"--size %q: want how many elements %s has, in numbers and ints, e.g. %s=N*M",
				text,
				name,
				name,
			)
		}
		for _, word := range wordInText.FindAllString(value, -1) {
			if !slices.ContainsFunc(s.ints(), func(p cfacts.Param) bool { return p.Name == word }) {
				return op.Usagef("--size %q: %s is no int of %s", text, word, s.function.Text)
			}
		}
		s.counts[name] = value
		return nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if !slices.Contains(integerTypes, p.Base) || !decimalInteger.MatchString(value) || err != nil {
		return op.Usagef("--size %q: want an integer for an int, e.g. N=1000", text)
	}
	s.values[name] = n
	return nil
}

// ints returns the parameters that are sizes.
func (s *solveCall) ints() []cfacts.Param {
	return slices.DeleteFunc(slices.Clone(s.function.Params), func(p cfacts.Param) bool {
		return p.Pointer || !slices.Contains(integerTypes, p.Base)
	})
}

// takes rejects a function that cannot be called.
func (s *solveCall) takes(file string) error {
	for _, p := range s.function.Params {
		known := p.Pointer && p.Base != "void" && strings.Count(p.Text, "*") == 1 ||
			!p.Pointer && (slices.Contains(integerTypes, p.Base) || s.number(p) != "")
		if !known {
			return op.Usagef("check: %s:%d: %s takes %s, and check can give pointers to elements, integers "+
				"and floats: write a main() that calls it, or judge it with triad compare OP --add %[1]s",
				file, s.function.Line, s.function.Name, p.Text)
		}
	}
	return nil
}

// number returns the value of a parameter that is a number and no size; "" for others. The types of a
// template are float.
func (s *solveCall) number(p cfacts.Param) string {
	if slices.ContainsFunc(s.function.Template, func(t cfacts.TemplateParam) bool {
		return t.Name == p.Base
	}) {
		return numberTypes["float"]
	}
	return numberTypes[p.Base]
}

// zeroed reports whether a pointer gets zeros: the kernels add to an output that they do not write first, so
// that its caller zeroes it. compare assumes the same.
func (s *solveCall) zeroed(p cfacts.Param) bool {
	return p.Pointer && p.Accumulates() && !s.reads(p)
}

// count returns how many elements a pointer has: the argument of --size, else the product of all ints, which
// is the int itself where there is only one.
func (s *solveCall) count(p cfacts.Param) string {
	if given := s.counts[p.Name]; given != "" {
		return given
	}
	product := []string{}
	for _, size := range s.ints() {
		product = append(product, size.Name)
	}
	if len(product) == 0 {
		return "1024"
	}
	return strings.Join(product, " * ")
}

// reads reports whether a pointer gets values: one to const does, and so does every pointer of a function
// that changes its data in place.
func (s *solveCall) reads(p cfacts.Param) bool {
	return p.Const || !slices.ContainsFunc(s.function.Params,
		func(q cfacts.Param) bool { return q.Pointer && q.Const })
}

// Main returns the main() that the file lacks. It gets the ints as arguments, in order.
func (s *solveCall) Main() string {
	var text, behind strings.Builder
	var names []string
	argument := 0
	for _, p := range s.ints() {
		argument++
		fmt.Fprintf(
			&text,
			"\t%s %s = static_cast<%s>(atoll(triad_argv[%d]));\n",
			p.Base,
			p.Name,
			p.Base,
			argument,
		)
	}
	for _, p := range s.function.Params {
		names = append(names, p.Name)
		switch {
		case p.Pointer:
			bytes := fmt.Sprintf("sizeof(%s) * (%s)", p.Base, s.count(p))
			host := slices.Contains(s.host, p.Name)
			allocate := fmt.Sprintf("cudaMalloc(&%s, %s)", p.Name, bytes)
			if host {
				allocate = fmt.Sprintf("triad_check::host_array(&%s, %s)", p.Name, bytes)
			}
			fmt.Fprintf(&text, "\t%s *%s = nullptr;\n#line %d\n\t%s;\n", p.Base, p.Name, s.function.Line,
				allocate)
			if s.reads(p) {
				fmt.Fprintf(&text, "\ttriad_check::fill(%s, %s / sizeof *%s);\n", p.Name, bytes, p.Name)
			} else if s.zeroed(p) && !host {
				fmt.Fprintf(&text, "\tcudaMemset(%s, 0, %s);\n", p.Name, bytes)
			}
			fmt.Fprintf(
				&behind,
				"\ttriad_check::give_back(%s, %s / sizeof *%s, \"%s\", %t, %t);\n",
				p.Name,
				bytes,
				p.Name,
				p.Name,
				!p.Const,
				host,
			)
		case s.number(p) != "":
			fmt.Fprintf(&text, "\t%s %s = %s;\n", p.Base, p.Name, s.number(p))
		}
	}
	function, types := s.instantiation()
	// an array is allocated at the line of the function, so that a report names that line
	return fmt.Sprintf("\n#include \"cuemu/solve_main.h\"\nint main(int, char **triad_argv) {\n"+
		"\t(void)triad_argv;\n%s%s\t%s(%s);\n\tcudaDeviceSynchronize();\n%s}\n",
		types, text.String(), function, strings.Join(names, ", "), behind.String())
}

// instantiation returns the function as it is called, with the types of a template, and the lines that define
// these.
func (s *solveCall) instantiation() (function, types string) {
	var names []string
	for _, t := range s.function.Template {
		types += fmt.Sprintf("\tusing %s = float;\n", t.Name)
		names = append(names, t.Name)
	}
	if len(names) == 0 {
		return s.function.Name, ""
	}
	return s.function.Name + "<" + strings.Join(names, ", ") + ">", types
}

// Checked runs the program with the given sizes, or with several.
func (s *solveCall) Checked(ctx context.Context, q Request) (*Report, error) {
	var report *Report
	calls := sweep
	if len(s.values) == len(s.ints()) {
		calls = sweep[:1] // all are given
	}
	for i, base := range calls {
		if i > 0 && math.Pow(float64(base), float64(len(s.ints())-len(s.values))) > mostElements {
			break
		}
		q.Args, q.Call = nil, ""
		var words []string
		for i, p := range s.ints() {
			value, given := s.values[p.Name]
			if !given {
				value = base + int64(i)
			}
			q.Args = append(q.Args, fmt.Sprint(value))
			words = append(words, fmt.Sprintf("%s=%d", p.Name, value))
		}
		q.Call = fmt.Sprintf("%s(%s)", s.function.Name, strings.Join(words, ", "))
		found, err := Run(ctx, q)
		if err != nil {
			return nil, err
		}
		if report == nil {
			report = found
		} else {
			report.Merge(found)
		}
	}
	if report == nil {
		return nil, errors.New("check called nothing")
	}
	return report, s.note(report)
}

// note adds what was assumed of the call.
func (s *solveCall) note(report *Report) error {
	for _, p := range s.function.Params {
		if s.zeroed(p) {
			report.Notes = append(report.Notes, fmt.Sprintf("%s is added to before it is written, so it was "+
				"zeroed before each call: assumed that its caller does that, as compare does.", p.Name))
		}
		if p.Pointer && s.counts[p.Name] == "" && len(s.ints()) > 1 {
			report.Notes = append(
				report.Notes,
				fmt.Sprintf("%s was given %s elements, which may be more than it "+
					"has: --size %s=... finds accesses behind its end.", p.Name, s.count(p), p.Name),
			)
		}
	}
	return nil
}

// uses reports whether a function's lines call or launch one of that name.
func uses(fn cfacts.Function, name string) bool {
	for i := 0; i+1 < len(fn.Body); i++ {
		if fn.Body[i].Text == name && slices.Contains([]string{"(", "<", "<<<"}, fn.Body[i+1].Text) {
			return true
		}
	}
	return false
}
