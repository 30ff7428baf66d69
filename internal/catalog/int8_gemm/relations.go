package int8gemm

import (
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

var outputs = []string{"c"}

var _ = truth.Relate("int8_gemm",
	truth.Relation{
		Name: "both operands turned round and exchanged give the product turned round", Pass: op.Forward,
		Outputs: outputs, Applies: truth.HasElements(1, "m"), Second: exchanged, States: turned,
	},
	truth.Relation{
		Name: "the zero point everywhere in a gives that of c", Pass: op.Forward, Outputs: outputs,
		Applies: truth.HasElements(1, "m"), Second: onlyZeroPoints, States: zeroPoints,
	},
	truth.Relation{
		Name: "the last row of a alone gives what it gives among others", Pass: op.Forward, Outputs: outputs,
		Applies: truth.HasElements(2, "m"), Second: lastRow, States: truth.LastRowPlaces,
	},
)

// exchanged multiplies b^T by a^T, with the scales and zero points that belong to them.
func exchanged(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	a, b := transposed(first.Get("b")), transposed(first.Get("a"))
	a.Name, b.Name = "a", "b"
	exchange := map[string]string{
		"scale_a": "scale_b",
		"scale_b": "scale_a",
		"zero_a":  "zero_b",
		"zero_b":  "zero_a",
	}
	attributes := slices.Clone(c.Attrs)
	for i, own := range attributes {
		if other, ok := c.Attrs.Lookup(exchange[own.Name]); ok {
			attributes[i].Number, attributes[i].Text = other.Number, other.Text
		}
	}
	c.Attrs = attributes
	return truth.WithDims(c, map[string]int64{"m": a.Shape[0], "n": b.Shape[1]}), []tensor.Tensor{a, b}
}

func transposed(t tensor.Tensor) tensor.Tensor {
	rows, cols := t.Shape[0], t.Shape[1]
	return truth.Moved(t, []int64{cols, rows}, func(i int64) int64 { return i%rows*cols + i/rows })
}

// turned states that the second output is the transpose of the first.
func turned(a *truth.Related, output string) judge.Statement {
	shape := a.First.Target(output).Shape
	if a.Failed() {
		return judge.Statement{}
	}
	return a.Agree(output, 1, nil, func(i int64) int64 { return i%shape[0]*shape[1] + i/shape[0] })
}

func onlyZeroPoints(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	zero := c.Attrs.Number("zero_a")
	return c, []tensor.Tensor{truth.Changed(first.Get("a"), func(int64, float64) float64 { return zero })}
}

// zeroPoints states that every element of the second call is the zero point of c.
func zeroPoints(a *truth.Related, output string) judge.Statement {
	c, zero := a.Second.Out(output), a.Second.Case.Attrs.Number("zero_c")
	return judge.Statement{
		Shape: a.Second.Target(output).Shape, N: int64(len(c)),
		At: func(i int64) judge.Claim { return judge.Claim{Position: i, Got: c[i], Low: zero, High: zero} },
	}
}

func lastRow(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	_, alone := truth.LastRow("a")(c, first)
	return truth.WithDims(c, map[string]int64{"m": 1}), alone
}
