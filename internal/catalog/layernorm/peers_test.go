package layernorm

import (
	"math"
	"slices"
	"testing"

	"triad/internal/op"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

// TestPeersKnowRightFromWrong: every rule accepts the reference itself and rejects NaN, zeros and unwritten
// elements.
func TestPeersKnowRightFromWrong(t *testing.T) {
	t.Setenv("TRIAD_MUTATION_PEERS", "1")
	s := suites[0]
	o, err := truth.Get(s.Op)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := o.Spec.Expand(op.Options{Passes: []op.Pass{s.Pass}, Level: op.LevelQuick})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range plan.Cases {
		if c.Distribution != "normal" || c.Dims.Get("rows") == 0 || c.Dims.Get("cols") < 7 {
			continue
		}
		p := truthtest.PrepareCase(t, s, o.Spec, c, 1)
		truth := p.Truth.Outputs
		for _, r := range truthtest.Peers {
			if !r.Accepts(p, p.Launch([][]float64{truth[0].R, truth[1].R, truth[2].R}, "a").Outputs) {
				t.Errorf("%s rejects the reference of %s", r.Name, truthtest.Describe(c))
			}
			for what, v := range map[string]float64{
				"NaN": math.NaN(), "zeros": 0,
				"poison": truthtest.Unwritten,
			} {
				y := slices.Repeat([]float64{v}, len(truth[0].R))
				if r.Accepts(p, p.Launch([][]float64{y, truth[1].R, truth[2].R}, "a").Outputs) {
					t.Errorf("%s accepts %s for %s", r.Name, what, truthtest.Describe(c))
				}
			}
		}
	}
}
