package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"triad/internal/op"
)

// Pattern describes in a sentence what is regular about the wrong elements of an output: how the values
// differ from the truth (a constant factor, the neighbour's value, the transpose), and where they lie (one
// row, the last tile, one head). It returns "" where nothing is wrong or nothing is regular. It explains; it
// never decides.
func Pattern(t Target, data []byte) string {
	t, err := t.patterned()
	if err != nil || t.Check() != nil || int64(len(data)) != t.Elements()*t.DType.Size() ||
		t.DType == op.DTypeUnknown {
		return ""
	}
	y, g := decode(t, data), gridOf(t)
	f := finding{Target: t, g: g, y: y, wrong: make([]bool, len(y))}
	for i := range y {
		if !g.accepts(y[i], t.R[i], t.T[i]) {
			f.wrong[i] = true
			f.count++
		}
	}
	if f.count == 0 {
		return ""
	}
	where, how := f.where(), f.how()
	switch {
	case where != "" && how != "":
		return where + ": " + how
	case where != "":
		return where
	default:
		return how
	}
}

// Words are an operator's own names for regular patterns of wrong elements; "" where it has none.
type Words struct {
	Ends      string // wrong at both ends of a row
	Seams     string // wrong where tiles meet
	Boundary  string // wrong from where a tile begins
	Exchanged string // the transposed places
}

// patternElements is the largest number of elements for which a truth that is computed row by row is kept
// whole for the search of patterns; above it some rows are kept.
const patternElements = 1 << 24

// patterned returns the target with as much of its truth kept as the search for a pattern needs.
func (t Target) patterned() (Target, error) {
	if t.Elements() > patternElements {
		return t.few()
	}
	return t.Kept()
}

// finding is an output with its wrong elements marked.
type finding struct {
	Target
	g     *grid
	y     []float64
	wrong []bool
	count int
}

// where names the region that holds all wrong elements, and in which most are wrong.
func (f finding) where() string {
	if f.count == len(f.wrong) {
		return "every element is wrong"
	}
	if f.Index != nil {
		return "" // a sample shows no region whole
	}
	if s := f.alongDims(); s != "" {
		return s
	}
	if s := f.everyOther(); s != "" {
		return s
	}
	return f.besideTiles()
}

// mostly is the share of a region's elements that must be wrong for the region to be named: a wrong kernel's
// value may be right by chance.
const mostly = 0.6

// alongDims checks each dim on its own, the last first: wrong at one index of it, from an index on, or up to
// one.
func (f finding) alongDims() string {
	inner := int64(1)
	for d := len(f.Shape) - 1; d >= 0; d-- {
		size := f.Shape[d]
		wrongAt := make([]int64, size)
		for i, w := range f.wrong {
			if w {
				wrongAt[int64(i)/inner%size]++
			}
		}
		each := int64(len(f.wrong)) / size
		if s := f.region(wrongAt, each, f.dimName(d)); s != "" && size > 1 {
			return s
		}
		inner *= size
	}
	return ""
}

// dimName returns the usual name of a dim of this tensor, or of one of this rank.
func (f finding) dimName(d int) string {
	if len(f.Axes) == len(f.Shape) {
		return f.Axes[d]
	}
	names := map[int][]string{
		1: {"element"}, 2: {"row", "column"}, 3: {"batch", "head", "row"},
		4: {"batch", "head", "row", "column"},
	}[len(f.Shape)]
	if names == nil {
		return fmt.Sprintf("index %d of dim", d)
	}
	return names[d]
}

