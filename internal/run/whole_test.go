package run

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// largeDims is a case with more elements than were ever sampled from a timed one.
var largeDims = map[string]int64{"rows": 1100, "cols": 1000}

// benchLarge benches softmax on largeDims, its truth kept or computed row by row.
func benchLarge(t *testing.T, kept int64, ways map[string]way, after map[string]way) []record.Record {
	t.Helper()
	before := keptElements
	keptElements = kept
	defer func() { keptElements = before }()
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	f := timedFakes(t, 0.003, map[string]float64{})
	f.fake, f.after = fakes(ways), after
	for name := range ways {
		f.ns[name] = 1e5
	}
	store := &memory{}
	r := &Runner{
		Backends: []backend.Backend{f}, Recorder: store, Timings: store, Telemetry: f.card,
		Stop: t.Context(),
	}
	result, err := r.Bench(t.Context(), Request{
		Operators: []*truth.Operator{o}, Seed: 1, Timing: &coldPlan,
		Options: op.Options{Passes: []op.Pass{op.Forward}, DTypes: []string{"bf16"}, Dims: largeDims},
	})
	if err != nil {
		t.Fatal(err)
	}
	return result.Records
}

// offAt returns softmax with one element 1.5 times as large.
func offAt(at int) way {
	return func(x tensor.Tensor, _, _ int) ([]float64, *backend.Outcome) {
		y := softmax(x)
		y[at] *= 1.5
		return y, nil
	}
}

// TestEveryElementOfATimedCaseIsJudged: one wrong element of a large case is found wherever it lies, before
// the case is timed and in what the timed calls wrote; what is right is compared in full, and checked for the
// invariants.
func TestEveryElementOfATimedCaseIsJudged(t *testing.T) {
	elements := int(largeDims["rows"] * largeDims["cols"])
	for _, kept := range []int64{1 << 24, 1 << 10} {
		ways := map[string]way{"fake/right": right, "fake/lazy": right}
		places := map[string]int{}
		for i := range 6 {
			name := fmt.Sprintf("fake/off%d", i)
			places[name] = i * (elements - 1) / 5
			ways[name] = offAt(places[name])
		}
		for _, r := range benchLarge(t, kept, ways, map[string]way{"fake/lazy": offAt(elements / 3)}) {
			v := r.Outputs[0]
			if v.NCompared != int64(elements) || v.N != int64(elements) {
				t.Errorf("kept %d, %s: %d of %d elements are compared", kept, r.Impl, v.NCompared, v.N)
			}
			at, planted := places[r.Impl]
			switch {
			case planted:
				want := []int64{int64(at) / largeDims["cols"], int64(at) % largeDims["cols"]}
				if r.Status != op.StatusFail || v.NWrong != 1 || !reflect.DeepEqual(v.Worst.Index, want) ||
					len(r.Timings) > 0 {
					t.Errorf("kept %d, %s: %v, %d wrong, worst %v, want FAIL at %v", kept, r.Impl, r.Status,
						v.NWrong, v.Worst, want)
				}
			case r.Impl == "fake/lazy":
				if r.Status != op.StatusPass || len(r.Timings) != 1 || r.Timings[0].Status != op.StatusFail {
					t.Errorf("kept %d, %s: %v, timings %+v", kept, r.Impl, r.Status, r.Timings)
				}
			default:
				if r.Status != op.StatusPass || len(r.Timings) != 1 || r.Timings[0].Status != op.StatusPass {
					t.Errorf("kept %d, %s: %v %s", kept, r.Impl, r.Status, r.Message)
				}
				if v.RelationsPlanned < 3 || slices.ContainsFunc(v.Relations,
					func(r record.Relation) bool { return !r.Holds }) ||
					len(v.Relations) != v.RelationsPlanned {
					t.Errorf("kept %d, %s: of %d relations %+v", kept, r.Impl, v.RelationsPlanned,
						v.Relations)
				}
			}
		}
	}
}
