package cuda

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"triad/cuda/build"
	"triad/cuda/rewrite"
	"triad/internal/need"
)

// emulated compiles programs for the emulator with one configuration: the emulator once as a library, each
// program against it.
type emulated struct {
	compiler string
	flags    []string
	programs []string // flags of the programs only
	folder   string   // of the programs
	library  func() (string, error)
}

// emulators caches the compiled emulators, as functions that compile once, by compiler and flags. Tests with
// the same configuration share one.
var emulators sync.Map

// TestMain removes what the tests compiled long ago.
func TestMain(m *testing.M) {
	status := m.Run()
	if err := removeUnused(time.Now()); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(status)
}

var emulatorFolder, emulatorTests = "emulator", filepath.Join("testdata", "emulator")

func newEmulated(t testing.TB, compiler string, flags ...string) *emulated {
	t.Helper()
	path := compiler
	if !filepath.IsAbs(compiler) {
		path = need.Tool(t, compiler)
	}
	e := &emulated{compiler: path, flags: append([]string{
		"-std=c++17", "-g1", "-pthread",
		"-ffp-contract=off", "-Wno-unknown-pragmas",
	}, flags...), folder: t.TempDir()}
	shared, _ := emulators.LoadOrStore(strings.Join(append([]string{path}, e.flags...), " "),
		sync.OnceValues(e.compileEmulator))
	e.library = shared.(func() (string, error))
	return e
}

// compileEmulator builds the library that programs are compiled against.
func (e *emulated) compileEmulator() (string, error) {
	sources, err := filepath.Glob(filepath.Join(emulatorFolder, "*.cc"))
	if err != nil || len(sources) == 0 {
		return "", fmt.Errorf("find the emulator's sources: %d, %v", len(sources), err)
	}
	args := append([]string{
		"-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-I", emulatorFolder, "-ldl",
	}, sources...)
	base, err := keptFolder()
	key, failed := e.key(args)
	if err = errors.Join(err, failed); err != nil {
		return "", err
	}
	// Programs have its path in them: it has to be the same in each run.
	folder := filepath.Join(base, "emulator-"+key)
	now := time.Now()
	err = errors.Join(os.MkdirAll(folder, 0o755), os.Chtimes(folder, now, now))
	library := filepath.Join(folder, "libtriad_emulator.so")
	if _, missing := os.Stat(library); missing == nil || err != nil {
		return library, err
	}
	return library, e.compile(append(args, "-o", library)...)
}

// newWatched is newEmulated for programs whose ordinary accesses are reported to the emulator; flags are
// those of the programs.
func newWatched(t testing.TB, flags ...string) *emulated {
	t.Helper()
	e := newEmulated(t, "g++", "-O1")
	e.programs = slices.Concat((&build.Builder{}).WatchedFlags(), build.WithoutSanitizers, flags)
	return e
}

// build rewrites and compiles one file of testdata/emulator; extra may make it a library.
func (e *emulated) build(t testing.TB, name string, extra ...string) string {
	t.Helper()
	library, err := e.library()
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(emulatorTests, name)
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	rewritten, err := rewrite.Source(source, text)
	if err != nil {
		t.Fatal(err)
	}
	unit, program := filepath.Join(e.folder, name+".cc"),
		filepath.Join(e.folder, strings.TrimSuffix(name, ".cu"))
	if err := os.WriteFile(unit, rewritten.Text, 0o644); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-I", emulatorFolder, "-include", "cuda_runtime.h", unit, "-o", program},
		append(slices.Clone(e.programs), extra...)...)
	if len(extra) == 0 {
		args = append(args, library, "-Wl,-rpath,"+filepath.Dir(library))
	}
	if err := e.compile(args...); err != nil {
		t.Fatal(err)
	}
	return program
}

// buildWithKernels is build for a program that includes what kernel files include; other folders come before
// theirs.
func (e *emulated) buildWithKernels(t testing.TB, name string, folders ...string) string {
	t.Helper()
	library, err := e.library()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{library, "-Wl,-rpath," + filepath.Dir(library)}
	for _, folder := range folders {
		args = append(args, "-I", folder)
	}
	return e.build(t, name, append(args, kernelIncludes...)...)
}

