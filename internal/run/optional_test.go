package run

import (
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
)

// optionalFake is a fake with an optional family that is missing.
type optionalFake struct{ *fake }

func (f optionalFake) Families() []string         { return []string{"fake", "peer"} }
func (f optionalFake) OptionalFamilies() []string { return []string{"peer"} }

// TestOptionalFamilies: a missing optional family is reported only if it was asked for.
func TestOptionalFamilies(t *testing.T) {
	for _, of := range []struct {
		impls       []string
		records     int
		unavailable int
	}{
		{nil, 1, 0},
		{[]string{"fake"}, 1, 0},
		{[]string{"fake", "peer"}, 2, 1},
		{[]string{"peer/kernel"}, 1, 1},
	} {
		f := optionalFake{fakes(map[string]way{"fake/right": right})}
		f.failed = []backend.LoadFailure{{
			Implementation: "peer", Status: op.StatusUnavailable,
			Message: "it is not installed",
		}}
		kept := &memory{}
		result, err := compare(t, kept, of.impls, f)
		if err != nil || len(kept.records) != of.records || len(result.Unavailable) != of.unavailable {
			t.Errorf("%v: %v, %d records, unavailable: %v", of.impls, err, len(kept.records),
				result.Unavailable)
		}
	}
	gone := optionalFake{fakes(nil)}
	gone.load = &backend.Unavailable{Sentence: "no Python"}
	kept := &memory{}
	if _, err := compare(t, kept, nil, gone); err != nil || len(kept.records) != 1 ||
		kept.records[0].Impl != "fake" {
		t.Errorf("without its worker: %v %+v", err, kept.records)
	}
}
