package triad_test

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// roomFiles lists the files that every operator has, with OP for its name; a gap is declared in the spec.
// Files that only operators with a backward have are not included.
var roomFiles = map[string]string{
	"spec": "internal/catalog/OP/OP.toml", "truth": "internal/catalog/OP/truth.go",
	"mutants": "internal/catalog/OP/mutants_test.go",
	"cuda":    "cuda/kernels/OP.cu", "triton": "triton/OP.py",
}

// operatorNames returns the names of the folders with a spec.
func operatorNames(t *testing.T) []string {
	t.Helper()
	specs, err := filepath.Glob("internal/catalog/*/*.toml")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range specs {
		names = append(names, filepath.Base(filepath.Dir(file)))
	}
	if names = slices.Compact(names); len(names) == 0 {
		t.Fatal("no operator at all")
	}
	return names
}

// Every operator has its files under one name; a gap is declared in the spec.
func TestOperatorParity(t *testing.T) {
	operators := operatorNames(t)
	for _, name := range operators {
		for room, pattern := range roomFiles {
			file := strings.ReplaceAll(pattern, "OP", name)
			if _, err := os.Stat(file); err != nil && !declaredAbsent(t, name, room) {
				t.Errorf("%s has no %s", name, file)
			}
		}
	}
	for _, pattern := range []string{"cuda/kernels/*.cu", "triton/*.py"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), path.Ext(file)), "_cutile")
			if !slices.Contains(operators, name) {
				t.Errorf("%s is of no operator: internal/catalog/%s is not there", file, name)
			}
		}
	}
	folders, err := os.ReadDir("internal/catalog")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if folder.IsDir() && !slices.Contains(operators, folder.Name()) {
			t.Errorf("internal/catalog/%s has no spec %[1]s.toml", folder.Name())
		}
	}
}

func declaredAbsent(t *testing.T, name, room string) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("internal/catalog", name, name+".toml"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(text), "room = "+strconv.Quote(room))
}

// An __init__.py in triton/ or cuda/ would hide the packages of that name, silently.
func TestNoInitFiles(t *testing.T) {
	for _, dir := range []string{"triton", "cuda"} {
		if _, err := os.Stat(filepath.Join(dir, "__init__.py")); err == nil {
			t.Errorf("%s/__init__.py hides the real package %s from Python", dir, dir)
		}
	}
}

// Shared code of the judge names no operator: an operator's specifics are keys of its spec, or are in its own
// files.
func TestSharedCodeNamesNoOperator(t *testing.T) {
	operators := operatorNames(t)
	read := 0
	for _, dir := range []string{
		"catalog", "judge", "opfolder", "ownkernels", "parallel", "run", "session", "shrink", "stats",
		"tensor", "truth", "worker",
		"workload",
	} {
		files, err := filepath.Glob("internal/" + dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			read++
			for _, name := range operatorsNamed(t, file, nil, operators) {
				t.Errorf("%s names an operator: make what is meant a key of the spec (docs/writing-an-op.md)",
					name)
			}
		}
	}
	if read < 50 {
		t.Errorf("%d files were read: want all of the shared ones", read)
	}
	planted := "package p\n\nfunc f(k call) bool { return k.Op == \"" + operators[len(operators)-1] +
		"\" || k.says(\"as in " + operators[len(operators)-1] + " alone\") }\n"
	if found := operatorsNamed(t, "planted.go", planted, operators); len(found) != 2 {
		t.Errorf("of two planted names %d are found: %v", len(found), found)
	}
	planted = "package p\n\nvar x, y = \"" + everyday[0] + "\", \"to " + everyday[0] + " up\"\n"
	if found := operatorsNamed(t, "planted.go", planted, operators); len(found) != 1 {
		t.Errorf("of a name that is an everyday word too %d are found, want the one that stands alone: %v",
			len(found), found)
	}
}

// everyday are operators' names that are everyday words: a literal names such an operator only if it is the
// name and nothing else. The word add is also a flag, a key and a name of functions, and kernels are made of
// sums. A copy is a ceiling, and reverse an order of blocks.
var everyday = []string{"add", "sum", "copy", "reverse"}

// operatorsNamed lists the string literals of a Go file in which a word is the name of an operator.
func operatorsNamed(t *testing.T, file string, source any, operators []string) []string {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		words := strings.FieldsFunc(literal.Value,
			func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if slices.ContainsFunc(words, func(w string) bool {
			return slices.Contains(operators, w) && (len(words) == 1 || !slices.Contains(everyday, w))
		}) {
			found = append(found, set.Position(literal.Pos()).String()+": "+literal.Value)
		}
		return true
	})
	return found
}

// A panic in an unguarded goroutine ends the process, whatever was being recorded: only package panics starts
// goroutines.
func TestGoroutinesAreGuarded(t *testing.T) {
	everyFile(t, func(file string, parsed *ast.File) {
		if strings.HasPrefix(file, "internal/panics/") {
			return
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: a go statement: use panics.Go or panics.Group", file)
			case *ast.SelectorExpr:
				if of, is := n.X.(*ast.Ident); is && of.Name == "sync" && n.Sel.Name == "WaitGroup" {
					t.Errorf("%s: a sync.WaitGroup: use panics.Group", file)
				}
			}
			return true
		})
	})
}

// A program that is started in another way has no deadline, survives Ctrl-C and leaves its children behind.
func TestProgramsAreStartedInOnePlace(t *testing.T) {
	starters := map[string][]string{
		"os/exec": {"Command", "CommandContext", "Cmd"}, "os": {"StartProcess"},
		"syscall": {"ForkExec", "StartProcess"}, "golang.org/x/sys/unix": {"ForkExec"},
	}
	found := 0
	everyFile(t, func(file string, parsed *ast.File) {
		names := map[string][]string{} // what starts a program, by the name of its package in this file
		for _, i := range parsed.Imports {
			at := strings.Trim(i.Path.Value, `"`)
			name := path.Base(at)
			if i.Name != nil {
				name = i.Name.Name
			}
			names[name] = starters[at]
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			s, is := n.(*ast.SelectorExpr)
			if !is {
				return true
			}
			if of, is := s.X.(*ast.Ident); is && slices.Contains(names[of.Name], s.Sel.Name) {
				if found++; !strings.HasPrefix(file, "internal/subprocess/") {
					t.Errorf("%s: %s.%s: internal/subprocess starts programs", file, of.Name, s.Sel.Name)
				}
			}
			return true
		})
	})
	if found == 0 {
		t.Error("nothing starts a program: the test looks for the wrong names")
	}
}

// everyFile parses every file of ours that is no test.
func everyFile(t *testing.T, do func(file string, parsed *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") &&
			file != ".") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err == nil {
			do(filepath.ToSlash(file), parsed)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A name that ends in a system or a processor, such as own_candidate_test.go, keeps a file from being
// compiled anywhere else: its tests would never run. A file for one system uses a build constraint instead.
func TestNoNameLeavesAFileOut(t *testing.T) {
	seen := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.Contains(path, "testdata") {
			return err
		}
		seen++
		text, err := os.ReadFile(path)
		if err != nil || strings.Contains(string(text), "//go:build") {
			return err
		}
		taken, err := build.Default.MatchFile(filepath.Dir(path), filepath.Base(path))
		if err == nil && !taken {
			t.Errorf("%s is compiled on no machine like this one: give it another name", path)
		}
		return err
	})
	if err != nil || seen < 500 {
		t.Fatalf("%d files, %v", seen, err)
	}
}
