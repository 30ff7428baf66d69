package swiglu

import (
	"fmt"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

// TestRightKernelHasNoBias: a right fp32 kernel on many elements gets no warning, in any dtype, on any data
// with a check of slopes. Where sigmoid is 1 except for what fp32 cannot hold, the truth lies just below a
// tie for many elements: on `scaled` data that was taken for a bias.
func TestRightKernelHasNoBias(t *testing.T) {
	o, err := truth.Get("swiglu")
	if err != nil {
		t.Fatal(err)
	}
	const rows, cols = 128, 14336
	asked := 0
	for _, d := range truthtest.LowDTypes {
		for _, distribution := range []string{"normal", "scaled"} {
			c, err := o.Spec.NewCase(op.Case{Pass: op.Forward, DType: d.String(), Distribution: distribution},
				map[string]int64{"rows": rows, "cols": cols}, nil)
			if err != nil {
				t.Fatal(err)
			}
			in := truthtest.CaseInputs(t, o.Spec, c, 0)
			gate, up := in[0].Float64s(), in[1].Float64s()
			y := make([]float64, len(gate))
			parallel.Each(len(y), func(i int) { y[i] = forward32(gate[i], up[i]) })
			known, err := o.TruthByRows(c, "fp32", in)
			if err != nil {
				t.Fatal(err)
			}
			target := known.Outputs[0]
			data := tensor.Encode(d, y)
			launch := func(poison string) judge.Launch {
				return judge.Launch{
					Poison: poison, InputsUnchanged: true, GuardsIntact: true,
					Outputs: []judge.Returned{{
						Name: "y", Present: true,
						DType: d, Shape: target.Shape, Stride: tensor.Contiguous(target.Shape), Data: data,
					}},
				}
			}
			plan := judge.Plan{
				Outputs:  []op.TensorType{{Name: "y", DType: d, Shape: target.Shape}},
				Launches: 2,
			}
			v := judge.Judge(plan, judge.Answer{Launches: []judge.Launch{launch("a"), launch("b")}}, known)[0]
			if v.Status != op.StatusPass {
				t.Errorf("%s: %v %s: %s (%+v)", fmt.Sprint(d, " ", distribution), v.Status, v.Gate,
					v.Sentence, v.Bias)
			}
			if v.Bias.Evaluated {
				asked++
			}
		}
	}
	if asked != len(truthtest.LowDTypes)*2 {
		t.Errorf("the slope of %d outputs was asked, want that of %d", asked, len(truthtest.LowDTypes)*2)
	}
}
