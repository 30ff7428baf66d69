package workload

import (
	"fmt"
	"math"
	"math/bits"

	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/tensor"
)

// drawing is one tensor being drawn, seen as rows of its last dim. Values are fp64; rounding to the dtype
// comes later.
type drawing struct {
	random     func(purpose string) *stream
	rows, cols int64
	elements   int64 // the last row may be shorter
	keys       int64 // how many rows belong to one head
	heads      int64 // whose rows of one key are neighbours: 1 where rows lie by heads
	format     tensor.Format
	dtype      op.DType
	role       role
	integer    string   // what integers means
	about      *float64 // the centre of integers of the normal distribution
	// the first input's values, if this is another input of its shape
	beside        []float64
	first         bool   // it is the first input
	nonFiniteKind string // CheckSpec.NonFinite
}

// role is the part of a tensor in the logits of a softmax.
type role uint8

const (
	roleInput role = iota // logits, if any, are the tensor itself
	roleQuery             // logits are query rows times key rows
	roleKey
	roleOther // neither: values of attention
)

// distributions fill a tensor, row after row.
var distributions = map[string]func(d *drawing, x []float64){
	"normal":         (*drawing).normal,
	"scaled":         (*drawing).scaled,
	"shifted":        (*drawing).shifted,
	"constant":       (*drawing).constant,
	"zeros":          (*drawing).zeros,
	"integers":       (*drawing).integers,
	"outlier":        (*drawing).outlier,
	"low_logits":     (*drawing).lowLogits,
	"neg_inf_mask":   (*drawing).negInfMask,
	"neg_inf_blocks": (*drawing).negInfBlocks,
	"non_finite":     (*drawing).nonFinite,
	"extremes":       (*drawing).extremes,
	"late_max":       (*drawing).lateMax,
	"row_offsets":    (*drawing).rowOffsets,
	"ties":           (*drawing).ties,
	"sparse":         (*drawing).sparse,
	"halfway":        (*drawing).halfway,
	"balanced":       (*drawing).balanced,
}

// draw returns the values of a tensor.
func (d *drawing) draw(distribution string) ([]float64, error) {
	fill, ok := distributions[distribution]
	if !ok {
		return nil, fmt.Errorf("draw: there is no distribution %q", distribution)
	}
	x := zeroed(d.elements)
	switch {
	case len(x) == 0:
	case d.dtype.IsFloat():
		fill(d, x)
	default:
		d.drawIntegers(distribution, x)
	}
	return x, nil
}

// zeroed returns working memory of zeros.
func zeroed(n int64) []float64 {
	x := tensor.Lend(int(n))
	parallel.Runs(len(x), func(first, end int) { clear(x[first:end]) })
	return x
}

func (d *drawing) normal(x []float64) {
	d.random("normal").fillNormal(x)
	if n := uint64(len(x)); n >= fewForZero {
		x[d.random("zero").below(0, n)] = math.Copysign(0, -1)
	}
}

// fewForZero is the length from which a normal tensor has one -0: a kernel may compare bit patterns.
const fewForZero = 16

// eachRow calls change with every row's index and values, on all cores if there are many: each draws from its
// own s, which may be nil.
func (d *drawing) eachRow(x []float64, s *stream, change func(s *stream, r int64, row []float64)) {
	rows := func(s *stream, first, end int64) {
		for r := first; r < end; r++ {
			change(s, r, x[r*d.cols:min((r+1)*d.cols, d.elements)])
		}
	}
	if len(x) <= fewElements {
		rows(s, 0, d.rows)
		return
	}
	parallel.EachWith(d.rows, s.clone, func(own *stream, r int64) { rows(own, r, r+1) })
}

// fewElements are not worth several cores.
const fewElements = 1 << 14

// eachElement calls change with runs of elements, the first of which is given, as eachRow does with rows.
func eachElement(x []float64, s *stream, change func(s *stream, first uint64, part []float64)) {
	parallel.Runs(len(x), func(first, end int) { change(s.clone(), uint64(first), x[first:end]) })
}

// start returns a random number by which the kinds of rows are rotated, so that small tensors get different
// kinds in different cases.
func (d *drawing) start(n uint64) int64 { return d.random("start").below(0, n) }

// scaled: rows of N(0,1) times 1e-3, 1e-2, 20 and 60 in turn.
func (d *drawing) scaled(x []float64) {
	d.normal(x)
	factors, start := [4]float64{1e-3, 1e-2, 20, 60}, d.start(4)
	d.eachRow(x, nil, func(_ *stream, r int64, row []float64) {
		factor := factors[(r+start)%4]
		for i := range row {
			row[i] *= factor
		}
	})
}

