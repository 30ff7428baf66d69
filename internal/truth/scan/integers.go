package scan

import (
	"fmt"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// Exact is the contract of sums of integers, which wrap and do not round.
const Exact = "exact"

// Wrapped returns what 32 bits keep of a sum.
func Wrapped(sum int64) float64 { return float64(int32(sum)) }

// wholeTarget returns the running sum of integers: it computes the sum before each row of truth.FlatRow
// terms, and the outputs of a row from there. Sums beyond 64 bits wrap as well, which leaves the low 32 bits
// right.
func (o Operator) wholeTarget(k *truth.Request, in []tensor.Tensor) ([]judge.Target, error) {
	if in[0].DType != op.I32 || o.Whole == nil {
		return nil, fmt.Errorf("%s of %v: want sums of %v that are stated", o.Output, in[0].DType, op.I32)
	}
	n := in[0].Elements()
	rows := (n + truth.FlatRow - 1) / truth.FlatRow
	before := make([]int64, rows+1)
	truth.EachRowWith(nil, rows, wholeRoomFor(in), func(own *wholeRoom, r, _ int64) {
		for _, term := range own.terms(o, r*truth.FlatRow, min(truth.FlatRow, n-r*truth.FlatRow)) {
			before[r+1] += term
		}
	})
	for r := range before[1:] {
		before[r+1] += before[r]
	}
	t := k.FlatTarget(o.Output, in[0].DType, n)
	leavesOut := o.LeavesOut(k.Attrs)
	truth.FillFlat(k, t, wholeRoomFor(in), func(own *wholeRoom, first int64, out truth.Row) {
		sum := before[first/truth.FlatRow]
		for i, term := range own.terms(o, first, int64(len(out.R))) {
			through := sum + term
			out.R[i] = Wrapped(through)
			if leavesOut {
				out.R[i] = Wrapped(sum)
			}
			out.Sim[i] = out.R[i]
			sum = through
		}
	})
	return []judge.Target{t}, nil
}

// wholeRoom is the working memory of one core: a row of every input, and of terms.
type wholeRoom struct {
	in   []tensor.Tensor
	rows [][]float64
	at   []int64 // the inputs at one place
	row  []int64
}

func wholeRoomFor(in []tensor.Tensor) func() *wholeRoom {
	return func() *wholeRoom {
		r := &wholeRoom{in: in, at: make([]int64, len(in)), row: make([]int64, truth.FlatRow)}
		for range in {
			r.rows = append(r.rows, make([]float64, truth.FlatRow))
		}
		return r
	}
}

// terms computes a row of n terms.
func (r *wholeRoom) terms(o Operator, first, n int64) []int64 {
	for j, t := range r.in {
		t.DecodeRow(r.rows[j][:n], 0, first)
	}
	for i := range n {
		for j := range r.in {
			r.at[j] = int64(r.rows[j][i])
		}
		r.row[i] = o.Whole(r.at)
	}
	return r.row[:n]
}
