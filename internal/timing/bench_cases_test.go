package timing_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/timing"
)

// The bench points of every operator in the catalog become cases.
func TestBenchCases(t *testing.T) {
	for _, name := range catalog.Names() {
		o, err := catalog.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := timing.BenchCases(o.Spec, op.Options{})
		if err != nil || len(plan.Cases) < 2 {
			t.Errorf("%s: %v, %d cases", name, err, len(plan.Cases))
		}
		quick, err := timing.BenchCases(o.Spec, op.Options{Level: op.LevelQuick})
		if err != nil || len(quick.Cases) >= len(plan.Cases) && len(o.Spec.Bench) > 1 ||
			quick.Cases[0].Key() != plan.Cases[0].Key() {
			t.Errorf("%s: %v, %d of %d cases are quick", name, err, len(quick.Cases), len(plan.Cases))
		}
	}
}

// TestBenchCasesAsAsked: options narrow the benchmark, and what they name is checked.
func TestBenchCasesAsAsked(t *testing.T) {
	o, _ := catalog.Get("softmax")
	if plan, err := timing.BenchCases(o.Spec,
		op.Options{Dims: map[string]int64{"rows": 8, "cols": 8}, DTypes: []string{"fp16"}}); err != nil ||
		len(plan.Cases) != 2 {
		t.Errorf("one point in two passes: %v %d", err, len(plan.Cases))
	}
	named := op.Options{
		Dims: map[string]int64{"rows": 8, "cols": 8}, Layouts: []string{"sliced"},
		Distributions: []string{"zeros", "scaled"}, Upstreams: []string{"ones"},
		Saved: []string{"driver"}, Passes: []op.Pass{op.Backward},
	}
	plan, err := timing.BenchCases(o.Spec, named)
	if err != nil || len(plan.Cases) != 2 {
		t.Fatalf("two distributions: %v %d", err, len(plan.Cases))
	}
	if c := plan.Cases[1]; c.Layout != "sliced" || c.Distribution != "scaled" || c.Upstream != "ones" ||
		c.Saved != "driver" {
		t.Errorf("%+v", c)
	}
	attention, _ := catalog.Get("flash_attention")
	one := op.Options{
		Equal: [][]string{{"heads_kv", "heads_q"}}, DTypes: []string{"bf16"},
		Passes: []op.Pass{op.Forward},
	}
	plan, err = timing.BenchCases(attention.Spec, one)
	for _, c := range plan.Cases {
		if c.Dims.Get("heads_q") != c.Dims.Get("heads_kv") {
			t.Errorf("heads taken as one: %v", c.Dims)
		}
	}
	if err != nil {
		t.Error(err)
	}
	var u *op.UsageError
	for _, bad := range []op.Options{
		{DTypes: []string{"fp8"}},
		{Distributions: []string{"odd"}},
		{Layouts: []string{"odd"}},
		{Dims: map[string]int64{"odd": 3}},
		{Attributes: map[string]string{"odd": "3"}},
	} {
		if _, err := timing.BenchCases(o.Spec, bad); !errors.As(err, &u) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// TestPointsThatDoNotFit: on a device that cannot hold two sets of a bench point's tensors the point is made
// smaller, no more than it must be, and its dims are said. Dims that are asked for stay.
func TestPointsThatDoNotFit(t *testing.T) {
	changed := map[int64]int{}
	for _, name := range catalog.Names() {
		o, err := catalog.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := timing.BenchCases(o.Spec, op.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, memory := range []int64{400 << 30, 6 << 30, 1 << 20} {
			changed[memory] += smallerPoints(t, o.Spec, whole.Cases, memory)
		}
		asked := op.Options{Memory: 1, Dims: map[string]int64{}, Passes: []op.Pass{op.Forward}}
		for _, d := range whole.Cases[0].Dims {
			asked.Dims[d.Name] = d.Value
		}
		plan, err := timing.BenchCases(o.Spec, asked)
		if err != nil || len(plan.Cases) > 0 || len(plan.Skipped) == 0 || len(plan.Smaller) > 0 {
			t.Errorf("%s: dims that were asked for: %v, %v", name, plan, err)
		}
	}
	if changed[400<<30] > 0 || changed[6<<30] == 0 || changed[1<<20] < 50 {
		t.Errorf("how many points are smaller, by the device's memory: %v", changed)
	}
}

// smallerPoints checks the points of a spec on a device with so much memory, and returns how many are smaller
// than the spec has them.
func smallerPoints(t *testing.T, spec *op.Spec, whole []op.Case, memory int64) int {
	t.Helper()
	plan, err := timing.BenchCases(spec, op.Options{Memory: memory})
	if err != nil || memory > 1<<30 && len(plan.Skipped) > 0 { // sizes of attributes cannot be halved
		t.Fatalf("%s on %d bytes: %v, %d cases, skipped: %v", spec.Name, memory, err, len(plan.Cases),
			plan.Skipped)
	}
	changed := 0
	for _, c := range plan.Cases {
		_, bytes, err := spec.Footprint(c)
		if err != nil || 2*bytes > memory {
			t.Errorf("%s on %d bytes: %v: %d bytes a set, %v", spec.Name, memory, c.Dims, bytes, err)
		}
		if !slices.ContainsFunc(whole, func(w op.Case) bool { return w.Key() == c.Key() }) {
			changed++
			if 16*bytes < memory {
				t.Errorf("%s on %d bytes: %v is much smaller than it must be", spec.Name, memory, c.Dims)
			}
		}
	}
	compared := timing.CompareCases(spec, op.Options{Memory: memory})
	if changed < len(plan.Smaller) || changed > 0 && (len(plan.Smaller) == 0 ||
		!strings.Contains(plan.Smaller[0], " is timed at a smaller size, ")) || len(compared.Skipped) > 0 ||
		len(compared.Smaller) > len(plan.Smaller) {
		t.Errorf("%s on %d bytes: %d of %d cases are smaller, said of %q, and where compared %q", spec.Name,
			memory, changed, len(plan.Cases), plan.Smaller, compared.Smaller)
	}
	return changed
}