// shifted: rows with a mean of 2, 30 and 200, and rows of 4 +- 0.01, where a variance in one pass loses
// everything.
func (d *drawing) shifted(x []float64) {
	d.normal(x)
	means, widths, start := [4]float64{2, 30, 200, 4}, [4]float64{1, 1, 1, 0.01}, d.start(4)
	d.eachRow(x, nil, func(_ *stream, r int64, row []float64) {
		kind := (r + start) % 4
		for i := range row {
			row[i] = means[kind] + float64(widths[kind]*row[i])
		}
	})
}

// constant: every row has one value.
func (d *drawing) constant(x []float64) {
	d.eachRow(x, d.random("normal"), func(s *stream, r int64, row []float64) {
		v := 2 * s.normal(uint64(r))
		for i := range row {
			row[i] = v
		}
	})
}

// zeros: 0 and -0.
func (d *drawing) zeros(x []float64) {
	eachElement(x, d.random("sign"), func(s *stream, first uint64, part []float64) {
		for i := range part {
			if s.word(first+uint64(i))&1 == 1 {
				part[i] = math.Copysign(0, -1)
			}
		}
	})
}

// outlier: by turns a row with one value a thousand times too large, and a row scaled by 1e-6 to 1e4, evenly
// in the logarithm.
func (d *drawing) outlier(x []float64) {
	d.normal(x)
	start := d.start(2)
	d.eachRow(x, d.random("outlier"), func(s *stream, r int64, row []float64) {
		if (r+start)%2 == 0 {
			row[s.below(uint64(r), uint64(len(row)))] *= 1000
			return
		}
		const ln10 = 2.30258509299404568402
		factor := exponential(float64((float64(10*s.uniform(uint64(r))) - 6) * ln10))
		for i := range row {
			row[i] *= factor
		}
	})
}

// specialKinds are the numbers that are not finite, in the order in which tensors hold them.
var specialKinds = [3]float64{math.NaN(), math.Inf(1), math.Inf(-1)}

// nonFinite: one of NaN, +inf and -inf in an otherwise normal tensor, or all three, each in a row of its own.
// Or in many rows, or among zeros.
func (d *drawing) nonFinite(x []float64) {
	d.normal(x)
	s, n := d.random("non-finite"), int64(1)
	switch d.nonFiniteKind {
	case "rows":
		d.nonFiniteRows(x, s)
		return
	case "products":
		d.nonFiniteFactor(x, s)
		return
	case "each":
		n = min(d.rows, int64(len(specialKinds)))
	}
	start := s.below(0, 3)
	for i := range n {
		row := x[d.rows*i/n*d.cols : min(d.rows*(i+1)/n*d.cols, int64(len(x)))]
		row[s.below(uint64(i)+1, uint64(len(row)))] = specialKinds[(start+i)%3]
	}
}

// nonFiniteFactor: 0 wherever row and column are even; a NaN or an infinity in an odd row and an even column,
// and one in an even row and an odd column, so that some of their products are with a 0 of another tensor. In
// a single row, which every product meets, there is only an infinity: a NaN would hide all others.
func (d *drawing) nonFiniteFactor(x []float64, s *stream) {
	kinds := [3]float64{math.Inf(1), math.Inf(-1), math.NaN()}
	d.eachRow(x, nil, func(_ *stream, r int64, row []float64) {
		for i := range row {
			if r%2 == 0 && i%2 == 0 {
				row[i] = 0
			}
		}
	})
	put := func(rows, cols, firstRow, firstCol int64, kind float64, at uint64) {
		if rows > 0 && cols > 0 {
			r := firstRow + 2*s.below(at, uint64(rows))
			if place := r*d.cols + firstCol + 2*s.below(at+1, uint64(cols)); place < int64(len(x)) {
				x[place] = kind
			}
		}
	}
	if d.rows == 1 {
		put(1, d.cols/2, 0, 1, kinds[s.below(0, 2)], 1)
		return
	}
	put(d.rows/2, (d.cols+1)/2, 1, 0, kinds[s.below(0, 3)], 1)
	put((d.rows+1)/2, d.cols/2, 0, 1, kinds[s.below(3, 3)], 4)
}