// region names the place of the wrong elements along one dim; "" where they are everywhere or in no order.
func (f finding) region(wrongAt []int64, each int64, name string) string {
	first, last, hit, total := int64(-1), int64(-1), int64(0), int64(0)
	for i, n := range wrongAt {
		if n > 0 {
			if first < 0 {
				first = int64(i)
			}
			last = int64(i)
			hit++
			total += n
		}
	}
	size := int64(len(wrongAt))
	dense := float64(total) >= mostly*float64((last-first+1)*each) && hit == last-first+1
	switch {
	case !dense || hit == size:
		return ""
	case first == last && last == size-1:
		where := ""
		if f.Words.Seams != "" {
			where = f.seam(first, last)
		}
		return fmt.Sprintf("only the last %s (%d) is wrong%s", name, last, where)
	case first == last:
		return fmt.Sprintf("only %s %d is wrong", name, first)
	case last == size-1:
		return fmt.Sprintf("wrong from %s %d to the end%s", name, first, f.boundary(first, size))
	case first == 0:
		return fmt.Sprintf("wrong in the first %d %ss%s", last+1, name, f.boundary(last+1, size))
	default:
		return fmt.Sprintf("wrong from %s %d to %d%s", name, first, last,
			cmp.Or(f.seam(first, last), f.boundary(first, size)))
	}
}

// boundary returns a note where tiles, warps or vectors begin at a place: the usual sign of an unhandled
// tail.
func (f finding) boundary(at, size int64) string {
	for _, tile := range []int64{256, 128, 64, 32, 16, 8, 4} {
		if at > 0 && at%tile == 0 {
			if rest := size % tile; at == size-rest && rest > 0 {
				return fmt.Sprintf(" (the tail: %d is not a multiple of %d)", size, tile)
			}
			return fmt.Sprintf(" (%d is a multiple of %d: %s)", at, tile,
				cmp.Or(f.Words.Boundary, "a tile may begin there"))
		}
	}
	return ""
}

// everyOther finds a stride in the last dim: every p-th column wrong and no other.
func (f finding) everyOther() string {
	wrong := f.columnsWrong()
	for _, p := range []int{2, 4, 8, 16, 32} {
		if len(wrong) < 2*p {
			break
		}
		hits := make([]int64, p)
		for c, n := range wrong {
			hits[c%p] += n
		}
		for phase, n := range hits {
			if n == int64(f.count) && float64(n) >= mostly*float64(len(f.wrong)/p) {
				return fmt.Sprintf("every %d%s column is wrong, beginning with column %d", p,
					ordinal(p), phase)
			}
		}
	}
	return ""
}

func ordinal(n int) string {
	if n == 2 {
		return "nd"
	}
	return "th"
}

// how names a relation between the wrong values and the truth that holds for nearly all of them.
func (f finding) how() string {
	if s := f.constant(); s != "" {
		return s
	}
	if s := f.moved(); s != "" {
		return s
	}
	if s := f.factor(); s != "" {
		return s
	}
	return f.shifted()
}

// nearly is the share of wrong elements that must fit a relation.
const nearly = 0.95

// holds reports whether a relation fits nearly all wrong elements with a finite truth, and at least three.
func (f finding) holds(fits func(i int) (ok, counts bool)) bool {
	good, all := 0, 0
	for i, w := range f.wrong {
		if !w {
			continue
		}
		if ok, counts := fits(i); counts {
			all++
			if ok {
				good++
			}
		}
	}
	return all >= 3 && float64(good) >= nearly*float64(all)
}

// constant: the wrong values are all the same number.
func (f finding) constant() string {
	first := math.NaN()
	for i, w := range f.wrong {
		if w {
			first = f.y[i]
			break
		}
	}
	same := f.holds(func(i int) (bool,
		bool,
	) {
		return f.y[i] == first || math.IsNaN(first) && math.IsNaN(f.y[i]), true
	})
	switch {
	case !same:
		return ""
	case first == 0:
		return "the wrong values are 0"
	default:
		return "the wrong values are all " + numberOf(f.DType, first)
	}
}

// close reports whether the kernel would have stored y for r.
func (f finding) close(i int, r float64) bool {
	slack := f.T[i] + 2*f.g.ulp(r)
	return math.Abs(f.y[i]-r) <= slack || math.IsNaN(r) && math.IsNaN(f.y[i])
}

