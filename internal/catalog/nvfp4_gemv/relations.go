package nvfp4gemv

import (
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

var outputs = []string{"y"}

var _ = truth.Relate("nvfp4_gemv",
	truth.Relation{
		Name: "every number of x with the other sign gives y with the other sign", Pass: op.Forward,
		Outputs: outputs, Applies: truth.HasElements(1, "m"), Second: otherSigns, States: truth.Scales(-1),
	},
	truth.Relation{
		Name: "twice the scales of x give twice y", Pass: op.Forward, Outputs: outputs,
		Applies: truth.HasElements(1, "m"), Second: truth.ScaledBy(2, "scale_x"), States: truth.Scales(2),
	},
	truth.Relation{
		Name: "groups in the other order give the same", Pass: op.Forward, Outputs: outputs,
		Applies: truth.HasElements(1, "m"), Second: otherOrder, States: truth.SamePlaces,
	},
	truth.Relation{
		Name: "the last row of a alone gives what it gives among others", Pass: op.Forward, Outputs: outputs,
		Applies: truth.HasElements(2, "m"), Second: lastRow, States: truth.LastRowPlaces,
	},
)

// otherSigns flips the signs of both numbers of every byte of x.
func otherSigns(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	return c, []tensor.Tensor{truth.Changed(first.Get("x"), func(_ int64, code float64) float64 {
		return float64(uint8(code) ^ 0x88)
	})}
}

// otherOrder reverses the groups of rows, with their scales.
func otherOrder(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	var turned []tensor.Tensor
	for name, size := range map[string]int64{"a": groupBytes, "x": groupBytes, "scale_a": 1, "scale_x": 1} {
		t := first.Get(name)
		groups := t.Shape[len(t.Shape)-1] / size
		turned = append(turned, truth.Moved(t, t.Shape, func(i int64) int64 {
			g := i / size
			return (g/groups*groups+groups-1-g%groups)*size + i%size
		}))
	}
	return c, turned
}

func lastRow(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	_, alone := truth.LastRow("a", "scale_a")(c, first)
	return truth.WithDims(c, map[string]int64{"m": 1}), alone
}
