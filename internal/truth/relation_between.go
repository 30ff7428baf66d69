package truth

import (
	"math"
	"slices"
	"strconv"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
)

// Agree states that the elements of the second call's output are, within the error bound, `by` times those of
// the first that from names: both lie in the interval [RN(R-T), RN(R+T)] of the first call's R, with the
// larger of both calls' T. at lists the elements of the second call's output that the relation covers; nil:
// all of them.
func (a *Related) Agree(output string, by float64, at []int64, from func(i int64) int64) judge.Statement {
	t1, t2, y1, y2 := a.First.Target(output), a.Second.Target(output), a.First.Out(output),
		a.Second.Out(output)
	if a.Failed() {
		return judge.Statement{}
	}
	n := countOf(at, len(y2))
	s := judge.Statement{Shape: t2.Shape, N: n}
	if a.based {
		s.N = 2 * n // the first call is not judged yet
	}
	s.At = func(i int64) judge.Claim {
		second := PlaceOf(at, i%n)
		first := from(second)
		errorBound := math.Max(math.Abs(by)*t1.T[first], t2.T[second])
		c := judge.Claim{Position: second, Got: y2[second]}
		if i >= n {
			c.Got = y1[first]
			c.Low, c.High = t1.Interval(t1.R[first], t1.T[first])
			return c
		}
		c.Low, c.High = t2.Interval(by*t1.R[first], errorBound)
		return c
	}
	return s
}

// Equal states that the elements of the second call are `by` times those of the first, to the bit where by (a
// power of two) cannot cause rounding: below the normal range of the output's dtype both calls round at the
// same place, so that they may differ by that, and beyond its range both overflow. Where the output's bits
// may vary anyway, or the contract stores an intermediate in a dtype whose subnormals the scale reaches, it
// is agree.
func (a *Related) Equal(output string, by float64, at []int64) judge.Statement {
	if a.Loose || by != 1 && a.roundsScaled() {
		return a.Agree(output, by, at, itself)
	}
	// of both calls, which have the same sizes
	t, y1, y2 := a.First.Target(output), a.First.Out(output), a.Second.Out(output)
	if a.Failed() {
		return judge.Statement{}
	}
	format, _ := tensor.FormatOf(t.DType)
	least := math.Ldexp(math.Max(1, 1/math.Abs(by)), format.EMin)
	return judge.Statement{Shape: t.Shape, N: countOf(at, len(y2)), At: func(i int64) judge.Claim {
		i = PlaceOf(at, i)
		want := by * y1[i]
		c := judge.Claim{Position: i, Got: y2[i], Low: t.Round(want), High: t.Round(want), Bits: by == 1}
		if by != 1 && math.Abs(y1[i]) <= least { // least itself may have been rounded up to
			slack := (math.Abs(by) + 1) * format.SmallestSubnormal()
			if t.FTZ {
				slack = (math.Abs(by) + 1) * math.Max(judge.Tiny, slack)
			}
			c.Low, c.High = want-slack, want+slack
		}
		return c
	}}
}

// roundsScaled reports whether the contract stores an intermediate of the backward in fp16, where a power of
// two moves values into or out of the subnormal range and so does not scale every rounding error alike.
func (a *Related) roundsScaled() bool {
	low := a.Rules.EveryStep || a.Rules.LowProduct ||
		(a.Rules.LowWeights || a.Rules.Name == "stored") && a.First.Pass == op.Backward
	return low && a.First.DType == "fp16"
}

func countOf(at []int64, all int) int64 {
	if at != nil {
		return int64(len(at))
	}
	return int64(all)
}

// PlaceOf returns the position of the i-th element of a sample; at nil: of a whole output.
func PlaceOf(at []int64, i int64) int64 {
	if at != nil {
		return at[i]
	}
	return i
}

func itself(i int64) int64 { return i }

// ScaledBy returns the Second of a relation in which some inputs are multiplied by a power of two, which must
// be exact in their dtype.
func ScaledBy(by float64, names ...string) func(op.Case, Inputs) (op.Case, []tensor.Tensor) {
	return func(c op.Case, first Inputs) (op.Case, []tensor.Tensor) {
		out := make([]tensor.Tensor, len(names))
		for i, name := range names {
			out[i] = Changed(first.Get(name), func(_ int64, v float64) float64 { return by * v })
		}
		return c, out
	}
}

// LeftOut returns the Second of a relation that negates the rows of an input whose class is the one that an
// attribute says to ignore. NaN there would be too strict: where their weight is 0 in a product, as in
// torch's own gradient of a linear layer, 0*NaN is NaN.
func LeftOut(name, classes, ignored string) func(op.Case, Inputs) (op.Case, []tensor.Tensor) {
	return func(c op.Case, first Inputs) (op.Case, []tensor.Tensor) {
		x, of, none := first.Get(name), first.Get(classes).Float64s(), c.Attrs.Number(ignored)
		return c, []tensor.Tensor{Changed(x, func(i int64, v float64) float64 {
			if of[i/(x.Elements()/int64(len(of)))] == none {
				return -v
			}
			return v
		})}
	}
}

