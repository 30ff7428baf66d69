package reduction

import (
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// relations returns the relations that hold for every sum: neither its order nor added zeros matter, and a
// gradient is linear in the upstream one.
func (o Operator) relations() []truth.Relation {
	several := truth.HasElements(2, "n")
	same := truth.SamePlaces
	if o.Offsets != "" {
		same = truth.ReversedPlaces
	}
	all := []truth.Relation{{
		Name: "the elements the other way round have the same sum", Pass: op.Forward,
		Outputs: []string{o.Output}, Applies: several, Second: o.reversed, States: same,
	}}
	if len(o.Linear) > 0 {
		all = append(all, truth.Relation{
			Name: "doubled inputs double the sum", Pass: op.Forward, Outputs: []string{o.Output},
			Applies: several, Second: truth.ScaledBy(2, o.Linear...), States: truth.Scales(2),
		})
	}
	if o.Commutes {
		all = append(all, truth.Relation{
			Name: "swapped inputs have the same sum", Pass: op.Forward, Outputs: []string{o.Output},
			Applies: several, Second: o.swapped, States: truth.SamePlaces,
		})
	}
	if len(o.Backward) == 0 {
		return all
	}
	var gradients []string
	for _, g := range o.Backward {
		gradients = append(gradients, g.Name)
	}
	return append(all, truth.Relation{
		Name: "a doubled upstream gradient doubles the gradients", Pass: op.Backward, Outputs: gradients,
		Applies: truth.HasElements(1, "n"), Second: truth.ScaledBy(2, "grad_"+o.Output),
		States: truth.Scales(2),
	})
}

// reversed reverses all inputs, and the segments with them.
func (o Operator) reversed(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	var names []string
	for _, t := range first {
		if t.Name != o.Output && t.Name != o.Offsets {
			names = append(names, t.Name)
		}
	}
	_, turned := truth.Reversed(names...)(c, first)
	if o.Offsets != "" { // the segments come in the other order
		_, offsets := truth.Reversed(o.Offsets)(c, first)
		n := float64(c.Dims.Get("n"))
		turned = append(turned, truth.Changed(offsets[0], func(_ int64, v float64) float64 { return n - v }))
	}
	return c, turned
}

// swapped swaps the values of the two inputs.
func (o Operator) swapped(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	var in []tensor.Tensor
	for _, t := range first {
		if t.Name != o.Output {
			in = append(in, t)
		}
	}
	in[0].Name, in[1].Name = in[1].Name, in[0].Name
	return c, in
}
