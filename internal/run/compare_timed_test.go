package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/timing"
	"triad/internal/truth"
)

// memoryOfOne holds two sets of the last bench point alone, 4096 x 1024.
const memoryOfOne = 100 << 20

// timedRequests lists options of comparisons, and which of their cases are timed.
var timedRequests = []struct {
	options op.Options
	want    string
	once    int // implementations times dtypes
}{
	{op.Options{DTypes: []string{"fp32"}, Memory: memoryOfOne}, "fp32 rows=512,cols=8192 normal", 2},
	{op.Options{Memory: memoryOfOne}, "bf16 rows=1024,cols=8192 normal", 2},
	{
		op.Options{DTypes: []string{"fp32", "fp16"}, Dims: map[string]int64{"rows": 5, "cols": 33}},
		"fp16 rows=5,cols=33 normal; fp32 rows=5,cols=33 normal", 4,
	},
	{op.Options{
		DTypes: []string{"fp32"}, Dims: map[string]int64{"rows": 5, "cols": 33},
		Distributions: []string{"scaled"},
	}, "fp32 rows=5,cols=33 scaled", 2},
	{
		op.Options{DTypes: []string{"fp32"}, Dims: map[string]int64{"rows": 5}, Memory: 1 << 20},
		"fp32 rows=5,cols=8192 normal", 2,
	},
}

// TestCompareTimes: a comparison times the first bench point, with fewer rows where the device cannot hold
// it, judged as a bench judges it, or the case that its flags name, which is judged once. Without a plan of
// timing nothing is timed.
func TestCompareTimes(t *testing.T) {
	f := timedFakes(t, 0.003, map[string]float64{"fake/fast": 1e5, "fake/slow": 2e5})
	o, _ := truth.Get("softmax")
	compare := func(options op.Options, plan *timing.Plan) (Result, *memory) {
		t.Helper()
		options.Level, options.Passes = op.LevelQuick, []op.Pass{op.Forward}
		kept := &memory{}
		r := &Runner{Backends: []backend.Backend{f}, Recorder: kept, Timings: kept, Stop: t.Context()}
		result, err := r.Compare(t.Context(), Request{
			Operators: []*truth.Operator{o}, Seed: 1, Timing: plan,
			Options: options,
		})
		if err != nil {
			t.Fatal(err)
		}
		return result, kept
	}
	for _, c := range timedRequests {
		result, kept := compare(c.options, &coldPlan)
		times := map[string]int{}
		planned := map[string]int{}
		for _, r := range result.Records {
			planned[r.Case.Key()+r.Impl]++
			if len(r.Timings) > 0 {
				times[fmt.Sprintf("%s rows=%d,cols=%d %s", r.Case.DType, r.Case.Dims.Get("rows"),
					r.Case.Dims.Get("cols"), r.Case.Distribution)]++
			}
		}
		if got := strings.Join(slices.Sorted(maps.Keys(times)), "; "); got != c.want ||
			len(kept.timings) != c.once {
			t.Errorf("%+v: timed %q, %d times, want %q, %d times", c.options, got, len(kept.timings), c.want,
				c.once)
		}
		for key, n := range planned {
			if n > 1 {
				t.Errorf("%+v: %s is judged %d times", c.options, key, n)
			}
		}
		if speedVerdictOf(result, "fake/slow", "fake/fast") != "SLOWER" {
			t.Errorf("%+v: %+v", c.options, result.Comparisons)
		}
	}
	if _, kept := compare(op.Options{DTypes: []string{"fp32"}}, nil); len(kept.timings) != 0 {
		t.Errorf("timed without a plan: %d timings", len(kept.timings))
	}
}

// TestComparisonResumesItsTimes: a resumed comparison times what has no time yet, together with what the
// interrupted one had judged, and skips complete cases.
func TestComparisonResumesItsTimes(t *testing.T) {
	f := timedFakes(t, 0.003, map[string]float64{"fake/fast": 1e5, "fake/slow": 2e5})
	o, _ := truth.Get("softmax")
	compare := func(done bool, before []record.Record) (Result, *memory) {
		t.Helper()
		kept := &memory{done: map[string]bool{"fake/fast": done, "fake/slow": done}}
		r := &Runner{Backends: []backend.Backend{f}, Recorder: kept, Timings: kept, Stop: t.Context()}
		result, err := r.Compare(t.Context(), Request{
			Operators: []*truth.Operator{o}, Seed: 1,
			Timing: &coldPlan, Before: before, Options: op.Options{
				Passes: []op.Pass{op.Forward}, DTypes: []string{"fp32"},
				Dims: map[string]int64{"rows": 5, "cols": 33},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return result, kept
	}
	whole, _ := compare(false, nil)
	if result, kept := compare(true, whole.Records); len(kept.timings)+len(kept.records)+
		len(kept.ceilings) > 0 || len(result.Comparisons) > 0 {
		t.Errorf("complete: %d timings, %d records", len(kept.timings), len(kept.records))
	}
	untimed := slices.Clone(whole.Records)
	for i := range untimed {
		untimed[i].Timings = nil
	}
	result, kept := compare(true, untimed)
	if len(kept.timings) != 2 || len(kept.records) != 0 ||
		speedVerdictOf(result, "fake/slow", "fake/fast") != "SLOWER" {
		t.Errorf("without times: %d timings, %d records, %+v", len(kept.timings), len(kept.records),
			result.Comparisons)
	}
}