// Scales states that every element of an output is multiplied by the same power of two, bit for bit.
func Scales(by float64) func(*Related, string) judge.Statement {
	return func(a *Related, output string) judge.Statement { return a.Equal(output, by, nil) }
}

// Doubles states that every element of an output is doubled: bit for bit, but in fp16 within the error bound,
// since intermediates stored in fp16 may be subnormal or too large.
func Doubles(a *Related, output string) judge.Statement {
	if a.First.Target(output).DType != op.FP16 {
		return a.Equal(output, 2, nil)
	}
	return a.Agree(output, 2, nil, func(i int64) int64 { return i })
}

// Stays states that an output keeps every bit.
func Stays(a *Related, output string) judge.Statement { return a.Equal(output, 1, nil) }

// Changed returns a contiguous copy of a tensor with other values, by row-major position.
func Changed(t tensor.Tensor, value func(i int64, v float64) float64) tensor.Tensor {
	values := t.Float64s()
	for i, v := range values {
		values[i] = value(int64(i), v)
	}
	out := tensor.New(t.Name, t.DType, t.Shape)
	out.SetFloat64s(values)
	return out
}

// Moved returns a contiguous copy of a tensor in which element i is the one that lay at from(i); the shape
// may be another.
func Moved(t tensor.Tensor, shape []int64, from func(i int64) int64) tensor.Tensor {
	out := tensor.New(t.Name, t.DType, shape)
	values := t.Float64s()
	next := make([]float64, out.Elements())
	for i := range next {
		next[i] = values[from(int64(i))]
	}
	out.SetFloat64s(next)
	return out
}

// coarse rounds values to multiples of 1/8 within +-3, so that adding 4 to them is exact in every dtype of 8
// significant bits or more.
func coarse(t tensor.Tensor) tensor.Tensor {
	return Changed(t,
		func(_ int64, v float64) float64 { return math.RoundToEven(8*math.Max(-3, math.Min(3, v))) / 8 })
}

// WithDims returns a case with other sizes.
func WithDims(c op.Case, sizes map[string]int64) op.Case {
	dims := make(op.Dims, len(c.Dims))
	for i, d := range c.Dims {
		if v, ok := sizes[d.Name]; ok {
			d.Value = v
		}
		dims[i] = d
	}
	c.Dims = dims
	return c
}

// WithNumber returns a case in which change gives a numeric attribute its value, from the present one.
func WithNumber(c op.Case, name string, change func(float64) float64) op.Case {
	c.Attrs = slices.Clone(c.Attrs)
	for i := range c.Attrs {
		a := &c.Attrs[i]
		if a.Name != name {
			continue
		}
		a.Number = change(a.Number)
		if a.Text = strconv.FormatFloat(a.Number, 'g', -1, 32); a.Number == math.Trunc(a.Number) {
			a.Text = strconv.FormatFloat(a.Number, 'f', -1, 64)
		}
	}
	return c
}

// RowSums states a relation on the sum over each row of an output: term returns the term of element i, slack
// its possible error, want the required sum of row r. The fp64 sum itself is off by a few roundoffs of its
// terms.
func (a *Related) RowSums(rows, cols int64, term, slack func(i int64) float64,
	want func(r int64) float64,
) judge.Statement {
	if a.Failed() {
		return judge.Statement{}
	}
	return judge.Statement{Shape: []int64{rows}, N: rows, At: func(r int64) judge.Claim {
		s := rowSum(r*cols, (r+1)*cols, term, slack)
		wanted := want(r)
		off := s.off + judge.G(cols)*judge.U64*(s.size+math.Abs(wanted))
		return judge.Claim{Position: r, Got: s.sum, Low: wanted - off, High: wanted + off}
	}}
}

// sums holds the sum of some terms, of their magnitudes and of their possible errors.
type sums struct{ sum, size, off float64 }

// rowSum adds the elements from a up to b pairwise, as SumOf does.
func rowSum(a, b int64, term, slack func(i int64) float64) sums {
	var s sums
	if b-a <= 64 {
		for i := a; i < b; i++ {
			v := term(i)
			s.sum += v
			s.size += math.Abs(v)
			s.off += slack(i)
		}
		return s
	}
	mid := a + (b-a)/2
	first, second := rowSum(a, mid, term, slack), rowSum(mid, b, term, slack)
	return sums{first.sum + second.sum, first.size + second.size, first.off + second.off}
}

// HasElements returns a condition on a case: each of the named sizes is at least least.
func HasElements(least int64, names ...string) func(op.Case) bool {
	return func(c op.Case) bool {
		for _, name := range names {
			if v, ok := c.Dims.Lookup(name); !ok || v < least {
				return false
			}
		}
		return true
	}
}
