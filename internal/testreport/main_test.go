package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// written returns a temporary file with this text.
func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// told returns the report of events, and its error.
func told(t *testing.T, events string, o options) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(strings.NewReader(events), &out, o)
	return out.String(), err
}

// For the go test -json output of packages that pass, fail, panic and do not compile, the report shows what
// failed with the command that repeats it, what was skipped, and one line at the end.
func TestReport(t *testing.T) {
	events, err := os.ReadFile("testdata/events.json")
	if err != nil {
		t.Fatal(err)
	}
	out, err := told(t, string(events), options{})
	if err == nil || err.Error() != "2 packages failed" {
		t.Errorf("got %v", err)
	}
	for _, want := range []string{
		"b_test.go:3: wrong here\n--- FAIL: TestFail/sub", "panic: oh", "FAIL\tm/b\t0.006s\n",
		"undefined: x\nFAIL\tm/c [build failed]\n", "ok  \tm/a\t1.106s\n",
		"repeat it alone: TRIAD_TEST_SETUP=1 go test -count=1 -run '^TestFail$/^sub$' .m/b\n",
		"skipped m/a TestSkip: no nm on the PATH: apt-get install binutils\n",
		"skipped m/a TestGPU/sub: needs a GPU: none\n",
		"2 failed, 2 skipped, 0 left to the long tier, 0 packages unchanged since they passed\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "noise") {
		t.Errorf("what a passing test said is told:\n%s", out)
	}
	if n := strings.Count(out, "repeat it alone"); n != 2 {
		t.Errorf("%d commands for one failed case and one panic:\n%s", n, out)
	}
}

// passing returns the events of a package that passes, in which a test is skipped for a reason, "" for none.
func passing(reason string) string {
	line := `{"Action":"output","Package":"m/a","Output":"ok  \tm/a\t1s\n"}` + "\n" +
		`{"Action":"pass","Package":"m/a"}` + "\n"
	if reason == "" {
		return line
	}
	return fmt.Sprintf(`{"Action":"output","Package":"m/a","Test":"TestX","Output":"    a_test.go:3: %s\n"}`+
		"\n"+`{"Action":"skip","Package":"m/a","Test":"TestX"}`+"\n", reason) + line
}

// In continuous integration a package over its budget of processor time, and a skip not excused by a missing
// GPU or the tier, are failures; elsewhere they are only reported.
func TestWhatFails(t *testing.T) {
	spent := func(seconds float64) string {
		return fmt.Sprintf(`{"folder":"/m/a","processor_seconds":%g}`+"\n", seconds)
	}
	for _, c := range []struct {
		name, events string
		seconds      float64
		always, inCI string
	}{
		{"in time", passing(""), 9, "", ""},
		{"over budget", passing(""), 11, "", "over budget: m/a"},
		{"skipped", passing("no git on the PATH"), 1, "", "1 tests were skipped and have to run"},
		{"skipped for want of a GPU", passing("needs a GPU: no driver is here"), 1, "", ""},
		{"left to the long tier", passing("the long tier runs it: a Slurm of one node"), 1, "", ""},
		{"nothing", "", 1, "no package was tested", "no package was tested"},
		{"cut off", passing("")[:40], 1, "no package was tested", "no package was tested"},
	} {
		for ci, want := range map[bool]string{false: c.always, true: c.inCI} {
			out, err := told(t, c.events, options{
				budgets: written(t, "m/a 10 # twice\n\n"), costs: written(t, spent(c.seconds)),
				packages: written(t, "m/a /m/a\n"), ci: ci,
			})
			if got := fmt.Sprint(err); got != want && !(err == nil && want == "") {
				t.Errorf("%s, -ci=%v: %v, want %q\n%s", c.name, ci, err, want, out)
			}
		}
	}
	other := options{
		budgets: written(t, "m/b 1\nother 5\n"), costs: written(t, spent(6)),
		packages: written(t, "m/a /m/a\n"), ci: true,
	}
	if _, err := told(t, passing(""), other); fmt.Sprint(err) != "over budget: m/a" {
		t.Errorf("a package without a budget of its own: %v", err)
	}
	if _, err := told(t, passing(""), options{budgets: written(t, "m/a ten\n")}); err == nil {
		t.Error("a budget that is no number is taken")
	}
}

