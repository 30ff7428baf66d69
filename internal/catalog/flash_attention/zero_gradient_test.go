package flashattention

import (
	"fmt"
	"slices"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
	"triad/internal/workload"
)

// TestExactZeros: rows that see no key have no gradient, nor do keys that no contributing query sees, nor
// columns of v whose upstream gradient is 0; whatever contributes has an error bound.
func TestExactZeros(t *testing.T) {
	o, err := truth.Get("flash_attention")
	if err != nil {
		t.Fatal(err)
	}
	const seqQ, seqKV, dim, hot = 9, 6, 8, 5 // queries 0, 1, 2 see no key; query 5 sees keys 0, 1, 2
	dims := map[string]int64{
		"batch": 1, "heads_q": 2, "heads_kv": 1, "seq_q": seqQ, "seq_kv": seqKV,
		"head_dim": dim,
	}
	for _, dtype := range o.Spec.DTypes {
		for _, saved := range []string{"own", "driver"} {
			c, err := o.Spec.NewCase(op.Case{Pass: op.Backward, DType: dtype, Saved: saved}, dims,
				map[string]string{"causal": "true"})
			if err != nil {
				t.Fatal(err)
			}
			in, err := workload.Inputs(o.Spec, c, 3)
			if err != nil {
				t.Fatal(err)
			}
			k := in[slices.IndexFunc(in, func(x tensor.Tensor) bool { return x.Name == "k" })].Float64s()
			for _, truth := range truthtest.BackwardTruths(t, o, c, in) {
				what := fmt.Sprintf("%s %s %s", dtype, saved, truth.Contract)
				for row := range 2 * seqQ {
					for e := range dim {
						if at := row*dim + e; row%seqQ < seqQ-seqKV {
							truthtest.ExactlyZero(t, what+" masked row", truth.Outputs[0], at)
						} else if truth.Outputs[0].T[at] == 0 && (row%seqQ > seqQ-seqKV || k[e] != 0) {
							t.Errorf("%s: grad_q of row %d has no error bound", what, row)
						}
					}
				}
			}
			upstream := in[len(in)-1]
			values := make([]float64, upstream.Elements())
			values[hot*dim+3] = 1
			upstream.SetFloat64s(values)
			for _, truth := range truthtest.BackwardTruths(t, o, c, in) {
				what := fmt.Sprintf("%s %s %s one hot", dtype, saved, truth.Contract)
				dk, dv := truth.Outputs[1], truth.Outputs[2]
				for j := range seqKV {
					for e := range dim {
						future := j > hot+seqKV-seqQ
						if future {
							truthtest.ExactlyZero(t, what+" future key", dk, j*dim+e)
						}
						if future || e != 3 {
							truthtest.ExactlyZero(t, what+" nothing from above", dv, j*dim+e)
						} else if dv.T[j*dim+e] == 0 {
							t.Errorf("%s: grad_v[%d, 3] has no error bound", what, j)
						}
					}
				}
			}
		}
	}
}
