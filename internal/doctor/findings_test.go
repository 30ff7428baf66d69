package doctor

import (
	"strings"
	"testing"

	"triad/internal/timing"
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
