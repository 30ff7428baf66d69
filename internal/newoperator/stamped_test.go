package newoperator

import (
	"bytes"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"triad"
	"triad/internal/need"
	"triad/pybridge"
)

// stampedTree is a copy of the repository with operators made from families' templates: in the fast tier only
// that of the first family, since each costs half a minute.
type stampedTree struct {
	root, triad string   // the copy, and the program that is built from it
	operators   []string // all of them
	run         []string // those whose kernels run
}

// operatorOf returns the name of the operator made from a family's template.
func operatorOf(family string) string { return "made_up_" + family }

// command runs a command in a folder of the copy, and fails the test if the command fails.
func (s *stampedTree) command(t *testing.T, folder string, command ...string) {
	t.Helper()
	start := time.Now()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = filepath.Join(s.root, folder)
	cmd.Env = append(os.Environ(), "TRIAD_DEVICE=cpu", "PYTHONDONTWRITEBYTECODE=1",
		"GOFLAGS="+os.Getenv("GOFLAGS")+" -ldflags=-w") // as in the Makefile: linked in half the time
	out, err := cmd.CombinedOutput()
	shown := strings.TrimSpace(strings.Join(command, " "))
	t.Logf("%v: %s", time.Since(start).Round(time.Millisecond), shown)
	if err != nil {
		t.Errorf("%s: %v\n%s", shown, err, out)
	}
}

// test runs tests of the copy.
func (s *stampedTree) test(t *testing.T, args ...string) {
	t.Helper()
	s.command(t, ".", append([]string{"go", "test", "-vet=off", "-timeout", "60m"}, args...)...)
}

// subtests returns a -run pattern of the operators' subtests of some tests.
func (s *stampedTree) subtests(tests string) string {
	return "^(" + tests + ")$/^(" + strings.Join(s.operators, "|") + ")$"
}

// stamp copies the files that git tracks or does not ignore, and makes an operator of each family.
func stamp(t *testing.T) *stampedTree {
	t.Helper()
	s := &stampedTree{root: copysFolder(t), triad: filepath.Join(t.TempDir(), "triad")}
	copyTree(t, s.root)
	for _, family := range Families() {
		template := "internal/newoperator/families/" + family + ".txtar"
		truth := "internal/truth/" + strings.ReplaceAll(family, "_", "")
		inputs := []string{template, "internal/newoperator/newoperator.go", truth}
		if !need.Chosen(t, family, "a family", inputs...) {
			continue
		}
		name := operatorOf(family)
		s.operators = append(s.operators, name)
		if len(s.run) == 0 || need.Chosen(t, family+" on kernels", "a family on kernels", template) {
			s.run = append(s.run, name)
		}
		if _, err := Create(s.root, name, family); err != nil { // what triad new --in-tree does
			t.Fatal(err)
		}
	}
	s.command(t, ".", "git", "init", "--quiet")
	s.command(t, ".", "git", "add", "--all", "--intent-to-add") // the names alone
	s.command(t, ".", "go", "build", "-o", s.triad, "./cmd/triad")
	s.command(t, ".", need.Tool(t, "make"), "generated")
	// the mutants that the template's cases miss are listed, as docs/writing-an-op.md says
	s.test(t, "./internal/truth/all", "-run", s.subtests("TestDerivedMutants"), "-update")
	if t.Failed() {
		t.FailNow()
	}
	return s
}

// copysFolder returns an empty folder for the copy: the same one each time, unless another run is in it. Go
// recompiles packages in another folder, which takes minutes for all of them.
func copysFolder(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(cache, "triad", "stamped")
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := os.OpenFile(folder+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Close() })
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return t.TempDir()
	}
	empty := func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	}
	empty()
	t.Cleanup(empty)
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}

