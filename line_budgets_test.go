package triad_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"triad/internal/need"
)

// budgets are the maximum lines of an operator in spec, truth, relations, Triton and torch together, by the
// family that its truth registers with; plain is without one. Comments and blank lines are not counted.
var budgets = map[string]int{
	"elementwise": 150, "movement": 150, "integer": 150,
	"reduction": 250, "scan": 250, "rownorm": 250, "selection": 250, "loss": 250,
	"product": 400, "experts": 400, "plain": 400,
}

// mostVariantLines is the maximum lines of a variant of a CUDA file in each pass, on average: code that
// variants share counts for none of them. The variants for Hopper are not counted.
const mostVariantLines = 60

// overBudget lists the operators above their family's budget, and those above mostVariantLines, with their
// lines. It shrinks: no operator joins it, and none on it grows except by a Triton kernel for Hopper, as
// fp8_gemm did by two: the variants for Hopper are not counted separately there.
const overBudget = "testdata/over_budget.txt"

// mostUserFileLines is the maximum lines of code that read users' files, without comments, blank lines and
// imports. It shrinks: a new form replaces one that decides nothing.
const mostUserFileLines = 17_139

// mostUserFilePatterns is the maximum number of regular expressions in it: facts come from parsers.
const mostUserFilePatterns = 60

// mostPackageLines is the maximum lines of each package of it.
const mostPackageLines = 2_000

// importBlock matches the imports of a Go file.
var importBlock = regexp.MustCompile(`(?m)^import \((?s:.*?)^\)\n`)

// mostPageWords is the maximum words of docs/*.md together. It shrinks: a new part of a page replaces one
// that its reader does not need, and measured rounds go to results/published.
const mostPageWords = 60_000

// TestPageWords: the pages together do not grow.
func TestPageWords(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("docs/*.md: %d files, %v", len(pages), err)
	}
	total, each := 0, ""
	for _, page := range pages {
		words := len(strings.Fields(read(t, page)))
		total += words
		each += fmt.Sprintf("%7d %s\n", words, page)
	}
	if total > mostPageWords {
		t.Errorf("docs/*.md have %d words, at most %d are allowed: take away what a page's reader does not "+
			"need\n%s", total, mostPageWords, each)
	}
}

// TestUserFileLines: the code that reads users' files does not grow.
func TestUserFileLines(t *testing.T) {
	lines, patterns, packages := 0, 0, map[string]int{}
	for _, pattern := range []string{
		"internal/ownfile/*.go", "internal/ownfile/*/*.go", "internal/ownkernels/*.go",
		"internal/participants/*.go", "pybridge/user_files/*.py",
	} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				text := read(t, file)
				packages[path.Dir(file)] += strings.Count(text, "\n")
				patterns += strings.Count(text, "regexp.MustCompile")
				lines += codeLines(importBlock.ReplaceAllString(text, ""))
			}
		}
	}
	delete(packages, "pybridge/user_files")
	for name, n := range packages {
		if n > mostPackageLines {
			t.Errorf("%s has %d lines, at most %d are allowed: it is two steps of reading a file", name, n,
				mostPackageLines)
		}
	}
	if patterns > mostUserFilePatterns {
		t.Errorf("the code that reads users' files has %d regular expressions, at most %d are allowed: take "+
			"a fact of the parser", patterns, mostUserFilePatterns)
	}
	if lines > mostUserFileLines {
		t.Errorf("the code that reads users' files has %d lines, at most %d are allowed: take away a form "+
			"that decides nothing", lines, mostUserFileLines)
	}
}

// cost is the lines of code of an operator. variants counts them, once for each pass.
type cost struct {
	family                                    string
	spec, truth, python, cuda, variants, each int
}

func (c cost) together() int { return c.spec + c.truth + c.python }

// TestLineBudgets: an operator costs no more lines than its family allows. With -v it prints what each
// costs.
func TestLineBudgets(t *testing.T) {
	costs := costsOf(t)
	together, each := readOverBudget(t)
	for _, wrong := range againstBudgets(costs, together, each) {
		t.Error(wrong)
	}
	t.Logf("what operators cost, in lines:\n%s", tableOf(costs))
}

// readOverBudget reads the list: the lines of an operator together, and those of a CUDA variant and pass.
func readOverBudget(t *testing.T) (together, each map[string]int) {
	t.Helper()
	together, each = map[string]int{}, map[string]int{}
	for line := range strings.Lines(read(t, overBudget)) {
		var n int
		var what, name string
		if strings.HasPrefix(line, "#") {
			continue
		}
		_, err := fmt.Sscan(line, &n, &what, &name)
		switch {
		case err == nil && what == "together":
			together[name] = n
		case err == nil && what == "variant":
			each[name] = n
		default:
			t.Fatalf("%s: the line %q: want LINES together|variant OPERATOR", overBudget,
				strings.TrimSpace(line))
		}
	}
	return together, each
}

