package fp8gemm

import (
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

var _ = truth.Relate("fp8_gemm",
	truth.Relation{
		Name: "doubled scales of a double the product", ToTheBit: true, Pass: op.Forward,
		Outputs: []string{"c"},
		Applies: truth.HasElements(1, "m", "n", "k"), Second: truth.ScaledBy(2, "scale_a"),
		States: truth.Scales(2),
	},
	truth.Relation{
		Name: "halved scales of b halve the product", ToTheBit: true, Pass: op.Forward,
		Outputs: []string{"c"},
		Applies: truth.HasElements(1, "m", "n", "k"), Second: truth.ScaledBy(0.5, "scale_b"),
		States: truth.Scales(0.5),
	},
	truth.Relation{
		Name: "permuting the rows of a permutes those of the product", Pass: op.Forward,
		Outputs: []string{"c"}, Applies: truth.HasElements(1, "m", "n", "k"), Second: productReversed,
		States: productReversedRows,
	},
	truth.Relation{
		Name: "zeros for a give zeros", Pass: op.Forward, Outputs: []string{"c"},
		Applies: truth.HasElements(1, "m", "n", "k"), Second: truth.ScaledBy(0, "a"), States: productZero,
	},
	truth.Relation{
		Name: "doubled scales of the upstream gradient double the gradients", ToTheBit: true,
		Pass:    op.Backward,
		Outputs: []string{"grad_a", "grad_b"}, Applies: truth.HasElements(1, "m", "n", "k"),
		Second: truth.ScaledBy(2, "scale_g", "scale_gt"), States: truth.Scales(2),
	},
	truth.Relation{
		Name: "halved scales of b halve the gradient of a", ToTheBit: true, Pass: op.Backward,
		Outputs: []string{"grad_a"},
		Applies: truth.HasElements(1, "m", "n", "k"), Second: truth.ScaledBy(0.5, "scale_bt"),
		States: truth.Scales(0.5),
	},
	truth.Relation{
		Name: "the gradient of b does not depend on b", ToTheBit: true, Pass: op.Backward,
		Outputs: []string{"grad_b"},
		Applies: truth.HasElements(1, "m", "n", "k"), Second: truth.ScaledBy(0.5, "scale_bt"),
		States: truth.Stays,
	},
)

// productReversed turns the rows of a round, and their scales where each row has its own.
func productReversed(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	a, scale := first.Get("a"), first.Get("scale_a")
	replaced := []tensor.Tensor{truth.Moved(a, a.Shape, reversedRows(a.Shape))}
	if c.Attrs.Text("scaling") != "tensor" {
		replaced = append(replaced, truth.Moved(scale, scale.Shape, reversedRows(scale.Shape)))
	}
	return c, replaced
}

// reversedRows is the position with the rows of a tensor, along its first dim, the other way round.
func reversedRows(shape []int64) func(i int64) int64 {
	perRow := int64(1)
	for _, n := range shape[1:] {
		perRow *= n
	}
	return func(i int64) int64 { return (shape[0]-1-i/perRow)*perRow + i%perRow }
}

func productReversedRows(a *truth.Related, output string) judge.Statement {
	shape := a.First.Target(output).Shape
	if a.Failed() {
		return judge.Statement{}
	}
	return a.Agree(output, 1, nil, reversedRows(shape))
}

func productZero(a *truth.Related, output string) judge.Statement {
	y := a.Second.Out(output)
	return judge.Statement{
		Shape: a.Second.Target(output).Shape, N: int64(len(y)),
		At: func(i int64) judge.Claim {
			return judge.Claim{Position: i, Got: y[i]}
		},
	}
}
