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
	mostLines           = 500 // of a source file
	mostFunctionLines   = 60  // of a function in Go or Python, without its comment
	mostGlossaryEntries = 25
	mostReadmeLines     = 90
	mostVerbLines       = 5_000 // of Go in cmd/triad, without tests
)

// Every file has at most 500 lines.
func TestFilesAreShort(t *testing.T) {
	lines := map[string]int{}
	for _, file := range sourceFiles(t, ".go", ".py", ".cu", ".cuh", ".h", ".cc", ".cpp", ".sh") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines[file] = bytes.Count(text, []byte("\n"))
	}
	for _, complaint := range tooLarge(lines, mostLines,
		"find the second idea in it and give it a file") {
		t.Error(complaint)
	}
}

// The README stays short.
func TestReadmeIsShort(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte("\n")); n > mostReadmeLines {
		t.Errorf("README.md has %d lines, at most %d are allowed: move what is for few to a page of docs", n,
			mostReadmeLines)
	}
}

// The glossary has words of our own alone: a standard term needs no entry.
func TestGlossaryIsShort(t *testing.T) {
	text, err := os.ReadFile("docs/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte("\n* **")); n == 0 || n > mostGlossaryEntries {
		t.Errorf("docs/glossary.md has %d entries, want 1 to %d: use the standard term instead", n,
			mostGlossaryEntries)
	}
}

// The verbs stay flags, help and output: what decides something lies below internal.
func TestVerbsAreShort(t *testing.T) {
	lines := 0
	for _, file := range sourceFiles(t, ".go") {
		if !strings.HasPrefix(file, "cmd/triad/") || strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines += bytes.Count(text, []byte("\n"))
	}
	if lines == 0 || lines > mostVerbLines {
		t.Errorf("cmd/triad has %d lines, want 1 to %d: move what decides something to the package below "+
			"internal that owns it", lines, mostVerbLines)
	}
}

// Every function fits on a screen: at most 60 lines.
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
	for _, complaint := range tooLarge(lines, mostFunctionLines, "split it") {
		t.Error(complaint)
	}
}

// A size at the limit is accepted; one above it is reported with its lines.
func TestSizesBite(t *testing.T) {
	got := tooLarge(map[string]int{"long": 11, "limit": 10}, 10, "split it")
	if want := "long has 11 lines, at most 10 are allowed: split it"; len(got) != 1 || got[0] != want {
		t.Errorf("complaints %q, want %q", got, want)
	}
	long := "package p\n\n// f is long.\nfunc f() {\n" + strings.Repeat("\t_ = 1\n", 7) + "}\n"
	if got := goFunctions(t, "f.go", []byte(long)); got["f.go f"] != 9 {
		t.Errorf("lines of a function %v, want 9", got)
	}
}

// tooLarge returns a sentence for each name that has more lines than most.
func tooLarge(lines map[string]int, most int, advice string) []string {
	var found []string
	for name, n := range lines {
		if n > most {
			found = append(found,
				fmt.Sprintf("%s has %d lines, at most %d are allowed: %s", name, n, most, advice))
		}
	}
	slices.Sort(found)
	return found
}

// sourceFiles lists the files of the repository with these endings, except those in folders called testdata.
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

// goFunctions returns the lines of each function in a file, by "file name".
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

// pythonFunctions returns the lines of each function in files, by "file name", as Python's own parser counts
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
