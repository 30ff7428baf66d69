package trial

import (
	"testing"

	"triad/internal/catalog"
	"triad/internal/op"
)

// TestWholeTiles: every operator has sizes of whole tiles: multiples of a tile, and different where those
// that tell interpretations apart are.
func TestWholeTiles(t *testing.T) {
	for _, name := range catalog.Names() {
		operator, err := catalog.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		spec := operator.Spec
		o := op.Options{Level: op.LevelQuick, Device: "cpu", Distributions: []string{"normal"}}
		telling, whole := smallestTelling(spec, o), wholeTiles(spec, o)
		for dim, n := range whole {
			if n != telling[dim] && n%64 != 0 {
				t.Errorf("%s: %s=%d is no whole tile", name, dim, n)
			}
			for other, m := range whole {
				if telling[dim] != telling[other] && n == m {
					t.Errorf("%s: %s and %s are both %d", name, dim, other, n)
				}
			}
		}
		o.Dims = whole
		if plan, err := spec.Expand(o); err != nil || len(plan.Cases) == 0 {
			t.Errorf("%s has no case at %v (%v)", name, whole, err)
		}
	}
}
