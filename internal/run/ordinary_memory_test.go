package run

import (
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// TestMarkOrdinary: one case of each operator, pass and dtype is launched into ordinary numbers: in
// contiguous memory, with elements, and not large.
func TestMarkOrdinary(t *testing.T) {
	const most = 1 << 20
	for _, o := range truth.All() {
		planned, dtypes := plannedOf(t, o, op.Options{Level: op.LevelQuick}), map[string]bool{}
		for i := range planned {
			planned[i].entries = []entry{{}}
			dtypes[ordinaryKey(planned[i])] = true
		}
		if err := markOrdinary(planned); err != nil {
			t.Fatal(err)
		}
		for _, w := range planned {
			if !w.ordinary {
				continue
			}
			elements, _, err := o.Spec.Footprint(w.Case)
			if err != nil || elements == 0 || elements > most || w.Layout != "contiguous" ||
				!dtypes[ordinaryKey(w)] {
				t.Errorf("%s is marked: %d elements, %v", describe(w.Case), elements, err)
			}
			delete(dtypes, ordinaryKey(w))
		}
		if len(dtypes) > 0 {
			t.Errorf("%s: no case is marked for %v", o.Spec.Name, dtypes)
		}
	}
}

// TestOrdinaryLaunch: the launch into ordinary numbers comes last, in the order of the first.
func TestOrdinaryLaunch(t *testing.T) {
	for _, device := range []string{"gpu", "emulator"} {
		plain := work{}.launches(device, op.LevelDefault)
		plan := work{ordinary: true}.launches(device, op.LevelDefault)
		want := backend.LaunchPlan{Poison: tensor.Ordinary, Order: plain[0].Order}
		if len(plan) != len(plain)+1 || plan[len(plain)] != want {
			t.Errorf("%s: %v, want %v and %v", device, plan, plain, want)
		}
	}
}