// runEmulated returns a program's output and exit status; a program that does not end is killed.
func runEmulated(t testing.TB, order, program string, args ...string) (output string, status int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	command := exec.CommandContext(ctx, program, args...)
	command.Env = append(os.Environ(), "CUEMU_ORDER="+order, "CUEMU_WORKERS=2",
		"TSAN_OPTIONS=atexit_sleep_ms=0", "ASAN_OPTIONS=detect_leaks=1")
	out, err := command.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("%s %v in order %s did not end:\n%s", program, args, order, out)
	}
	if exit, failed := err.(*exec.ExitError); failed {
		return string(out), exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(out), 0
}

// bugLine returns the line of a file of testdata/emulator that carries the comment BUG(name).
func bugLine(t *testing.T, file, name string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(emulatorTests, file))
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(text), "\n") {
		if strings.Contains(line, "BUG("+name+")") {
			return i + 1
		}
	}
	t.Fatalf("%s has no line BUG(%s)", file, name)
	return 0
}

// addressLine asks addr2line for the file and line of an offset in a module.
func addressLine(t *testing.T, module, offset string) string {
	t.Helper()
	out, err := exec.Command(need.Tool(t, "addr2line"), "-e", module, offset).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

var allOrders = []string{"forward", "reverse", "random:1", "greedy:1", "greedy:2", "greedy:3"}

// kernelIncludes lists the folders that kernel files include from.
var kernelIncludes = []string{"-I", ".", "-I", "include", "-I", "kernels"}

// lenders returns the operators whose parts those of an operator include.
func lenders(t *testing.T, operator string) (names []string) {
	t.Helper()
	parts, err := filepath.Glob(filepath.Join("kernels", operator, "*.cuh"))
	if err != nil {
		t.Fatal(err)
	}
	included := regexp.MustCompile(`(?m)^#include "\.\./(\w+)/`)
	for _, part := range parts {
		text, err := os.ReadFile(part)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range included.FindAllStringSubmatch(string(text), -1) {
			if !slices.Contains(names, found[1]) {
				names = append(names, found[1])
			}
		}
	}
	return names
}

// editedKernels copies the parts of an operator, cuda/kernels/<operator>, into a folder of the same name in a
// new one, together with the headers of cuda/include, rewritten for the emulator. In the first file of that
// name that has it, parts before headers, the text from becomes to; "" changes nothing.
func editedKernels(t *testing.T, operator, file, from, to string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	operators := append([]string{operator}, lenders(t, operator)...)
	for _, part := range append(operators, "hopper") {
		if err := os.Mkdir(filepath.Join(folder, part), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	edited := false
	rewriteAll := func(pattern, to string, edit func(file string, text string) string) {
		parts, err := filepath.Glob(pattern)
		if err != nil || len(parts) == 0 {
			t.Fatalf("find %s: %d, %v", pattern, len(parts), err)
		}
		for _, part := range parts {
			twin := filepath.Join("emulator", to, filepath.Base(part))
			if _, err := os.Stat(twin); to == "hopper" && err == nil {
				continue // the emulator has its own
			}
			text, err := os.ReadFile(part)
			if err != nil {
				t.Fatal(err)
			}
			rewritten, err := rewrite.Source(part, []byte(edit(filepath.Base(part), string(text))))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, to, filepath.Base(part)), rewritten.Text,
				0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	edit := func(at, text string) string {
		if edited || at != file || !strings.Contains(text, from) { // a header may have a part's name
			return text
		}
		edited = true
		return strings.Replace(text, from, to, 1)
	}
	for _, of := range operators {
		rewriteAll(filepath.Join("kernels", of, "*.cuh"), of, edit)
	}
	rewriteAll(filepath.Join("include", "*.cuh"), "", edit)
	rewriteAll(filepath.Join("include", "hopper", "*.cuh"), "hopper", edit)
	if !edited {
		t.Fatalf("%s of kernels/%s or include does not contain %q", file, operator, from)
	}
	return folder
}
