package softmax

import (
	"fmt"
	"math"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

// TestExactZeros: a masked column and the only column of a row have no gradient.
func TestExactZeros(t *testing.T) {
	inf := math.Inf(1)
	for _, d := range truthtest.LowDTypes {
		for _, x := range []tensor.Tensor{
			truthtest.Literal("x", d, []float64{1, -inf, 2, -inf, -inf, 3}, 2, 3), truthtest.Literal("x", d,
				[]float64{3, 700}, 2, 1),
		} {
			dy := tensor.New("grad_y", d, x.Shape)
			values := make([]float64, dy.Elements())
			for i := range values {
				values[i] = float64(i) - 1.75
			}
			dy.SetFloat64s(values)
			o, err := truth.Get("softmax")
			if err != nil {
				t.Fatal(err)
			}
			for _, saved := range []string{"own", "driver"} {
				c := caseOf(d, op.Backward, x.Shape[0], x.Shape[1])
				c.Saved, c.Distribution = saved, "neg_inf_mask"
				for _, truth := range truthtest.BackwardTruths(t, o, c, []tensor.Tensor{x, dy}) {
					for i, v := range x.Float64s() {
						if math.IsInf(v, -1) || x.Shape[1] == 1 {
							truthtest.ExactlyZero(t, fmt.Sprintf("%v %s %s", d, saved, truth.Contract),
								truth.Outputs[0], i)
						}
					}
				}
			}
		}
	}
}
