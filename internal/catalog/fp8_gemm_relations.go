package catalog

import (
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
)

var _ = relate("fp8_gemm",
	Relation{Name: "doubled scales of a double the product", Pass: op.Forward, Outputs: []string{"c"}, Applies: hasElements(1, "m", "n", "k"),
		Second: scaledBy(2, "scale_a"), States: scales(2)},
	Relation{Name: "halved scales of b halve the product", Pass: op.Forward, Outputs: []string{"c"}, Applies: hasElements(1, "m", "n", "k"),
		Second: scaledBy(0.5, "scale_b"), States: scales(0.5)},
	Relation{Name: "permuting the rows of a permutes those of the product", Pass: op.Forward, Outputs: []string{"c"}, Applies: hasElements(1, "m", "n", "k"),
		Second: productReversed, States: productReversedRows},
	Relation{Name: "zeros for a give zeros", Pass: op.Forward, Outputs: []string{"c"}, Applies: hasElements(1, "m", "n", "k"),
		Second: scaledBy(0, "a"), States: productZero},
	Relation{Name: "doubled scales of the upstream gradient double the gradients", Pass: op.Backward, Outputs: []string{"grad_a", "grad_b"},
		Applies: hasElements(1, "m", "n", "k"), Second: scaledBy(2, "scale_g", "scale_gt"), States: scales(2)},
	Relation{Name: "halved scales of b halve the gradient of a", Pass: op.Backward, Outputs: []string{"grad_a"}, Applies: hasElements(1, "m", "n", "k"),
		Second: scaledBy(0.5, "scale_bt"), States: scales(0.5)},
	Relation{Name: "the gradient of b does not depend on b", Pass: op.Backward, Outputs: []string{"grad_b"}, Applies: hasElements(1, "m", "n", "k"),
		Second: scaledBy(0.5, "scale_bt"), States: stays},
)

// productReversed turns the rows of a round, and their scales where each row has its own.
func productReversed(c op.Case, first Inputs) (op.Case, []tensor.Tensor) {
	a, scale := first.Get("a"), first.Get("scale_a")
	replaced := []tensor.Tensor{moved(a, a.Shape, reversedRows(a.Shape))}
	if c.Attrs.Text("scaling") != "tensor" {
		replaced = append(replaced, moved(scale, scale.Shape, reversedRows(scale.Shape)))
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

func productReversedRows(a *Related, output string) judge.Statement {
	shape := a.First.Target(output).Shape
	if a.failed() {
		return judge.Statement{}
	}
	return a.agree(output, 1, nil, reversedRows(shape))
}

func productZero(a *Related, output string) judge.Statement {
	y := a.Second.Out(output)
	return judge.Statement{Shape: a.Second.Target(output).Shape, N: int64(len(y)), At: func(i int64) judge.Claim {
		return judge.Claim{Position: i, Got: y[i]}
	}}
}
