package timing_test

import (
	"errors"
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
// smaller, and its dims are said. Dims that are asked for stay; what no halving makes fit is left out.
func TestPointsThatDoNotFit(t *testing.T) {
	softmax, _ := catalog.Get("softmax")
	for _, memory := range []int64{8 << 30, 1 << 30, 1 << 20} {
		plan, err := timing.BenchCases(softmax.Spec, op.Options{Memory: memory})
		if err != nil || len(plan.Cases) == 0 || len(plan.Skipped) > 0 {
			t.Fatalf("%d bytes: %v, %d cases, %d skipped", memory, err, len(plan.Cases), len(plan.Skipped))
		}
		whole, err := timing.BenchCases(softmax.Spec, op.Options{})
		if err != nil {
			t.Fatal(err)
		}
		own := map[string]bool{}
		for _, c := range whole.Cases {
			own[c.Key()] = true
		}
		changed := 0
		for _, c := range plan.Cases {
			_, bytes, err := softmax.Spec.Footprint(c)
			if err != nil || 2*bytes > memory || !own[c.Key()] && 4*bytes <= memory {
				t.Errorf("%d bytes: %v: %d bytes a set, %v", memory, c.Dims, bytes, err)
			}
			if !own[c.Key()] {
				changed++
			}
		}
		if changed != len(plan.Smaller) || (changed > 0) != (memory < 8<<30) {
			t.Errorf("%d bytes: %d of %d cases are smaller, said of %q", memory, changed, len(plan.Cases),
				plan.Smaller)
		}
	}
	asked := op.Options{Memory: 1 << 20, Dims: map[string]int64{"rows": 1 << 13, "cols": 1 << 13}}
	if plan, err := timing.BenchCases(softmax.Spec, asked); err != nil || len(plan.Cases) != 0 ||
		len(plan.Skipped) != 2 || len(plan.Smaller) != 0 {
		t.Errorf("dims that were asked for: %v, %v", plan, err)
	}
	plan := timing.CompareCases(softmax.Spec, op.Options{Memory: 1 << 20})
	if len(plan.Cases) != 2 || len(plan.Smaller) != 2 ||
		!strings.Contains(plan.Smaller[0], "softmax forward bf16 is timed at a smaller size, rows=") {
		t.Errorf("a comparison: %v", plan)
	}
	for _, name := range catalog.Names() {
		o, err := catalog.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		if plan, err := timing.BenchCases(o.Spec, op.Options{Memory: 6 << 30}); err != nil ||
			len(plan.Skipped) > 0 {
			t.Errorf("%s on a card of 6 GiB: %v, left out: %v", name, err, plan.Skipped)
		}
	}
}