// againstBudgets lists the operators that are above their budgets and not listed, or listed without need.
func againstBudgets(costs map[string]cost, total, variants map[string]int) []string {
	var wrong []string
	judge := func(name, what string, lines, most int, listed map[string]int) {
		limit, is := listed[name]
		switch {
		case lines <= most && is:
			wrong = append(wrong, fmt.Sprintf("%s has %d lines %s: remove it from "+overBudget,
				name, lines, what))
		case lines > max(most, limit):
			advice := "let its family derive more of it"
			if c := costs[name]; c.family == "plain" {
				advice = "move what others need too to internal/truth, pybridge/operators or cuda/include"
			}
			wrong = append(wrong, fmt.Sprintf("%s has %d lines %s, at most %d are allowed: %s", name, lines,
				what, max(most, limit), advice))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(costs)) {
		c := costs[name]
		most, known := budgets[c.family]
		if !known {
			wrong = append(wrong, fmt.Sprintf("%s is of the family %s, which has no budget in "+
				"line_budgets_test.go", name, c.family))
			continue
		}
		judge(name, "in spec, truth, Triton and torch", c.together(), most, total)
		judge(name, "a CUDA variant and pass", c.each, mostVariantLines, variants)
	}
	for _, listed := range []map[string]int{total, variants} {
		for name := range listed {
			if _, there := costs[name]; !there {
				wrong = append(wrong, name+" is not there: remove it from "+overBudget)
			}
		}
	}
	return wrong
}

// costsOf counts the lines of every operator.
func costsOf(t *testing.T) map[string]cost {
	t.Helper()
	costs, python := map[string]cost{}, map[string][]string{}
	var all []string
	for _, name := range operatorNames(t) {
		c := cost{family: "plain"}
		for _, file := range sources(t, "internal/catalog/"+name+"/*.go") {
			text := read(t, file)
			if family := familyOf(text); family != "" {
				c.family = family
			}
			c.truth += codeLines(text)
		}
		c.spec = specLines(read(t, "internal/catalog/"+name+"/"+name+".toml"))
		variants := map[string]bool{}
		for _, pattern := range []string{".cu", "/*.cu", "/*.cuh"} {
			for _, file := range sources(t, "cuda/kernels/"+name+pattern) {
				text := read(t, file)
				for _, variant := range registered.FindAllStringSubmatch(text, -1) {
					if !forHopper.MatchString(variant[1]) {
						variants[variant[1]+" "+variant[2]] = true
					}
				}
				if !forHopper.MatchString(path.Base(file)) {
					c.cuda += codeLines(text)
				}
			}
		}
		c.variants = len(variants)
		c.each = (c.cuda + max(c.variants, 1) - 1) / max(c.variants, 1)
		python[name] = append(sources(t, "triton/"+name+".py"), sources(t, "triton/"+name+"/*.py")...)
		all = append(all, python[name]...)
		costs[name] = c
	}
	lines := pythonCode(t, all)
	for name, c := range costs {
		for _, file := range python[name] {
			c.python += lines[file]
		}
		costs[name] = c
	}
	return costs
}

// specLines counts the lines of a spec without its section [own]: the forms in which people write an operator
// are found file by file, and are no cost of the operator.
func specLines(text string) int { return codeLines(ownSection.ReplaceAllString(text, "")) }

// TestSpecLines: the section ends where the next one begins, or with the file.
func TestSpecLines(t *testing.T) {
	const text = "name = 1\n[own] # forms\na = [\n  1,\n]\nb = 2\n\n[check]\nc = 3\n"
	for spec, want := range map[string]int{
		text: 3, text + "[own]\nd = 4\n": 3, "own.a = 1\n[owner]\na = 1\n": 3,
	} {
		if got := specLines(spec); got != want {
			t.Errorf("%q has %d lines, want %d", spec, got, want)
		}
	}
}

var (
	ownSection = regexp.MustCompile(`(?m)^\[own\][^\n]*\n(?:[^\[\n][^\n]*\n|\n)*`)
	registered = regexp.MustCompile(`TRIAD_KERNEL\(\s*\w+,\s*(\w+),\s*(\w+)`)
	// forHopper are variants, and the files that hold them.
	forHopper   = regexp.MustCompile(`sm90|wgmma|tma|cluster|hopper`)
	registersAt = regexp.MustCompile(`(?m)^var _ = (\w+)\.Register\(`)
)

// familyOf returns the family that a Go file registers its operator with; "" for none.
func familyOf(text string) string {
	if found := registersAt.FindStringSubmatch(text); found != nil && found[1] != "truth" {
		return found[1]
	}
	return ""
}

// sources lists the files of a pattern, except tests.
func sources(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(files, func(file string) bool { return strings.HasSuffix(file, "_test.go") })
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// codeLines counts the lines of Go, TOML or C++ that hold more than a comment of one line.
func codeLines(text string) int {
	n := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		comment := strings.HasPrefix(line, "//") || strings.HasPrefix(line, "#") && !isDirective(line)
		if line != "" && !comment {
			n++
		}
	}
	return n
}

// isDirective reports whether a line that begins with # is a directive of the C preprocessor.
func isDirective(line string) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(line[1:]), " ")
	return !strings.HasPrefix(line, "# ") &&
		slices.Contains(strings.Fields("include pragma define undef if ifdef ifndef else elif endif"), word)
}

