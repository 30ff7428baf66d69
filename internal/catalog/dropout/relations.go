package dropout

import (
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// Relations that must hold for all inputs: gate G6 checks them.
var _ = truth.Relate("dropout",
	truth.Relation{
		Name: "doubled inputs double the output", Pass: op.Forward, Outputs: []string{"y"},
		Applies: truth.HasElements(1, "n"), Second: truth.ScaledBy(2, "x"), States: truth.Scales(2),
	},
	truth.Relation{
		Name: "the second half alone, with a later offset, gives what it gives behind the first",
		Pass: op.Forward, Outputs: []string{"y", "mask"},
		Applies: truth.HasElements(8, "n"), Second: later, States: truth.LastRowPlaces,
	},
	truth.Relation{
		Name: "a doubled upstream gradient doubles the gradient", Pass: op.Backward,
		Outputs: []string{"grad_x"}, Applies: truth.HasElements(1, "n"),
		Second: truth.ScaledBy(2, "grad_y"), States: truth.Scales(2),
	},
)

// later returns the case of the second half, from a multiple of 4 on: a counter serves four elements.
func later(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	x := first.Get("x")
	n := x.Elements()
	blocks := n / 8
	half := truth.WithDims(c, map[string]int64{"n": n - 4*blocks})
	half = truth.WithNumber(half, "offset", func(v float64) float64 { return v + float64(blocks) })
	return half, []tensor.Tensor{
		truth.Moved(x, []int64{n - 4*blocks}, func(i int64) int64 { return 4*blocks + i }),
	}
}