// The most expensive tests are listed by processor time; the last line has the sum over the packages.
func TestCostsAreReported(t *testing.T) {
	out, err := told(t, passing(""), options{packages: written(t, "m/a /m/a\n"), costs: written(t,
		`{"folder":"/m/a","test":"TestDear","processor_seconds":42}`+"\n"+
			`{"folder":"/m/a","test":"TestCheap","processor_seconds":0.1}`+"\n"+
			`{"folder":"/m/a","processor_seconds":43}`+"\n")})
	if err != nil || !strings.Contains(out, "   42.0 s  m/a TestDear\n") ||
		strings.Contains(out, "TestCheap") ||
		!strings.Contains(out, " min, 43 s of processor time: 0 failed") {
		t.Errorf("%v\n%s", err, out)
	}
}

// The last line counts the packages that go test did not run again.
func TestUnchangedPackagesAreCounted(t *testing.T) {
	const cached = `{"Action":"output","Package":"m/b","Output":"ok  \tm/b\t(cached)\n"}` + "\n" +
		`{"Action":"pass","Package":"m/b"}` + "\n"
	out, err := told(t, passing("")+cached, options{})
	if err != nil || !strings.Contains(out, ", 1 packages unchanged since they passed\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

// casesOf returns the events of tests that ended so.
func casesOf(ended map[string]string) string {
	var events strings.Builder
	for name, how := range ended {
		if how == "long" {
			fmt.Fprintf(&events, `{"Action":"output","Package":"m/a","Test":%q,"Output":"    a_test.go:3: `+
				`the long tier runs it: TestX/a covers \"k\"\n"}`+"\n", name)
			how = "skip"
		}
		fmt.Fprintf(&events, `{"Action":%q,"Package":"m/a","Test":%q}`+"\n", how, name)
	}
	return events.String() + passing("")
}

// A test or a case that disappeared is a failure unless the document gives a reason; one that a tier leaves
// out has not disappeared.
func TestNamesAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "names")
	all := map[string]string{"TestX": "pass", "TestX/a": "pass", "TestX/b/c": "long", "TestY": "pass"}
	if _, err := told(t, casesOf(all), options{names: path, write: true}); err != nil {
		t.Fatal(err)
	}
	names, err := readNames(path)
	want := []string{"m/a TestX", "m/a TestX/a", "m/a TestX/b/c", "m/a TestY"}
	if err != nil || !slices.Equal(names, want) {
		t.Fatalf("%q, %v", names, err)
	}
	for _, c := range []struct{ without, reasons, says string }{
		{"", "", ""},
		{"TestX/b/c", "", "1 tests or cases"},
		{"TestX/b/c", "`m/a TestX/b/c`: it asked what `TestY` asks", ""},
		{"TestX/b/c", "`m/a TestX/b`: all its cases", ""},
		{"TestX/b/c", "`m/a TestX/b/cd`: another", "1 tests or cases"},
	} {
		left := map[string]string{}
		for name, how := range all {
			if name != c.without {
				left[name] = how
			}
		}
		out, err := told(t, casesOf(left), options{names: path, reasons: written(t, c.reasons)})
		if got := fmt.Sprint(err); c.says == "" && err != nil ||
			c.says != "" && !strings.HasPrefix(got, c.says) {
			t.Errorf("without %s and with the reasons %q: %v\n%s", c.without, c.reasons, err, out)
		}
	}
	within := map[string]string{"TestX": "pass", "TestX/a": "pass", "TestX/b": "long", "TestY": "pass"}
	if out, err := told(t, casesOf(within), options{names: path, reasons: written(t, "")}); err != nil {
		t.Errorf("a case of a case that is left out: %v\n%s", err, out)
	}
	broken := options{names: written(t, "\t\tx\n"), reasons: written(t, "")}
	if _, err := told(t, casesOf(all), broken); err == nil {
		t.Error("a broken tree is read")
	}
}

// The file of keys says what each case covers and why it ran.
func TestKeysAreWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	if _, err := told(t, casesOf(map[string]string{"TestX/b": "long"}), options{keys: path}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != "m/a TestX/b\tthe long tier runs it: TestX/a covers \"k\"\n" {
		t.Errorf("%q, %v", text, err)
	}
}