// nonFiniteRows: by turns a row with one NaN, +inf or -inf, a row in which half of the elements are one of
// these, and a row of NaN.
func (d *drawing) nonFiniteRows(x []float64, s *stream) {
	start, kinds := d.start(3), specialKinds
	d.eachRow(x, s, func(s *stream, r int64, row []float64) {
		switch (r + start) % 3 {
		case 0:
			row[s.below(uint64(r*d.cols), uint64(len(row)))] = kinds[r/3%3]
		case 1:
			for i := range row {
				if w := s.word(uint64(r*d.cols + int64(i))); w>>31 == 0 {
					row[i] = kinds[w%3]
				}
			}
		default:
			for i := range row {
				row[i] = math.NaN()
			}
		}
	})
}

// extremes: by turns rows of the smallest numbers of the dtype, rows of its largest, and normal rows with
// some of both, with neighbours of 1, and with numbers of every magnitude between 1 and the largest.
func (d *drawing) extremes(x []float64) {
	d.normal(x)
	start := d.start(3)
	f := d.format
	small := []float64{
		f.SmallestSubnormal(), math.Ldexp(1, f.EMin),
		math.Ldexp(1, f.EMin) - f.SmallestSubnormal(), 3 * f.SmallestSubnormal(),
	}
	large := []float64{f.Max, f.Max - f.ULP(f.Max), math.Ldexp(1, math.Ilogb(f.Max))}
	ulp := math.Ldexp(1, 1-f.P)
	mixed := append([]float64{1 - ulp/2, 1 + ulp, 1 + float64(2*ulp), small[0], large[0]}, small[1:]...)
	d.eachRow(x, d.random("extreme"), func(s *stream, r int64, row []float64) {
		kinds := [3][]float64{small, large, mixed}[(r+start)%3]
		for i := range row {
			w := s.word(uint64(r*d.cols + int64(i)))
			if (r+start)%3 == 2 && w>>31 == 0 { // half of a mixed row stays normal, or nearly so
				if w>>29 == 0 {
					row[i] = math.Ldexp(row[i], int(w&0xffff)*math.Ilogb(f.Max)>>16)
				}
				continue
			}
			row[i] = math.Copysign(kinds[w>>8%uint32(len(kinds))], row[i])
		}
	})
}

// sparse: 99 of 100 are zero.
func (d *drawing) sparse(x []float64) {
	d.normal(x)
	d.thin(x)
}

// thin keeps one element of 100; the others become zero.
func (d *drawing) thin(x []float64) {
	eachElement(x, d.random("sparse"), func(s *stream, first uint64, part []float64) {
		for i := range part {
			if s.below(first+uint64(i), 100) != 0 {
				part[i] = 0
			}
		}
	})
}

// walshLength is the number of elements of a Walsh function of halfway: what equal terms may lose in a sum of
// so many is far below one ulp of fp16.
const walshLength = 1024

// halfway: of each 1024 elements half are 1, those where a Walsh function that the tensor draws is -1; the
// others, and what is left over, are a negative number of nearly a quarter of the distance from 1 to the next
// number. Two tensors draw different functions (but for one seed in 1023), and their elements then differ at
// just half of the places: there the square of the difference lies just below halfway between 1 and the next
// number. A kernel that rounds these squares to the dtype loses half an ulp in each, always in the same
// direction, while the errors of drawn numbers would average out.
func (d *drawing) halfway(x []float64) {
	function := uint64(d.random("walsh").below(0, walshLength-1)) + 1
	whole := uint64(len(x) / walshLength * walshLength)
	little := -(1 - 0x1p-6) * d.format.ULP(1) / 4
	eachElement(x, nil, func(_ *stream, first uint64, part []float64) {
		for i := range part {
			at := first + uint64(i)
			part[i] = little
			if at < whole && bits.OnesCount64(at&function)%2 == 1 {
				part[i] = 1
			}
		}
	})
}

// favourite is added to one element of each balanced row.
const favourite = 8

// balanced: in each row of the first input one element is large, in one column after the other. Parameters
// around 0 with as many rows as experts favour these columns in turn: the experts are chosen about equally
// often.
func (d *drawing) balanced(x []float64) {
	d.normal(x)
	if d.first {
		d.eachRow(x, nil, func(_ *stream, r int64, row []float64) { row[r%int64(len(row))] += favourite })
	}
}

// favours makes rows of parameters favour the columns of a balanced input in turn.
func (d *drawing) favours(x []float64) {
	d.eachRow(x, nil, func(_ *stream, r int64, row []float64) {
		for i := range row {
			if int64(i)%d.rows == r || r >= d.cols && r%d.cols == int64(i) {
				row[i]++
			}
		}
	})
}
