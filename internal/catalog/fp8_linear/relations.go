package fp8_linear

import (
	"strings"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

var _ = truth.Relate(name,
	truth.Relation{
		Name: "doubled x doubles y, halves what torchao stores for it, and leaves the scales of w",
		Pass: op.Forward, Outputs: []string{"y", "scale_x", "scale_w"},
		// a small group has the least scale of the recipe, and a large one leaves fp32
		Applies: func(c op.Case) bool {
			return c.Distribution == "normal" && multiplies(c) && c.Attrs.Text("recipe") != "block"
		},
		Second: truth.ScaledBy(2, "x"), States: doubled,
	},
	truth.Relation{
		Name: "negated x negates y and leaves the scales", Pass: op.Forward,
		Outputs: []string{"y", "scale_x", "scale_w"}, Applies: multiplies, Second: truth.ScaledBy(-1, "x"),
		States: negated,
	},
	truth.Relation{
		Name: "the last row of x alone gives what it gives among others", Pass: op.Forward,
		Outputs: []string{"y", "scale_x"},
		Applies: func(c op.Case) bool {
			return truth.HasElements(2, "m")(c) && multiplies(c) && c.Attrs.Text("recipe") != "tensorwise"
		},
		Second: lastRow, States: truth.LastRowPlaces,
	},
	truth.Relation{
		Name: "a negated upstream gradient negates the gradients", Pass: op.Backward,
		Outputs: []string{"grad_x", "grad_w"}, Applies: multiplies, Second: truth.ScaledBy(-1, "grad_y"),
		States: func(a *truth.Related, output string) judge.Statement {
			return a.Agree(output, -1, nil, func(i int64) int64 { return i })
		},
	},
	truth.Relation{
		Name: "the gradient of w does not depend on w", ToTheBit: true, Pass: op.Backward,
		Outputs: []string{"grad_w"}, Applies: multiplies, Second: truth.ScaledBy(-1, "w"),
		States: truth.Stays,
	},
)

func multiplies(c op.Case) bool { return truth.HasElements(1, "m", "n", "k")(c) }

func doubled(a *truth.Related, output string) judge.Statement {
	switch output {
	case "y":
		return truth.Doubles(a, output)
	case "scale_x":
		return a.Equal(output, 0.5, nil)
	}
	return truth.Stays(a, output)
}

func negated(a *truth.Related, output string) judge.Statement {
	if strings.HasPrefix(output, "scale") {
		return truth.Stays(a, output)
	}
	return a.Agree(output, -1, nil, func(i int64) int64 { return i })
}

// lastRow keeps the last row of x.
func lastRow(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	x := first.Get("x")
	before := (x.Shape[0] - 1) * x.Shape[1]
	row := truth.Moved(x, []int64{1, x.Shape[1]}, func(i int64) int64 { return before + i })
	return truth.WithDims(c, map[string]int64{"m": 1}), []tensor.Tensor{row}
}