// pythonCode counts the lines of Python files that hold more than a comment or a docstring, by file.
func pythonCode(t *testing.T, files []string) map[string]int {
	t.Helper()
	const count = `
import ast, json, sys, tokenize
from tokenize import COMMENT, DEDENT, ENDMARKER, INDENT, NEWLINE, NL
layout = (COMMENT, DEDENT, ENDMARKER, INDENT, NEWLINE, NL)
found = {}
for file in sys.argv[1:]:
    strings = {(n.value.lineno, n.value.col_offset) for n in ast.walk(ast.parse(open(file).read()))
               if isinstance(n, ast.Expr) and isinstance(getattr(n.value, "value", None), str)}
    lines = set()
    for token in tokenize.generate_tokens(open(file).readline):
        if token.type not in layout and token.start not in strings:
            lines.update(range(token.start[0], token.end[0] + 1))
    found[file] = len(lines)
print(json.dumps(found))
`
	command := exec.Command(need.Tool(t, "python3"), append([]string{"-c", count}, files...)...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("count the lines of %d Python files: %v", len(files), err)
	}
	lines := map[string]int{}
	if err := json.Unmarshal(out, &lines); err != nil {
		t.Fatal(err)
	}
	return lines
}

// tableOf returns the table of costs, in Markdown.
func tableOf(costs map[string]cost) string {
	var b strings.Builder
	b.WriteString("| operator | family | spec | truth | Python | together | of | CUDA | variants | each |\n" +
		"|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, name := range slices.Sorted(maps.Keys(costs)) {
		c := costs[name]
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %d | %d | %d | %d | %d |\n", name, c.family,
			c.spec, c.truth, c.python, c.together(), budgets[c.family], c.cuda, c.variants, c.each)
	}
	return b.String()
}

// The budgets report what is new and above one, what grows, what is listed without need, what is gone, and a
// family without a budget.
func TestLineBudgetsBite(t *testing.T) {
	costs := map[string]cost{
		"new":  {family: "movement", spec: 90, truth: 30, python: 31, each: 60},
		"wide": {family: "scan", each: 61}, "grown": {family: "product", spec: 501},
		"kept": {family: "product", spec: 500}, "small": {family: "product"}, "odd": {family: "unheard_of"},
	}
	got := againstBudgets(costs, map[string]int{"grown": 500, "kept": 500, "small": 500, "gone": 500},
		map[string]int{})
	for _, name := range []string{"new", "wide", "grown", "small", "odd", "gone"} {
		if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, name+" ") }) {
			t.Errorf("%s is not reported: %q", name, got)
		}
	}
	if len(got) != 6 {
		t.Errorf("%d complaints, want 6: %q", len(got), got)
	}
}

// Only lines with code are counted.
func TestLinesAreCounted(t *testing.T) {
	for text, want := range map[string]int{
		"// a\n\nx := 1 // b\n\t// c\n}\n":              2,
		"# a\n[b]\nc = 1 # d\n":                         2,
		"#include <x>\n#if 1\n  #pragma unroll\n#endif": 4,
	} {
		if got := codeLines(text); got != want {
			t.Errorf("%d lines of code, want %d in\n%s", got, want, text)
		}
	}
	file := filepath.Join(t.TempDir(), "a.py")
	text := `"""a
b"""

import os  # c


def f():
    """d"""
    # e
    return """f
g"""
`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := pythonCode(t, []string{file})[file]; got != 4 {
		t.Errorf("%d lines of code, want 4 in\n%s", got, text)
	}
}