// Exchanged is the pattern of an output whose values are at the transposed places.
const Exchanged = "each wrong value is the truth of the transposed place: row and column are exchanged"

// moved: the value belongs to another element: a neighbour, or the transposed place.
func (f finding) moved() string {
	n := len(f.Shape)
	if f.Index != nil || n == 0 {
		return ""
	}
	cols := f.Shape[n-1]
	for _, m := range []struct {
		by   int64
		text string
	}{
		{1, "each wrong value is the truth of the next column"},
		{-1, "each wrong value is the truth of the column before"},
		{cols, "each wrong value is the truth of the next row"},
		{-cols, "each wrong value is the truth of the row before"},
	} {
		if m.by == 0 || n < 2 && (m.by == cols || m.by == -cols) {
			continue
		}
		if f.holds(func(i int) (bool, bool) {
			j := int64(i) + m.by
			inside := j >= 0 && j < int64(len(f.R))
			return inside && f.close(i, f.R[j]), inside
		}) {
			return m.text
		}
	}
	if n >= 2 && f.Shape[n-2] > 1 && cols > 1 {
		rows := f.Shape[n-2]
		if f.holds(func(i int) (bool, bool) { // element (r, c) was written to c * rows + r
			within := int64(i) % (rows * cols)
			return f.close(i, f.R[int64(i)-within+within%rows*cols+within/rows]), true
		}) {
			return Exchanged + comment(f.Words.Exchanged)
		}
	}
	return ""
}

// factor: the wrong values are one multiple of the truth.
func (f finding) factor() string {
	ratio := f.median(func(i int) (float64, bool) {
		return f.y[i] / f.R[i], math.Abs(f.R[i]) > 16*f.T[i] && isFinite(f.y[i]) && isFinite(f.R[i]) &&
			f.R[i] != 0
	})
	if math.IsNaN(ratio) || ratio == 0 || math.Abs(ratio-1) < 5e-4 {
		return "" // "1 times the truth" explains nothing
	}
	if !f.holds(func(i int) (bool, bool) {
		r := ratio * f.R[i]
		return math.Abs(f.y[i]-r) <= math.Abs(ratio)*f.T[i]+4*f.g.ulp(r)+1e-3*math.Abs(r), isFinite(f.R[i]) &&
			f.R[i] != 0
	}) {
		return ""
	}
	if math.Abs(ratio+1) < 1e-3 {
		return "the wrong values have the opposite sign"
	}
	return fmt.Sprintf("the wrong values are %.4g times the truth", ratio)
}

// shifted: the wrong values miss, or have, one constant term.
func (f finding) shifted() string {
	gap := f.median(func(i int) (float64,
		bool,
	) {
		return f.y[i] - f.R[i], isFinite(f.y[i]) && isFinite(f.R[i])
	})
	if math.IsNaN(gap) || gap == 0 {
		return ""
	}
	if f.holds(func(i int) (bool, bool) {
		return math.Abs(f.y[i]-f.R[i]-gap) <= f.T[i]+2*f.g.ulp(f.y[i])+1e-3*math.Abs(gap), isFinite(f.R[i])
	}) {
		return fmt.Sprintf("the wrong values differ from the truth by one number, %.4g: a term is missing "+
			"or added twice", gap)
	}
	return ""
}

// median returns the median of a figure over the wrong elements that have one; NaN where fewer than three do.
func (f finding) median(figure func(i int) (float64, bool)) float64 {
	var all []float64
	for i, w := range f.wrong {
		if w {
			if x, ok := figure(i); ok {
				all = append(all, x)
			}
		}
	}
	if len(all) < 3 {
		return math.NaN()
	}
	return medianOf(all)
}

func medianOf(x []float64) float64 {
	return slices.Sorted(slices.Values(x))[len(x)/2]
}

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
