package triad_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"triad/internal/need"
)

var lowerNames = flag.Bool("lower-operator-names", false,
	"lower the numbers of testdata/operator_names.txt to what is there now")

// namesList limits how many literals of a file may still be an operator's name. Its numbers may only
// decrease: a new operator must not have to be added to any of these files.
const namesList = "testdata/operator_names.txt"

// namesAllowed are the files outside the rooms that may name operators, and why.
var namesAllowed = []struct{ pattern, reason string }{
	{"internal/truth/all/*", "the generated list of imports"},
	{"pybridge/python/triad/torch/model.py", "a model is made of particular operators"},
	{"results/published/*", "published records are of particular operators"},
	{"*/testdata/*", "kernels and files that tests read"},
}

// inRoom reports whether a file belongs to an operator. Adding an operator requires no edit outside such
// files.
func inRoom(file, operator string) bool {
	return strings.HasPrefix(file, "internal/catalog/"+operator+"/") ||
		slices.Contains([]string{"cuda", "cuda/serve"}, path.Dir(file)) &&
			strings.HasPrefix(path.Base(file), operator+"_") &&
			strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "cuda/kernels/"+operator+"/") ||
		file == "triton/"+operator+".py" || strings.HasPrefix(file, "triton/"+operator+"/")
}

// namesMayStand reports whether a file may name operators that it does not belong to.
func namesMayStand(file string) bool {
	for _, a := range namesAllowed {
		prefix, suffix := "", a.pattern
		if at := strings.Index(a.pattern, "*"); at >= 0 {
			prefix, suffix = a.pattern[:at], strings.Trim(a.pattern[at:], "*")
		}
		if prefix == "" && suffix != a.pattern && strings.Contains("/"+file, suffix) || a.pattern == file ||
			prefix != "" && suffix == "" && strings.HasPrefix(file, prefix) {
			return true
		}
	}
	return false
}

// literalsOfGo lists the string literals of a Go file except the paths of imports.
func literalsOfGo(file string, text []byte) ([]string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var all []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		if _, is := n.(*ast.ImportSpec); is {
			return false
		}
		if literal, is := n.(*ast.BasicLit); is && literal.Kind == token.STRING {
			value, err := strconv.Unquote(literal.Value)
			if err == nil {
				all = append(all, value)
			}
		}
		return true
	})
	return all, nil
}

// literalsOfTOML lists the strings of a TOML file, including keys.
func literalsOfTOML(file string, text []byte) ([]string, error) {
	var tree map[string]any
	if err := toml.Unmarshal(text, &tree); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var all []string
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case string:
			all = append(all, v)
		case []any:
			for _, x := range v {
				visit(x)
			}
		case map[string]any:
			for key, x := range v {
				all = append(all, key)
				visit(x)
			}
		}
	}
	visit(tree)
	return all, nil
}

// readPython prints a JSON object from the files named on its standard input to their string literals.
const readPython = `
import ast, json, sys
print(json.dumps({f: [n.value for n in ast.walk(ast.parse(open(f, encoding="utf-8").read()))
                      if isinstance(n, ast.Constant) and isinstance(n.value, str)]
                  for f in json.load(sys.stdin)}))
`

