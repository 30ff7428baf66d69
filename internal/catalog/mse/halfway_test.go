package mse

import (
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/truth"
	"triad/internal/truth/reduction/reductiontest"
	"triad/internal/truth/truthtest"
)

// TestHalfwayShowsRoundedTerms: a kernel that rounds a term or a partial sum to 16 bits is rejected under
// halfway whatever the seed, where a mean in 16 bits hides it on drawn numbers; the right kernels pass.
func TestHalfwayShowsRoundedTerms(t *testing.T) {
	o, err := truth.Get("mse")
	if err != nil {
		t.Fatal(err)
	}
	s := reductiontest.Suites("mse")[0]
	for _, dtype := range []string{"fp16", "bf16"} {
		c, err := o.Spec.NewCase(op.Case{Pass: op.Forward, DType: dtype, Distribution: "halfway"},
			map[string]int64{"n": 1040}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(40) {
			p := truthtest.PrepareCase(t, s, o.Spec, c, seed)
			for _, a := range s.Right {
				if v, _ := p.Judged(s.Kernel(a, p)); v[0].Status != op.StatusPass {
					t.Errorf("%s seed %d: a right kernel is %v: %s", dtype, seed, v[0].Status, v[0].Sentence)
				}
			}
			for _, m := range s.Mutants {
				if !strings.HasPrefix(m.Name, "term: ") && !strings.HasPrefix(m.Name, "partial ") ||
					!strings.HasSuffix(m.Name, "16 bits") {
					continue
				}
				a := s.Right[0]
				a.Bug = m.Name
				if v, _ := p.Judged(s.Kernel(a, p)); v[0].Status != op.StatusFail {
					t.Errorf("%s seed %d: %s is %v", dtype, seed, m.Name, v[0].Status)
				}
			}
		}
	}
}
