package catalog

import (
	"fmt"
	"math"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/workload"
)

// backwardTruth is the truth of a backward under every contract of the operator, with the driver's saved tensors where the case asks for them.
func backwardTruths(t *testing.T, o *Operator, c op.Case, in []tensor.Tensor) []judge.Truth {
	t.Helper()
	if c.Saved == "driver" {
		saved, err := Saved(o.Spec, c, in)
		if err != nil {
			t.Fatal(err)
		}
		if in, err = BackwardInputs(o.Spec, append(append([]tensor.Tensor(nil), in...), saved...)); err != nil {
			t.Fatal(err)
		}
	}
	var all []judge.Truth
	for _, contract := range append([]string{o.Spec.DefaultContract(c.DType)}, o.Spec.Contract.Permits...) {
		truth, err := TruthOf(c, contract, in, nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, truth)
	}
	return all
}

// exactlyZero asks that an element be 0 and that nothing else be accepted.
func exactlyZero(t *testing.T, what string, target judge.Target, i int) {
	t.Helper()
	if target.R[i] != 0 || target.T[i] != 0 || target.TFP32[i] != 0 || target.Sim[i] != 0 {
		t.Errorf("%s: %s element %d: R %g, T %g, TFP32 %g, sim %g, want 0 alone", what, target.Name, i, target.R[i], target.T[i], target.TFP32[i], target.Sim[i])
	}
}

// TestZeroUpstream: where nothing comes from above every gradient of every operator is exactly 0.
func TestZeroUpstream(t *testing.T) {
	for _, o := range All() {
		plan, err := o.Spec.Expand(op.Options{Level: op.LevelQuick, Passes: []op.Pass{op.Backward}, Upstreams: []string{"zeros"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range plan.Cases {
			in, err := workload.Inputs(o.Spec, c, 3)
			if err != nil {
				t.Fatal(err)
			}
			for _, truth := range backwardTruths(t, o, c, in) {
				for _, target := range truth.Outputs {
					for i := range target.R {
						if exactlyZero(t, fmt.Sprintf("%s %s %v %s %s", c.Op, c.DType, c.Dims, c.Saved, truth.Contract), target, i); t.Failed() {
							return
						}
					}
				}
			}
		}
	}
}

// TestAttentionExactZeros: rows that see no key have no gradient, keys that no contributing query sees have none, columns of v that nothing
// comes from above for have none; what does contribute has an allowance.
func TestAttentionExactZeros(t *testing.T) {
	o, err := Get("flash_attention")
	if err != nil {
		t.Fatal(err)
	}
	const seqQ, seqKV, dim, hot = 9, 6, 8, 5 // queries 0, 1, 2 see no key; query 5 sees keys 0, 1, 2
	dims := map[string]int64{"batch": 1, "heads_q": 2, "heads_kv": 1, "seq_q": seqQ, "seq_kv": seqKV, "head_dim": dim}
	for _, dtype := range o.Spec.DTypes {
		for _, saved := range []string{"own", "driver"} {
			c, err := o.Spec.NewCase(op.Case{Pass: op.Backward, DType: dtype, Saved: saved}, dims, map[string]string{"causal": "true"})
			if err != nil {
				t.Fatal(err)
			}
			in, err := workload.Inputs(o.Spec, c, 3)
			if err != nil {
				t.Fatal(err)
			}
			for _, truth := range backwardTruths(t, o, c, in) {
				what := fmt.Sprintf("%s %s %s", dtype, saved, truth.Contract)
				for row := range 2 * seqQ {
					for e := range dim {
						if at := row*dim + e; row%seqQ < seqQ-seqKV {
							exactlyZero(t, what+" masked row", truth.Outputs[0], at)
						} else if truth.Outputs[0].T[at] == 0 {
							t.Errorf("%s: grad_q of row %d has no allowance", what, row)
						}
					}
				}
			}
			upstream := in[len(in)-1]
			values := make([]float64, upstream.Elements())
			values[hot*dim+3] = 1
			upstream.SetFloat64s(values)
			for _, truth := range backwardTruths(t, o, c, in) {
				what := fmt.Sprintf("%s %s %s one hot", dtype, saved, truth.Contract)
				dk, dv := truth.Outputs[1], truth.Outputs[2]
				for j := range seqKV {
					for e := range dim {
						future := j > hot+seqKV-seqQ
						if future {
							exactlyZero(t, what+" future key", dk, j*dim+e)
						}
						if future || e != 3 {
							exactlyZero(t, what+" nothing from above", dv, j*dim+e)
						} else if dv.T[j*dim+e] == 0 {
							t.Errorf("%s: grad_v[%d, 3] has no allowance", what, j)
						}
					}
				}
			}
		}
	}
}

// TestSoftmaxExactZeros: a masked column and the only column of a row have no gradient.
func TestSoftmaxExactZeros(t *testing.T) {
	inf := math.Inf(1)
	for _, d := range lowDTypes {
		for _, x := range []tensor.Tensor{literal("x", d, []float64{1, -inf, 2, -inf, -inf, 3}, 2, 3), literal("x", d, []float64{3, 700}, 2, 1)} {
			dy := tensor.New("grad_y", d, x.Shape)
			values := make([]float64, dy.Elements())
			for i := range values {
				values[i] = float64(i) - 1.75
			}
			dy.SetFloat64s(values)
			o, err := Get("softmax")
			if err != nil {
				t.Fatal(err)
			}
			for _, saved := range []string{"own", "driver"} {
				c := softmaxCase(d, op.Backward, x.Shape[0], x.Shape[1])
				c.Saved, c.Distribution = saved, "neg_inf_mask"
				for _, truth := range backwardTruths(t, o, c, []tensor.Tensor{x, dy}) {
					for i, v := range x.Float64s() {
						if math.IsInf(v, -1) || x.Shape[1] == 1 {
							exactlyZero(t, fmt.Sprintf("%v %s %s", d, saved, truth.Contract), truth.Outputs[0], i)
						}
					}
				}
			}
		}
	}
}
