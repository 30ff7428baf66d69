package moe_combine

import (
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/ranks"
)

var some = truth.HasElements(1, "tokens")

var _ = truth.Relate("moe_combine",
	truth.Relation{
		Name: "doubled rows double the sums", Pass: op.Forward, Outputs: []string{"y"},
		Applies: some, Second: truth.ScaledBy(2, "rows"), States: truth.Scales(2),
	},
	truth.Relation{
		Name: "rows past those that a rank has change nothing", Pass: op.Forward, Outputs: []string{"y"},
		Applies: some, Second: otherPadding, States: truth.Stays,
	},
	truth.Relation{
		Name: "a doubled upstream gradient doubles the gradient", Pass: op.Backward,
		Outputs: []string{"grad_rows"}, Applies: some,
		Second: truth.ScaledBy(2, "grad_y"), States: truth.Scales(2),
	},
)

// otherPadding sets the rows past those that a rank has to 3.
func otherPadding(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	r, err := ranks.FromChoice(c, first.Get("choice"))
	if err != nil {
		return c, nil // the truth of the case says why
	}
	dim := c.Dims.Get("dim")
	return c, []tensor.Tensor{truth.Changed(first.Get("rows"), func(i int64, v float64) float64 {
		if rank, row := i/dim/r.Room(), i/dim%r.Room(); r.Token(rank, row) < 0 {
			return 3
		}
		return v
	})}
}
