package experts

import (
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// relations returns the relations that hold for every mixture (gate G6).
func relations() []truth.Relation {
	some := truth.HasElements(1, "tokens")
	return []truth.Relation{
		{
			Name: "doubled down matrices double the output", ToTheBit: true, Pass: op.Forward,
			Outputs: []string{"y"}, Applies: some, Second: truth.ScaledBy(2, "down"), States: truth.Doubles,
		},
		{
			Name: "the last token alone gives what it gives among others", Pass: op.Forward,
			Outputs: []string{"y"}, Applies: truth.HasElements(2, "tokens"), Second: lastToken,
			States: truth.LastRowPlaces,
		},
		{
			Name: "experts in the other order give the same", Pass: op.Forward, Outputs: []string{"y"},
			Applies: some, Second: otherOrder, States: truth.SamePlaces,
		},
		{
			Name: "a doubled upstream gradient doubles the gradients", ToTheBit: true, Pass: op.Backward,
			Outputs: []string{"grad_x", "grad_router", "grad_gate", "grad_up", "grad_down"},
			Applies: some, Second: truth.ScaledBy(2, "grad_y"), States: truth.Doubles,
		},
	}
}

func lastToken(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	_, alone := truth.LastRow("x")(c, first)
	return truth.WithDims(c, map[string]int64{"tokens": 1}), alone
}

// otherOrder reverses the order of the experts.
func otherOrder(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	var turned []tensor.Tensor
	for _, name := range []string{"router", "gate", "up", "down"} {
		t := first.Get(name)
		of := t.Elements() / t.Shape[0]
		turned = append(turned, truth.Moved(t, t.Shape, func(i int64) int64 {
			return (t.Shape[0]-1-i/of)*of + i%of
		}))
	}
	return c, turned
}
