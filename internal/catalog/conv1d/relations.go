package conv1d

import (
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

var _ = truth.Relate("conv1d",
	truth.Relation{
		Name: "doubled rows and bias double the output", ToTheBit: true, Pass: op.Forward,
		Outputs: []string{"y"}, Applies: truth.HasElements(1, "batch"),
		Second: truth.ScaledBy(2, "x", "bias"), States: truth.Scales(2),
	},
	truth.Relation{
		Name: "rows and filters turned round turn the output round", Pass: op.Forward, Outputs: []string{"y"},
		Applies: reachesTheEnd, Second: truth.Reversed("x", "w"), States: truth.ReversedPlaces,
	},
	truth.Relation{
		Name: "the last of a batch alone gives what it gives among others", Pass: op.Forward,
		Outputs: []string{"y"}, Applies: truth.HasElements(2, "batch"), Second: lastAlone,
		States: truth.LastRowPlaces,
	},
	truth.Relation{
		Name: "a doubled upstream gradient doubles the gradients", ToTheBit: true, Pass: op.Backward,
		Outputs: []string{"grad_x", "grad_w"}, Applies: truth.HasElements(1, "batch"),
		Second: truth.ScaledBy(2, "grad_y"), States: truth.Scales(2),
	},
	truth.Relation{
		Name: "a doubled upstream gradient doubles the bias's", ToTheBit: true, Pass: op.Backward,
		Outputs: []string{"grad_bias"},
		Applies: func(c op.Case) bool { return c.Attrs.Text("with_bias") == "true" },
		Second:  truth.ScaledBy(2, "grad_y"), States: truth.Scales(2),
	},
)

// reachesTheEnd reports whether the last place of the filter ends where the padded row does, so that it has a
// mirror image.
func reachesTheEnd(c op.Case) bool {
	left := c.Dims.Get("length") + 2*int64(c.Attrs.Number("padding")) - c.Dims.Get("taps")
	return c.Dims.Get("batch") > 0 && left%int64(c.Attrs.Number("stride")) == 0
}

// lastAlone returns a call with the last of the batch alone.
func lastAlone(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	x := first.Get("x")
	one := x.Shape[1] * x.Shape[2]
	last := func(i int64) int64 { return (x.Shape[0]-1)*one + i }
	alone := truth.Moved(x, []int64{1, x.Shape[1], x.Shape[2]}, last)
	return truth.WithDims(c, map[string]int64{"batch": 1}), []tensor.Tensor{alone}
}