// copyTree copies the repository, as it is on disk.
func copyTree(t *testing.T, to string) {
	t.Helper()
	from, err := Checkout(".")
	if err != nil {
		t.Fatal(err)
	}
	list := exec.CommandContext(t.Context(), need.Tool(t, "git"), "ls-files", "-co", "--exclude-standard",
		"-z")
	list.Dir = from
	out, err := list.Output()
	if err != nil {
		need.Missing(t, "no git checkout ("+err.Error()+"): clone the repository")
	}
	for file := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		info, err := os.Stat(filepath.Join(from, file))
		if os.IsNotExist(err) {
			continue // a file that git still knows may be gone
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(from, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, file), text, info.Mode()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStampedOperator: an operator made from a family's template requires no edit outside the generated
// files. In a copy of the tree it passes the tests of every operator. The long tier makes operators of all
// families, and runs the fast tier of every other suite in the copy too.
func TestStampedOperator(t *testing.T) {
	s := stamp(t)
	t.Run("repository", func(t *testing.T) {
		// a page with one more operator needs words that its author takes from others
		s.test(t, ".", "-skip", "^TestCI|^TestPageWords$")
		// stamp has run the derived mutants of the new operators, which are no reason to ask those of others
		s.test(t, "./internal/catalog", "./internal/truth/all", "./internal/opfolder", "./internal/timing",
			"-skip", "^TestDerivedMutants$")
	})
	t.Run("format", s.format)
	t.Run("truth", func(t *testing.T) {
		s.test(t, "./internal/truth", "-run", s.subtests("TestEveryCaseHasATruth|TestLooserContracts|"+
			"TestRelationsHoldOfTheSimulatedContract|TestRelationsReject|TestOneUlpBreaksWhatHoldsBitForBit|"+
			"TestContractsAgree")) // make generated has run TestVersionNamesTheErrorBounds
		s.test(t, "./internal/run", "-run", // and TestPower
			s.subtests("TestTrivialByDesign|TestMarkModerate|TestRelationsArePlanned"))
	})
	t.Run("mutation", func(t *testing.T) {
		for _, name := range s.operators {
			s.test(t, "./internal/catalog/"+name)
		}
	})
	t.Run("compare", func(t *testing.T) {
		interpreter(t) // else the rows in Python are not there
		for _, name := range s.run {
			args := []string{
				s.triad, "compare", name, "--quick", "--offline", "--db",
				filepath.Join(t.TempDir(), "r.db"),
			}
			spec, err := os.ReadFile(filepath.Join(s.root, "internal", "catalog", name, name+".toml"))
			if err != nil {
				t.Fatal(err)
			}
			if !need.IsLongTier() && bytes.Contains(spec, []byte(`"fp32"`)) { // torch compiles for each dtype
				args = append(args, "--dtype", "fp32")
			}
			// torch/compile is the function of torch/eager, compiled: other operators have that asked
			if !need.Chosen(t, "torch/compile of "+name, "", "internal/room/families", "pybridge/operators") {
				args = append(args, "--impl", "cuda,triton,torch/eager")
			}
			s.command(t, ".", args...)
		}
	})
	t.Run("python", s.python)
	t.Run("every suite", func(t *testing.T) {
		need.Long(t, "every suite runs once more, in a copy of the repository")
		t.Setenv("TRIAD_TEST_TIER", "") // of each suite the fast tier: the long one runs outside of the copy
		list := exec.CommandContext(t.Context(), "go", "list", "./...")
		list.Dir = s.root
		packages, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range strings.Fields(string(packages)) {
			s.test(t, path, "-skip", "^TestStampedOperator$|^TestCI")
		}
	})
}

// format checks that the files of the templates are formatted like all others.
func (s *stampedTree) format(t *testing.T) {
	for _, name := range s.operators {
		files, err := filepath.Glob(filepath.Join(s.root, "internal", "catalog", name, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no Go files of %s: %v", name, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if formatted, err := format.Source(text); err != nil || !bytes.Equal(formatted, text) {
				t.Errorf("%s is not as gofmt writes it: %v", file, err)
			}
		}
		// go vet reads all packages that the operator imports
		if need.Chosen(t, "go vet of "+name, "", "internal/room/families") {
			s.command(t, ".", "go", "vet", "./internal/catalog/"+name)
		}
	}
	s.command(t, ".", "go", "run", "./internal/linelength")
}

// python runs the Python tests of every operator for the stamped ones only.
func (s *stampedTree) python(t *testing.T) {
	const narrowed = `
import sys, unittest
sys.path.insert(0, ".")
import specs
missing = set(sys.argv[1:]) - set(specs.NAMES)
assert not missing, f"{missing} are not among {specs.NAMES}"
specs.NAMES = tuple(sys.argv[1:])
unittest.main(module=None, argv=[sys.argv[0], "test_truth", "test_operators"])
`
	s.command(t, "pybridge/tests", append([]string{interpreter(t), "-c", narrowed}, s.run...)...)
}

// interpreter returns the Python that triad would use.
func interpreter(t *testing.T) string {
	t.Helper()
	e := &pybridge.Environment{Files: triad.Files, DataDir: need.DataDir(t), Offline: true}
	i, err := e.Find(t.Context())
	if err != nil {
		need.MissingSetUp(t, err)
	}
	return i.Path
}
