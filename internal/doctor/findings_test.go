package doctor

import (
	"strings"
	"testing"

	"triad/internal/report"
	"triad/internal/timing"
	"triad/pybridge"
)

// TestClocksFinding: two clocks agree, differ, or one of them cannot be read.
func TestClocksFinding(t *testing.T) {
	cuda := timing.Clock{Backend: "cuda", MedianNS: 100_000, LowNS: 99_000, HighNS: 101_000}
	python := func(ns float64, why string) timing.Clock {
		return timing.Clock{Backend: "python", MedianNS: ns, LowNS: ns, HighNS: ns, Why: why}
	}
	for _, c := range []struct {
		other              timing.Clock
		state, says, fixed string
	}{
		{python(101_000, ""), "ok", "they agree within 1.0 %", ""},
		{
			python(110_000, ""), "broken", "they differ by 10.0 %, more than 2 %",
			"nothing else may run on the GPU",
		},
		{python(0, "no torch"), "note", "the worker of python timed no copy: no torch", ""},
	} {
		f := ClocksFinding("clocks", []timing.Clock{cuda, c.other})
		said := strings.Contains(f.Detail, c.says) && strings.HasPrefix(f.Remedy, c.fixed)
		if f.Subject != "clocks" || f.State != c.state || !said {
			t.Errorf("%+v, want %s, %q", f, c.state, c.says)
		}
	}
}

// TestOutsideNamesTheVersion: an interpreter with a NumPy that Triton's interpreter does not work with is
// told so, with what to do; one inside the range is not.
func TestOutsideNamesTheVersion(t *testing.T) {
	ok := report.Finding{Subject: "Python", State: "ok", Detail: "3.12.1 at /p (TRIAD_PYTHON)"}
	f := outside(ok, pybridge.Interpreter{
		Outside: true, Misfit: "numpy 2.4.1, want one below 2.4 for Triton's interpreter",
	})
	if f.State != "note" || !strings.HasSuffix(f.Detail, "outside the tested range: numpy 2.4.1, want "+
		"one below 2.4 "+
		"for Triton's interpreter") || !strings.Contains(f.Remedy, "unset TRIAD_PYTHON") {
		t.Errorf("%+v", f)
	}
	if f := outside(ok, pybridge.Interpreter{}); f != ok {
		t.Errorf("%+v", f)
	}
}
