package need

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// ending returns how a test that called f ended, "skipped", "failed" or "passed", and its output. f runs in a
// process of its own, since a test that fails would fail this one.
func ending(t *testing.T, all string, environment ...string) (how, said string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestInside$", "-test.v")
	cmd.Env = append(append(os.Environ(), "NEED_INSIDE=1", "TRIAD_TEST_ALL="+all,
		tierVariable+"=", dayVariable+"=", changedVariable+"="), environment...)
	out, err := cmd.Output()
	switch text := string(out); {
	case err != nil:
		return "failed", text
	case strings.Contains(text, "--- SKIP"):
		return "skipped", text
	default:
		return "passed", text
	}
}

const pythonLog = `test_a (test_s.A.test_a)
Docs ... skipped "it's not here: pip install it"
test_b (test_s.A.test_b) ... noise
ok
test_c (test_s.A.test_c) ... skipped 'needs a GPU: none'
test_d (test_s.A.test_d) ... 
  test_d (test_s.A.test_d) (i=0) ... skipped 'sub'

Ran 4 tests in 0.016s

OK (skipped=3)
`

// TestInside is the test that ending runs.
func TestInside(t *testing.T) {
	switch os.Getenv("NEED_INSIDE_WHAT") {
	case "tool":
		Tool(t, "nm")
	case "clang":
		Clang(t)
	case "clang of a version":
		ClangOf(t, 15)
	case "gpu":
		GPU(t, "no driver")
	case "long":
		Long(t, "a cluster", "no/such/file")
	case "python":
		Unittest(t, pythonLog)
	case "python miscounted":
		Unittest(t, strings.ReplaceAll(pythonLog, "skipped=3", "skipped=4"))
	}
}

// A missing tool is named with what to install: the test is skipped, and fails where everything should be
// installed. GPUs are never demanded.
func TestNeed(t *testing.T) {
	empty := "PATH=" + t.TempDir()
	for _, c := range []struct{ what, all, how, says string }{
		{"tool", "", "skipped", "no nm on the PATH: apt-get install binutils"},
		{"tool", "1", "failed", "no nm on the PATH: apt-get install binutils"},
		{"clang", "1", "failed", "apt-get install clang-19"},
		{"clang of a version", "", "skipped", "no clang++-15 on the PATH: apt-get install clang-15"},
		{"clang of a version", "1", "failed", "no clang++-15 on the PATH: apt-get install clang-15"},
		{"gpu", "1", "skipped", "needs a GPU: no driver"},
		{"long", "1", "skipped", "the long tier runs it: a cluster"},
		{"python", "", "skipped", "it's not here: pip install it"},
		{"python", "", "skipped", "--- SKIP: TestInside/test_c"},
		{"python", "1", "failed", "it's not here: pip install it"},
		{"python miscounted", "", "failed", "unittest skipped 4 tests, and 3 are named"},
	} {
		how, said := ending(t, c.all, empty, "NEED_INSIDE_WHAT="+c.what)
		if how != c.how || !strings.Contains(said, c.says) {
			t.Errorf("%s with TRIAD_TEST_ALL=%q: %s, want %s and %q in\n%s", c.what, c.all, how,
				c.how, c.says, said)
		}
	}
	if how, said := ending(t, "1", "NEED_INSIDE_WHAT=nothing"); how != "passed" {
		t.Errorf("%s: %s", how, said)
	}
}