func literalsOfPython(t *testing.T, files []string) map[string][]string {
	t.Helper()
	asked, err := json.Marshal(files)
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command(need.Tool(t, "python3"), "-c", readPython)
	run.Stdin, run.Stderr = strings.NewReader(string(asked)), os.Stderr
	text, err := run.Output()
	if err != nil {
		t.Fatalf("read the literals of %d Python files: %v", len(files), err)
	}
	var all map[string][]string
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// literals returns the string literals of every Go, Python and TOML file of the repository, by file.
func literals(t *testing.T) map[string][]string {
	t.Helper()
	text, err := exec.Command(need.Tool(t, "git"), "ls-files", "-co", "--exclude-standard", "*.go", "*.py",
		"*.toml").Output()
	if err != nil {
		t.Fatalf("list the files: %v", err)
	}
	all := map[string][]string{}
	var python []string
	for _, file := range strings.Fields(string(text)) {
		source, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case namesMayStand(file):
		case path.Ext(file) == ".go":
			all[file], err = literalsOfGo(file, source)
		case path.Ext(file) == ".toml":
			all[file], err = literalsOfTOML(file, source)
		default:
			python = append(python, file)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	maps.Copy(all, literalsOfPython(t, python))
	return all
}

// namesOutside counts the literals of each file that are the name of an operator to which it does not belong.
func namesOutside(all map[string][]string, operators []string) map[string]int {
	found := map[string]int{}
	for file, texts := range all {
		for _, text := range texts {
			if slices.Contains(operators, text) && !slices.Contains(everyday, text) && !inRoom(file, text) {
				found[file]++
			}
		}
	}
	return found
}

// readNames reads the lines "NUMBER FILE" of the list.
func readNames(text string) (map[string]int, error) {
	listed := map[string]int{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var n int
		var file string
		if _, err := fmt.Sscan(line, &n, &file); err != nil || n < 1 || listed[file] > 0 {
			return nil, fmt.Errorf("%s: the line %q: want NUMBER FILE, each file once", namesList,
				strings.TrimSpace(line))
		}
		listed[file] = n
	}
	return listed, nil
}

// namesAgainst lists the differences from the list.
func namesAgainst(found, listed map[string]int) []string {
	var wrong []string
	for _, file := range slices.Sorted(maps.Keys(found)) {
		if n := found[file]; n > listed[file] {
			wrong = append(wrong, fmt.Sprintf("%s: %d literals are names of operators, %d may be: what is "+
				"particular to an operator is a key of "+
				"its spec, and its tests stand in its room (docs/writing-an-op.md); a name that is an "+
				"everyday word too is listed in everyday", file, n, listed[file]))
		}
	}
	for _, file := range slices.Sorted(maps.Keys(listed)) {
		if n := found[file]; n < listed[file] {
			wrong = append(wrong,
				fmt.Sprintf("%s: %d literals are names of operators, %s says %d: lower it with "+
					"go test . -run OperatorNames -lower-operator-names", file, n, namesList, listed[file]))
		}
	}
	return wrong
}

// The name of an operator occurs only in its room, and in the files that namesList still lists.
func TestOperatorNames(t *testing.T) {
	found := namesOutside(literals(t), operatorNames(t))
	text, err := os.ReadFile(namesList)
	if err != nil {
		t.Fatal(err)
	}
	listed, err := readNames(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if *lowerNames {
		lower(t, string(text), found, listed)
		return
	}
	for _, wrong := range namesAgainst(found, listed) {
		t.Error(wrong)
	}
}

func lower(t *testing.T, text string, found, listed map[string]int) {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			b.WriteString(line)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(listed)) {
		if n := min(found[file], listed[file]); n > 0 {
			fmt.Fprintf(&b, "%d %s\n", n, file)
		}
	}
	if err := os.WriteFile(namesList, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Planted names are found in each language, and the list may only shrink. No operator can have the planted
// name.
func TestOperatorNamesBite(t *testing.T) {
	dir := t.TempDir()
	python := filepath.Join(dir, "a.py")
	source := "import Mish\n# 'Mish'\nX = {'Mish': 1, 'Mish forward': 2}\ndef f(): return \"Mish\"\n"
	if err := os.WriteFile(python, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	inGo, err := literalsOfGo("a.go",
		[]byte("package p\n\nimport \"Mish\"\n\n// \"Mish\"\nvar a, b = `Mish`, \"Mish backward\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	inTOML, err := literalsOfTOML("a.toml",
		[]byte("Mish = 1\n# \"Mish\"\n[[of]]\nop = \"Mish\"\nall = [\"Mish\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{
		"a.go": inGo, "a.toml": inTOML, "a.py": literalsOfPython(t, []string{python})[python],
		"internal/catalog/Mish/truth.go": {"Mish"}, "internal/catalog/Mish2/truth.go": {"Mish"},
	}
	found := namesOutside(all, []string{"Mish", "Mish2"})
	want := map[string]int{"a.go": 1, "a.toml": 3, "a.py": 2, "internal/catalog/Mish2/truth.go": 1}
	if !maps.Equal(found, want) {
		t.Errorf("found %v, want %v", found, want)
	}
	if wrong := namesAgainst(map[string]int{"a": 2, "b": 1, "c": 1}, map[string]int{
		"a": 1, "b": 2,
		"c": 1,
	}); len(wrong) != 2 {
		t.Errorf("of one file with more and one with fewer names than listed: %q", wrong)
	}
	for file, may := range map[string]bool{
		"cmd/triad/testdata/own/a.py": true, "testdata/a.go": true, "internal/truth/all/all.go": true,
		"internal/truth/truth.go":     false,
		"results/published/tables.go": true, "results/store.go": false,
		"pybridge/python/triad/torch/model.py": true, "a/model.py": false,
	} {
		if namesMayStand(file) != may {
			t.Errorf("%s may name operators: %v, want %v", file, !may, may)
		}
	}
}
