package truth

import (
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
)

// reversedColumns returns the position with the columns of a row reversed.
func reversedColumns(cols int64) func(i int64) int64 {
	return func(i int64) int64 { return i/cols*cols + cols - 1 - i%cols }
}

// RowsAndColumns reports whether a case has at least two rows and an element in each.
func RowsAndColumns(c op.Case) bool { return HasElements(2, "rows")(c) && HasElements(1, "cols")(c) }

// CoarseInputs returns the Base of a relation that adds to its inputs: the additions must be exact.
func CoarseInputs(name string) func(Inputs) []tensor.Tensor {
	return func(in Inputs) []tensor.Tensor { return []tensor.Tensor{coarse(in.Get(name))} }
}

// Shifted adds 16, exactly: coarse inputs are multiples of 1/8 within +-3.
func Shifted(name string) func(op.Case, Inputs) (op.Case, []tensor.Tensor) {
	return func(c op.Case, first Inputs) (op.Case, []tensor.Tensor) {
		return c, []tensor.Tensor{Changed(first.Get(name),
			func(_ int64, v float64) float64 { return v + 16 })}
	}
}

// SamePlaces states that the outputs of both calls agree element by element.
func SamePlaces(a *Related, output string) judge.Statement { return a.Agree(output, 1, nil, itself) }

// Reversed reverses the columns of some inputs.
func Reversed(names ...string) func(op.Case, Inputs) (op.Case, []tensor.Tensor) {
	return func(c op.Case, first Inputs) (op.Case, []tensor.Tensor) {
		var out []tensor.Tensor
		for _, name := range names {
			t := first.Get(name)
			out = append(out, Moved(t, t.Shape, reversedColumns(t.Shape[len(t.Shape)-1])))
		}
		return c, out
	}
}

// ReversedPlaces states that the outputs of both calls agree, with the columns of one reversed.
func ReversedPlaces(a *Related, output string) judge.Statement {
	shape := a.First.Target(output).Shape
	if a.Failed() {
		return judge.Statement{}
	}
	return a.Agree(output, 1, nil, reversedColumns(shape[len(shape)-1]))
}

// LastRow keeps the last row of inputs that have one a row of the case.
func LastRow(names ...string) func(op.Case, Inputs) (op.Case, []tensor.Tensor) {
	return func(c op.Case, first Inputs) (op.Case, []tensor.Tensor) {
		var out []tensor.Tensor
		for _, name := range names {
			t := first.Get(name)
			before := (t.Shape[0] - 1) * t.Shape[1]
			out = append(out, Moved(t, []int64{1, t.Shape[1]}, func(i int64) int64 { return before + i }))
		}
		return WithDims(c, map[string]int64{"rows": 1}), out
	}
}

// LastRowPlaces states that the second call returns the last row of the first.
func LastRowPlaces(a *Related, output string) judge.Statement {
	first, second := a.First.Target(output), a.Second.Target(output)
	if a.Failed() {
		return judge.Statement{}
	}
	before := first.Elements() - second.Elements()
	return a.Agree(output, 1, nil, func(i int64) int64 { return before + i })
}

// NotNegative states that no element of an output is below 0.
func NotNegative(a *Related, output string) judge.Statement {
	y, off := a.First.Out(output), a.First.Error(output)
	if a.Failed() {
		return judge.Statement{}
	}
	at := func(i int64) judge.Claim {
		return judge.Claim{Position: i, Got: y[i], Low: -off(i), High: math.Inf(1)}
	}
	return judge.Statement{Shape: a.First.Target(output).Shape, N: int64(len(y)), At: at}
}
