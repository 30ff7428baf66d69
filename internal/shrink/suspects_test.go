package shrink

import (
	"testing"

	"triad/internal/op"
	"triad/internal/record"
)

// wrong returns a FAIL of one case.
func wrong(impl, dtype, distribution string, cols int64) record.Record {
	return record.Record{
		Backend: "mine", Impl: impl, Device: "cpu", Status: op.StatusFail,
		Case: op.Case{
			Pass: op.Forward, DType: dtype, Distribution: distribution,
			Dims: op.Dims{size("cols", cols)},
		},
	}
}

// For each function the plainest wrong record is picked, and one more if a dtype fails only on special
// numbers.
func TestSuspects(t *testing.T) {
	passed, built, race, other := wrong("mine/a", "fp32", "normal", 1), wrong("mine/a", "fp32", "normal", 1),
		wrong("mine/b", "fp32", "normal", 900), wrong("cuda/warp", "fp32", "normal", 1)
	passed.Status, built.Status, race.Status, other.Backend = op.StatusPass, op.StatusBuildFail,
		op.StatusRace, "cuda"
	got := Suspects([]record.Record{
		passed, built, other,
		wrong("mine/a", "fp32", "extremes", 3), wrong("mine/a", "fp32", "normal", 70),
		wrong("mine/a", "fp32", "normal", 7),
		wrong("mine/a", "fp32", "normal", 0), wrong("mine/a", "fp16", "scaled", 5),
		wrong("mine/a", "bf16", "scaled", 5),
		wrong("mine/b", "fp32", "normal", 8), race,
	}, "mine")
	want := []struct {
		impl, dtype, distribution string
		cols                      int64
		race                      bool
	}{
		{"mine/a", "fp32", "normal", 7, false},
		{"mine/a", "fp16", "scaled", 5, false},
		{"mine/b", "fp32", "normal", 8, true},
	}
	if len(got) != len(want) {
		t.Fatalf("%d suspects, want %d: %+v", len(got), len(want), got)
	}
	for i, w := range want {
		c := got[i].Record.Case
		if got[i].Record.Impl != w.impl || c.DType != w.dtype || c.Distribution != w.distribution ||
			c.Dims.Get("cols") != w.cols ||
			got[i].Race != w.race {
			t.Errorf("suspect %d: %+v, want %+v", i, got[i], w)
		}
	}
}

// For a wrong gradient the record with ordinary numbers is picked, and among those one with an ordinary
// upstream gradient, however many elements it has.
func TestSuspectsOfGradients(t *testing.T) {
	of := func(distribution, upstream string, cols int64) record.Record {
		r := wrong("mine/a", "fp32", distribution, cols)
		r.Case.Pass, r.Case.Upstream = op.Backward, upstream
		return r
	}
	got := Suspects([]record.Record{
		of("scaled", "normal", 3), of("normal", "huge", 5), of("normal", "normal", 900),
		of("normal", "ones", 4),
	}, "mine")
	if len(got) != 1 || got[0].Record.Case.Dims.Get("cols") != 900 {
		t.Errorf("%+v, want that of 900 columns", got)
	}
}
