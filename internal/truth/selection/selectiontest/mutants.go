// Package selectiontest derives the kernels that an operator of the family selection is scored with: right
// ones that break ties in every way, and the bugs that a selection invites.
package selectiontest

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth/selection"
	"triad/internal/truth/truthtest"
)

// The order of equal elements in a right kernel: the form of an arithmetic.
const (
	firstOfEqual = iota
	lastOfEqual
	anyOfEqual
	zeroBeforeMinusZero
	forms
)

// The bugs of the choice.
const (
	smallest     = "the smallest are chosen"
	rising       = "the chosen rise"
	byColumn     = "the chosen stand in the order of columns"
	nanLast      = "NaN comes last"
	byMagnitude  = "the sign is ignored"
	inBF16       = "compared in bf16"
	tail         = "tail not looked at"
	lastLost     = "last element not looked at"
	paddedByZero = "padding of 0"
	startsAtZero = "the best so far starts at 0"
	otherRow     = "row off by one"
)

// The bugs of the stores.
const (
	lastPlace    = "last place not written"
	neighbour    = "values of the place before"
	signLost     = "values without the sign of -0"
	otherTies    = "values and places break ties differently"
	ofNextRow    = " of another row"
	inTensor     = " counted in the whole tensor"
	offByOne     = " of the next element"
	firstEqual   = " of the first element with the value"
	twice        = " name an element twice"
	unwrittenBug = " not written"
	paddedByInf  = " of padding by -inf before -inf"
)

// Suites returns the suites of the forward of an operator.
func Suites(name string) []truthtest.Suite {
	o, ok := selection.Get(name)
	if !ok {
		panic(name + " is no selection") // a test's own mistake
	}
	f := family{o}
	var right []truthtest.Arithmetic
	for i := range forms {
		right = append(right, truthtest.Arithmetic{Form: i})
	}
	return []truthtest.Suite{
		{Op: name, Pass: op.Forward, Right: right, Kernel: f.kernel, Mutants: f.mutants()},
	}
}

type family struct{ selection.Operator }

func (f family) mutants() truthtest.Mutants {
	names := []string{
		smallest, rising, byColumn, nanLast, byMagnitude, inBF16, tail, lastLost, paddedByZero, startsAtZero,
		otherRow, lastPlace, neighbour, signLost, otherTies,
	}
	for _, bug := range []string{
		ofNextRow, inTensor, offByOne, firstEqual, twice, unwrittenBug, paddedByInf,
	} {
		names = append(names, f.Places+bug)
	}
	var all truthtest.Mutants
	for _, n := range names {
		var equivalent func(g truthtest.Group) string
		if n == inBF16 {
			equivalent = func(g truthtest.Group) string {
				if g.Dtype == "bf16" {
					return "the elements are bf16"
				}
				return ""
			}
		}
		all.Add(equivalent, n)
	}
	return all
}

// chosen is one element of a row that a kernel chose.
type chosen struct {
	value float64
	at    int
}

// none represents an element that a kernel lacks.
var none = chosen{truthtest.Unwritten, -1}

// kernel emulates the forward.
func (f family) kernel(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	x, rows, cols := p.Matrix(f.From)
	at := 0
	if p.Truth.Outputs[0].Name != f.Places {
		at = 1
	}
	k := int(p.Truth.Outputs[at].Shape[1])
	rowAt := func(r int) []float64 { return x[r%rows*cols : (r%rows+1)*cols] }
	out := [][]float64{nil, nil}
	for r := range rows {
		row := rowAt(r)
		if a.Bug == otherRow {
			row = rowAt(r + 1)
		}
		values, places := f.row(a, row, k)
		switch a.Bug {
		case f.Places + ofNextRow:
			_, places = f.row(a, rowAt(r+1), k)
		case f.Places + inTensor:
			for i := range places {
				places[i] += float64(r * cols)
			}
		}
		out[1-at], out[at] = append(out[1-at], values...), append(out[at], places...)
	}
	return out
}

