package scan

import (
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// relations returns the relations that hold for every running sum: later elements change nothing at an
// element, and where terms are linear doubled inputs double the sums. Integers wrap there as in the sums.
func (o Operator) relations() []truth.Relation {
	several := truth.HasElements(2, "n")
	all := []truth.Relation{{
		Name: "the first half alone has the sums that it has in the whole", Pass: op.Forward,
		Outputs: []string{o.Output}, Applies: several, Second: o.firstHalf, States: truth.SamePlaces,
	}, {
		Name: "other elements in the second half change nothing in the first", Pass: op.Forward,
		Outputs: []string{o.Output}, Applies: several, Second: o.secondHalfNegated, States: sameFirstHalf,
	}}
	if len(o.Linear) > 0 {
		all = append(all, truth.Relation{
			Name: "doubled inputs double the sums", Pass: op.Forward, Outputs: []string{o.Output},
			Applies: several, Second: o.doubled, States: doubles,
		})
	}
	return all
}

// firstHalf returns the case of the first half of the elements.
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

// secondHalfNegated negates the second half of every input.
func (o Operator) secondHalfNegated(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	n := c.Dims.Get("n")
	var negated []tensor.Tensor
	for _, t := range first {
		if t.Name != o.Output {
			negated = append(negated, truth.Changed(t, func(i int64, v float64) float64 {
				switch {
				case i < n/2:
					return v
				case !t.DType.IsFloat():
					return -1 - v // the lowest has no other sign
				}
				return -v
			}))
		}
	}
	return c, negated
}

// sameFirstHalf states that the first halves of both outputs agree.
func sameFirstHalf(a *truth.Related, output string) judge.Statement {
	at := make([]int64, a.First.Dims.Get("n")/2)
	for i := range at {
		at[i] = int64(i)
	}
	return a.Agree(output, 1, at, func(i int64) int64 { return i })
}

// doubled doubles every element of the linear inputs.
func (o Operator) doubled(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	if isFractional(c) {
		return truth.ScaledBy(2, o.Linear...)(c, first)
	}
	out := make([]tensor.Tensor, len(o.Linear))
	for i, name := range o.Linear {
		out[i] = truth.Changed(first.Get(name), func(_ int64, v float64) float64 {
			return Wrapped(2 * int64(v))
		})
	}
	return c, out
}

// doubles states that every sum is doubled, to the bit.
func doubles(a *truth.Related, output string) judge.Statement {
	if isFractional(a.First.Case) {
		return truth.Scales(2)(a, output)
	}
	y1, y2, target := a.First.Out(output), a.Second.Out(output), a.Second.Target(output)
	if a.Failed() {
		return judge.Statement{}
	}
	return judge.Statement{Shape: target.Shape, N: int64(len(y1)), At: func(i int64) judge.Claim {
		want := Wrapped(2 * int64(y1[i]))
		return judge.Claim{Position: i, Got: y2[i], Low: want, High: want, Bits: true}
	}}
}

// isFractional reports whether a case adds floating-point numbers.
func isFractional(c op.Case) bool {
	d, err := op.ParseDType(c.DType)
	return err == nil && d.IsFloat()
}
