package judge

import (
	"math"
	"slices"
	"sync/atomic"

	"triad/internal/op"
)

// Rejected is an element that G1 or G2 rejects.
type Rejected struct {
	Kind   string // of op.WrongKinds
	Index  []int64
	Got, R float64
	T      float64
	// whether the truth of all judged elements of its row is NaN, or 0
	RowOfNaN, RowOfZeros bool
	grid                 *grid
}

// EveryRejected reports whether there are rejected elements and f holds for each; several goroutines may call
// f at once. An output whose size is not the target's has none to look at.
func EveryRejected(t Target, data []byte, f func(Rejected) bool) bool {
	if t.Check() != nil || int64(len(data)) != t.Elements()*t.DType.Size() || t.DType == op.DTypeUnknown {
		return false
	}
	if t.Rows == nil {
		some, every := everyRejected(t, 0, decode(t, data), f)
		return some && every
	}
	var some, refused atomic.Bool
	err := t.eachPiece(piecesOf(t), func(_, first int, v Values) {
		if refused.Load() {
			return
		}
		part := t
		part.R, part.T = v.R, v.T
		y := make([]float64, len(v.R))
		decodeJudged(y, t, data, first)
		found, every := everyRejected(part, first, y, f)
		if found {
			some.Store(true)
		}
		if !every {
			refused.Store(true)
		}
	})
	return err == nil && some.Load() && !refused.Load()
}

// everyRejected is EveryRejected for the judged elements y from the first on, whose truth is t's.
func everyRejected(t Target, first int, y []float64, f func(Rejected) bool) (some, every bool) {
	g, cols := gridOf(t), blockShape(t).cols
	row := int64(-1)
	var ofNaN, ofZeros bool
	for i, got := range y {
		if g.accepts(got, t.R[i], t.T[i]) {
			continue
		}
		some = true
		position := t.position(first + i)
		if at := position / cols; at != row {
			row = at
			ofNaN, ofZeros = t.rowAround(first, i, cols)
		}
		e := Rejected{
			Index: index(position, t.Shape), Got: got, R: t.R[i], T: t.T[i], grid: g,
			RowOfNaN: ofNaN, RowOfZeros: ofZeros,
		}
		e.Kind = e.kind()
		if !f(e) {
			return true, false
		}
	}
	return some, true
}

// rowAround reports, for the row of element i of those from the first on, whether its whole truth judged here
// is NaN, and whether it is 0.
func (t Target) rowAround(first, i int, cols int64) (ofNaN, ofZeros bool) {
	row := t.position(first+i) / cols
	from, to := i, i+1
	for from > 0 && t.position(first+from-1)/cols == row {
		from--
	}
	for to < len(t.R) && t.position(first+to)/cols == row {
		to++
	}
	number := func(r float64) bool { return !math.IsNaN(r) }
	return !slices.ContainsFunc(t.R[from:to], number),
		!slices.ContainsFunc(t.R[from:to], func(r float64) bool { return r != 0 })
}

func (e Rejected) kind() string {
	switch {
	case math.IsNaN(e.R):
		return "nan lost"
	case math.IsNaN(e.Got):
		return "nan gained"
	case math.IsInf(e.R, 0) || math.IsInf(e.Got, 0):
		return "infinite"
	}
	return "finite"
}

// WithinT reports whether the element would be accepted if its error bound were t.
func (e Rejected) WithinT(t float64) bool { return e.grid.accepts(e.Got, e.R, t) }

// WithinULPs reports whether the element lies at most n ulps of the dtype from the truth.
func (e Rejected) WithinULPs(n float64) bool { return math.Abs(e.Got-e.R) <= n*e.grid.ulp(e.R) }

// Between reports whether the element lies between two values, rounded to its dtype.
func (e Rejected) Between(low, high float64) bool {
	return e.grid.round(low) <= e.Got && e.Got <= e.grid.round(high)
}

// Round rounds a value to its dtype.
func (e Rejected) Round(x float64) float64 { return e.grid.round(x) }
