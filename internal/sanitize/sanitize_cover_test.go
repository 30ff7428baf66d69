package sanitize

import (
	"slices"
	"testing"

	"triad/cuda/gpuworker"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/run"
)

// TestCovered: a kernel that some case launches and that did not run under a tool keeps it from being clean;
// one that no case launches is only named.
func TestCovered(t *testing.T) {
	at := func(impl string, cols int64, kernels ...string) run.Reached {
		return run.Reached{
			Case: op.Case{Op: "softmax", Dims: []op.Dim{{Name: "cols", Value: cols}}},
			Impl: impl, Kernels: kernels,
		}
	}
	survey := run.Survey{Reached: []run.Reached{
		at("cuda/a", 1, "one"), at("cuda/a", 2, "one", "two"),
		at("cuda/b", 2, "three"),
	}, Built: []string{"four", "one", "three", "two"}}
	ran := func(r run.Reached, launches int) record.Record {
		return record.Record{Case: r.Case, Impl: r.Impl, Launches: launches}
	}
	s := sanitized{Report: gpuworker.Report{Processes: 1}, Called: []string{"a"}}
	s.cover(survey, []record.Record{ran(survey.Reached[1], 2), ran(survey.Reached[2], 0)})
	if s.Watched != 2 || !slices.Equal(s.Missed, []string{"three"}) ||
		!slices.Equal(s.Beyond, []string{"four"}) || s.good() {
		t.Errorf("%+v", s)
	}
	s.Watched, s.Missed, s.Beyond = 0, nil, nil
	s.cover(survey, []record.Record{ran(survey.Reached[1], 2), ran(survey.Reached[2], 2)})
	if s.Watched != 3 || len(s.Missed) != 0 || len(s.Beyond) != 1 || !s.good() {
		t.Errorf("%+v", s)
	}
}

// TestSanitizedPlaces: a finding without a file is placed by its kernel, one without a line by its file.
func TestSanitizedPlaces(t *testing.T) {
	var s sanitized
	s.Findings = []gpuworker.Finding{
		{Kernel: "beyond(float *)"},
		{Kernel: "k", File: "a.cu"},
		{Kernel: "k", File: "a.cu", Line: 7},
	}
	var places []string
	for _, f := range lines([]sanitized{s})[0].Findings {
		places = append(places, f.Place)
	}
	if want := []string{"beyond(float *)", "a.cu", "a.cu:7"}; !slices.Equal(places, want) {
		t.Errorf("%q, want %q", places, want)
	}
}
