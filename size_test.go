package triad_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"triad/internal/need"
)

const (
	mostLines         = 500 // of a source file
	mostFunctionLines = 60  // of a function in Go or Python, its comment apart
)

// largeFiles are the source files above mostLines, with their lines. The list shrinks: no file joins it, and
// none on it grows.
var largeFiles = map[string]int{}

// largeFunctions are the functions above mostFunctionLines, with their lines. The list shrinks as that of the
// files.
var largeFunctions = map[string]int{}

// A file that one head can hold: below 500 lines.
func TestFilesAreShort(t *testing.T) {
	lines := map[string]int{}
	for _, file := range sourceFiles(t, ".go", ".py", ".cu", ".cuh", ".h", ".cc", ".cpp", ".sh") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines[file] = bytes.Count(text, []byte("\n"))
	}
	for _, complaint := range tooLarge(lines, largeFiles, mostLines,
		"find the second idea in it and give it a file") {
		t.Error(complaint)
	}
}

// A function that fits on a screen: at most 60 lines.
func TestFunctionsAreShort(t *testing.T) {
	lines := pythonFunctions(t, sourceFiles(t, ".py"))
	if len(lines) < 100 {
		t.Fatalf("%d functions of Python are read: want all of them", len(lines))
	}
	for _, file := range sourceFiles(t, ".go") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for name, n := range goFunctions(t, file, text) {
			lines[name] = max(n, lines[name])
		}
	}
	for _, complaint := range tooLarge(lines, largeFunctions, mostFunctionLines, "split it") {
		t.Error(complaint)
	}
}

// The list is examined too: what is new, what grows, what shrank and what is gone are each told.
func TestSizeListsBite(t *testing.T) {
	lines := map[string]int{"new": 11, "grown": 13, "kept": 12, "shrunk": 10, "short": 3}
	allowed := map[string]int{"grown": 12, "kept": 12, "shrunk": 12, "gone": 12}
	if got := tooLarge(lines, allowed, 10, "split it"); len(got) != 4 ||
		strings.Contains(strings.Join(got, "\n"), "kept") {
		t.Errorf("complaints %q: want one each about new, grown, shrunk and gone", got)
	}
	long := "package p\n\n// f is long.\nfunc f() {\n" + strings.Repeat("\t_ = 1\n", 7) + "}\n"
	if got := goFunctions(t, "f.go", []byte(long)); got["f.go f"] != 9 {
		t.Errorf("lines of a function %v, want 9", got)
	}
}

// tooLarge lists what is larger than most and not allowed, what is larger than allowed, and what no longer
// needs to be allowed.
func tooLarge(lines, allowed map[string]int, most int, advice string) []string {
	var found []string
	for name, n := range lines {
		if limit, listed := allowed[name]; n > most && !listed {
			found = append(found, fmt.Sprintf("%s has %d lines, at most %d are allowed: %s", name,
				n, most, advice))
		} else if listed && n > limit {
			found = append(found, fmt.Sprintf("%s grew from %d lines to %d: %s", name, limit, n, advice))
		}
	}
	for name := range allowed {
		if n, there := lines[name]; !there {
			found = append(found, name+
				" is not there: remove it from the list in size_test.go, or correct its path")
		} else if n <= most {
			found = append(found, fmt.Sprintf("%s has %d lines: remove it from the list in size_test.go",
				name, n))
		}
	}
	slices.Sort(found)
	return found
}

// sourceFiles lists the files of the repository with these endings, those in folders called testdata apart.
func sourceFiles(t *testing.T, endings ...string) []string {
	t.Helper()
	out, err := exec.Command(need.Tool(t, "git"), "ls-files", "--cached", "--others", "--exclude-standard",
		"-z").Output()
	if err != nil {
		need.Missing(t, fmt.Sprintf("no git checkout (%v): clone the repository", err))
	}
	var files []string
	for _, file := range strings.Split(strings.TrimRight(string(out), "\x00"), "\x00") {
		if _, err := os.Stat(file); err != nil || !slices.Contains(endings, path.Ext(file)) {
			continue // a file that git still knows may be gone
		}
		if !strings.Contains(file, "testdata/") {
			files = append(files, file)
		}
	}
	if len(files) < 10 {
		t.Fatalf("%d files end in %v", len(files), endings)
	}
	return files
}

// goFunctions gives the lines of each function in a file, by "file name".
func goFunctions(t *testing.T, file string, text []byte) map[string]int {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]int{}
	for _, declared := range parsed.Decls {
		if f, is := declared.(*ast.FuncDecl); is {
			name := file + " " + f.Name.Name
			lines[name] = max(lines[name], set.Position(f.End()).Line-set.Position(f.Pos()).Line+1)
		}
	}
	return lines
}

const functionsOfPython = `
import ast, json, sys
lines = {}
for file in sys.argv[1:]:
    for node in ast.walk(ast.parse(open(file).read())):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            name = file + " " + node.name
            lines[name] = max(lines.get(name, 0), node.end_lineno - node.lineno + 1)
print(json.dumps(lines))
`

// pythonFunctions gives the lines of each function in files, by "file name", as Python's own parser counts
// them.
func pythonFunctions(t *testing.T, files []string) map[string]int {
	t.Helper()
	command := exec.Command(need.Tool(t, "python3"), append([]string{"-c", functionsOfPython}, files...)...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("read the functions of %d Python files: %v", len(files), err)
	}
	lines := map[string]int{}
	if err := json.Unmarshal(out, &lines); err != nil {
		t.Fatal(err)
	}
	return lines
}