// row returns the values and places of one row.
func (f family) row(a truthtest.Arithmetic, row []float64, k int) (values, places []float64) {
	all := f.choose(a, row, k)
	values, places = make([]float64, k), make([]float64, k)
	for i, c := range all {
		values[i], places[i] = c.value, float64(c.at)
		if c.at < 0 {
			places[i] = truthtest.Unwritten
		}
	}
	switch a.Bug {
	case lastPlace:
		values[k-1], places[k-1] = truthtest.Unwritten, truthtest.Unwritten
	case neighbour:
		values = append(values[:1:1], values[:k-1]...)
	case signLost:
		for i, v := range values {
			if v == 0 {
				values[i] = 0
			}
		}
	case otherTies:
		for i, c := range f.choose(truthtest.Arithmetic{Form: lastOfEqual}, row, k) {
			values[i] = c.value
		}
	case f.Places + offByOne:
		for i := range places {
			places[i] = math.Mod(places[i]+1, float64(len(row)))
		}
	case f.Places + firstEqual:
		for i, v := range values {
			places[i] = float64(slices.IndexFunc(row, func(x float64) bool {
				return selection.Better(f.Score(x), f.Score(v)) == 0
			}))
		}
	case f.Places + twice:
		places[k-1] = places[max(k-2, 0)]
	case f.Places + unwrittenBug:
		places[k-1] = truthtest.Unwritten
	}
	return values, places
}

// choose returns the k elements of a row that a kernel chooses, in its order.
func (f family) choose(a truthtest.Arithmetic, row []float64, k int) []chosen {
	candidates := f.candidates(a.Bug, row)
	slices.SortFunc(candidates, func(x, y chosen) int {
		return cmp.Or(f.before(a.Bug, x.value, y.value), f.tie(a, x, y))
	})
	for len(candidates) < k {
		candidates = append(candidates, none)
	}
	best := candidates[:k]
	switch a.Bug {
	case rising:
		slices.Reverse(best)
	case byColumn:
		slices.SortFunc(best, func(x, y chosen) int { return x.at - y.at })
	case startsAtZero:
		for i, c := range best {
			if !(f.Score(c.value) > 0) {
				best[i] = chosen{0, 0}
			}
		}
	}
	return best
}

// candidates returns the elements that a kernel considers.
func (f family) candidates(bug string, row []float64) []chosen {
	n := len(row)
	switch bug {
	case tail:
		n = n / truthtest.Vector * truthtest.Vector
	case lastLost:
		n--
	}
	var all []chosen
	for i, v := range row[:n] {
		all = append(all, chosen{v, i})
	}
	padding := map[string]float64{paddedByZero: 0, f.Places + paddedByInf: math.Inf(-1)}
	if v, ok := padding[bug]; ok {
		for i := n; i < (n+truthtest.Vector)/truthtest.Vector*truthtest.Vector; i++ {
			all = append(all, chosen{v, i})
		}
	}
	return all
}

// before orders two elements as a kernel compares them.
func (f family) before(bug string, x, y float64) int {
	a, b := f.Score(x), f.Score(y)
	switch bug {
	case smallest:
		return selection.Better(-a, -b)
	case byMagnitude:
		return selection.Better(math.Abs(a), math.Abs(b))
	case inBF16:
		return selection.Better(tensor.Round(op.BF16, a, false), tensor.Round(op.BF16, b, false))
	case nanLast:
		switch aNaN, bNaN := math.IsNaN(a), math.IsNaN(b); {
		case aNaN != bNaN && aNaN:
			return 1
		case aNaN != bNaN:
			return -1
		}
	}
	return selection.Better(a, b)
}

// tie orders two equal elements.
func (f family) tie(a truthtest.Arithmetic, x, y chosen) int {
	form := a.Form
	if a.Bug == f.Places+paddedByInf {
		form = lastOfEqual
	}
	switch form {
	case lastOfEqual:
		return y.at - x.at
	case anyOfEqual:
		return cmp.Compare(bits.Reverse32(uint32(x.at)), bits.Reverse32(uint32(y.at)))
	case zeroBeforeMinusZero:
		if x, y := math.Signbit(x.value), math.Signbit(y.value); x != y && y {
			return -1
		} else if x != y {
			return 1
		}
	}
	return x.at - y.at
}
