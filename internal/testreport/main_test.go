package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// told is the report of events, and its error.
func told(t *testing.T, events, budgets string, ci bool) (string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "budgets")
	if err := os.WriteFile(path, []byte(budgets), 0o644); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := run(strings.NewReader(events), &out, path, ci)
	return out.String(), err
}

// What go test -json printed of packages that pass, fail, panic and do not compile: a person sees what
// failed, and all that was skipped.
func TestReport(t *testing.T) {
	events, err := os.ReadFile("testdata/events.json")
	if err != nil {
		t.Fatal(err)
	}
	out, err := told(t, string(events), "m/a 1 # slow\n\nm/b 30\n", false)
	if err == nil || err.Error() != "2 packages failed" {
		t.Errorf("got %v", err)
	}
	for _, want := range []string{
		"b_test.go:3: wrong here\n--- FAIL: TestFail/sub", "panic: oh", "FAIL\tm/b\t0.006s\n",
		"undefined: x\nFAIL\tm/c [build failed]\n", "ok  \tm/a\t1.106s\n",
		"   1.1 s  m/a TestSlow\n", "m/a                             1.1 s of 1 s, over budget\nm/b        " +
			"                     0.0 s of 30 s\n",
		"skipped: 1, 0 that only make test-long runs, and 1 that need a GPU\n" +
			"  m/a TestSkip: no nm on the PATH: apt-get install binutils\n" +
			"  m/a TestGPU/sub: needs a GPU: none\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "noise") {
		t.Errorf("what a passing test said is told:\n%s", out)
	}
}

// passing are the events of one package that passes after so many seconds, in which a test is skipped for a
// reason, "" for none.
func passing(seconds float64, reason string) string {
	line := fmt.Sprintf(`{"Action":"output","Package":"m/a","Output":"ok  \tm/a\t%.1fs\\n"}`+"\n"+
		`{"Action":"pass","Package":"m/a","Elapsed":%g}`+"\n", seconds, seconds)
	if reason == "" {
		return line
	}
	return fmt.Sprintf(`{"Action":"output","Package":"m/a","Test":"TestX","Output":"    a_test.go:3: %s\\n"}`+
		"\n"+`{"Action":"skip","Package":"m/a","Test":"TestX"}`+"\n", reason) + line
}

// In continuous integration a package over its budget and a skip that no GPU excuses are failures; elsewhere
// they are told.
func TestWhatFails(t *testing.T) {
	for _, c := range []struct {
		name, events, always, inCI string
	}{
		{"in time", passing(9, ""), "", ""},
		{"over budget", passing(11, ""), "", "over budget: m/a"},
		{"skipped", passing(1, "no git on the PATH"), "", "1 tests were skipped and have to run"},
		{"skipped for want of a GPU", passing(1, "needs a GPU: no driver is here"), "", ""},
		{"skipped as long", passing(1, "make test-long runs it: a Slurm of one node"), "", ""},
		{"nothing", "", "no package was tested", "no package was tested"},
		{"cut off", passing(1, "")[:40], "no package was tested", "no package was tested"},
	} {
		for ci, want := range map[bool]string{false: c.always, true: c.inCI} {
			out, err := told(t, c.events, "m/a 10\n", ci)
			if got := fmt.Sprint(err); got != want && !(err == nil && want == "") {
				t.Errorf("%s, -ci=%v: %v, want %q\n%s", c.name, ci, err, want, out)
			}
		}
	}
	if _, err := told(t, passing(6, ""), "m/b 1\nother 5\n", true); fmt.Sprint(err) != "over budget: m/a" {
		t.Errorf("a package without a budget of its own: %v", err)
	}
	if _, err := told(t, passing(1, ""), "m/a ten\n", false); err == nil {
		t.Error("a budget that is no number is taken")
	}
}
