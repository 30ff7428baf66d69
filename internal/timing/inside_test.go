package timing

import (
	"context"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/stats"
)

// Without a sample there is no time; a failure without a status is a crash.
func TestNoSamples(t *testing.T) {
	k := &timedImpl{Impl: Impl{Record: &record.Record{}}}
	got := k.summarise(Regime{Cold: true}, stats.Ceilings{}, stats.Limits{}, stats.Work{})
	if got.Status != op.StatusUnstable || got.Message != "no sample was taken" {
		t.Errorf("%v %q", got.Status, got.Message)
	}
	k.fail(backend.Outcome{Sentence: "it ended"})
	got = k.summarise(Regime{Cold: true}, stats.Ceilings{}, stats.Limits{}, stats.Work{})
	if got.Status != op.StatusCrash || got.Message != "it ended" {
		t.Errorf("%v %q", got.Status, got.Message)
	}
}

// A backward whose forward chose what it saved may move fewer bytes than the definition's tensors have: its
// time is impossible only if it could not even move gradients and results.
func TestASmallerSavedTensorIsPossible(t *testing.T) {
	for _, c := range []struct {
		backward    string
		unavoidable int64
		want        op.Status
	}{
		{record.SavedTensors, 400, op.StatusImpossible},
		{record.RetainedGraph, 400, op.StatusPass},
		{record.RetainedGraph, 600, op.StatusImpossible},
	} {
		k := &timedImpl{Impl: Impl{Record: &record.Record{}}, backward: c.backward}
		for range 2 * stats.LeastSamples {
			k.samples, k.clocks = append(k.samples, 100), append(k.clocks, 1980)
		}
		got := k.summarise(Regime{Cold: true}, stats.Ceilings{}, stats.Limits{Bytes: 5e9},
			stats.Work{Bytes: 600, Unavoidable: c.unavoidable})
		if got.Status != c.want {
			t.Errorf("%s, %d bytes that must be moved: %v %q, want %v", c.backward, c.unavoidable, got.Status,
				got.Message, c.want)
		}
	}
}

// A ceiling that reports no bytes gives no share of a roofline.
func TestCeilingWithoutBytes(t *testing.T) {
	timer := &Timer{}
	timer.ceilings.Copy = 1
	r := timer.noteCeiling(backend.CeilingCopy, backend.PrepareReply{}, []float64{1e6})
	if r.BytesPerSecond != nil || timer.ceilings.Copy != 0 {
		t.Errorf("%+v, %v", r, timer.ceilings.Copy)
	}
}

// Each dtype has the ceiling of its products.
func TestProducts(t *testing.T) {
	for dtype, want := range map[string]string{
		"e4m3_row": backend.CeilingFP8, "e5m2": backend.CeilingFP8, "int8": backend.CeilingFP8,
		"fp32": backend.CeilingFP32, "fp16": backend.CeilingBF16,
	} {
		if got := Product(dtype); got != want {
			t.Errorf("%s: %s, want %s", dtype, got, want)
		}
	}
}

// A rest ends with the run.
func TestRestEndsWithTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	(&Timer{}).rest(ctx, time.Hour)
}

// If data does not stay in the L2 cache, a time is checked against all ceilings, and against none if one is
// missing.
func TestLimitsOfWhatWasMeasured(t *testing.T) {
	all := stats.Ceilings{Copy: 4.1e12, Read: 4.5e12, Write: 4.6e12}
	for _, c := range []struct {
		ceilings stats.Ceilings
		rotated  int64
		devices  int
		want     float64
	}{
		{all, 120 << 20, 0, 4.6e12},
		{all, 119 << 20, 1, 0},
		{stats.Ceilings{Copy: 4.1e12}, 120 << 20, 0, 0},
		{all, 239 << 20, 2, 0},
		{all, 240 << 20, 2, 9.2e12}, // two caches
	} {
		timer := &Timer{ceilings: c.ceilings, physics: backend.DevicePhysics{L2Bytes: 60 << 20}}
		candidate := &timedImpl{candidate: factsAlone{facts: backend.PrepareReply{
			RotatedBytes: c.rotated, Devices: c.devices,
		}}}
		if got := timer.limitsOf(candidate, "fp32").Measured; got != c.want {
			t.Errorf("%d bytes rotated on %d devices: %v, want %v", c.rotated, c.devices, got, c.want)
		}
	}
	if got := (&Timer{ceilings: all}).limitsOf(&timedImpl{}, "fp32").Measured; got != 0 {
		t.Errorf("nothing is known of the cache: %v", got)
	}
}

// factsAlone is a candidate that only has facts.
type factsAlone struct {
	backend.Candidate
	facts backend.PrepareReply
}

func (f factsAlone) Facts() backend.PrepareReply { return f.facts }
