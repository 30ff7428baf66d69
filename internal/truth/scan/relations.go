package scan

import (
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// relations hold of every running sum: what follows an element changes nothing at it, and where terms are
// linear doubled inputs double the sums.
func (o Operator) relations() []truth.Relation {
	several := truth.HasElements(2, "n")
	all := []truth.Relation{{
		Name: "the first half alone has the sums that it has in the whole", Pass: op.Forward,
		Outputs: []string{o.Output}, Applies: several, Second: o.firstHalf, States: truth.SamePlaces,
	}}
	if len(o.Linear) > 0 {
		all = append(all, truth.Relation{
			Name: "doubled inputs double the sums", Pass: op.Forward, Outputs: []string{o.Output},
			Applies: several, Second: truth.ScaledBy(2, o.Linear...), States: truth.Scales(2),
		})
	}
	return all
}

// firstHalf is the case of the first half of the elements.
func (o Operator) firstHalf(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	n := c.Dims.Get("n") / 2
	var half []tensor.Tensor
	for _, t := range first {
		if t.Name != o.Output {
			half = append(half, truth.Moved(t, []int64{n}, func(i int64) int64 { return i }))
		}
	}
	return truth.WithDims(c, map[string]int64{"n": n}), half
}
