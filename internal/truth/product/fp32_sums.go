package product

import (
	"fmt"
	"math"
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// fp32Sums is the arithmetic of products and sums in fp32, with an epilogue before the single rounding; under
// tf32, fp32 operands lose their low bits first.
type fp32Sums struct {
	Epilogue
	a, b  operand
	tf32  bool
	added tensor.Tensor // [rows, columns] or [batch, rows, columns]; read where adds
	adds  bool
	unit  float64 // of the added tensor's values
	alignment
}

// exactSum is the largest sum, in units of its terms, that fp32 holds exactly in any order.
const exactSum = 1 << 24

func fp32SumsOf(k *truth.Request, e Epilogue, a, b operand) (*fp32Sums, error) {
	if a.scales != nil || b.scales != nil {
		return nil, fmt.Errorf("operands with scales under contract %s: want one of tensor cores",
			k.Rules.Name)
	}
	if !e.Scaled {
		e.Alpha = 1
	}
	s := &fp32Sums{
		Epilogue: e, a: a, b: b, tf32: k.Rules.TF32 && a.matrix.DType == op.FP32, unit: 1,
		alignment: alignmentOf(a, b),
	}
	if e.Added == "" {
		return s, nil
	}
	var err error
	if s.added, err = k.Tensor(e.Added); err != nil {
		return nil, err
	}
	want := []int64{a.rows, b.rows}
	if len(a.matrix.Shape) == 3 {
		want = []int64{a.batch, a.rows, b.rows}
	}
	none := slices.Clone(want)
	none[0] = 0
	if !slices.Equal(s.added.Shape, want) && !slices.Equal(s.added.Shape, none) {
		return nil, fmt.Errorf("%s has shape %v: want %v, or %v for nothing to add", e.Added, s.added.Shape,
			want, none)
	}
	s.adds = s.added.Elements() > 0 && e.Beta != 0
	if s.adds && k.Distribution == "integers" {
		s.unit = unitOf(s.added.Float64s())
	}
	return s, nil
}

func (s *fp32Sums) seesMore() bool { return s.tf32 }

func (s *fp32Sums) lowered() bool { return s.tf32 }

// see fills in the values that the contract's products use.
func (s *fp32Sums) see(_ operand, f factors) {
	if s.tf32 {
		for i, v := range f.values {
			f.seen[i] = truth.TF32(v)
		}
	}
}

// unread returns the rows of the added tensor that hold a number that is not finite.
func (s *fp32Sums) unread() []int64 {
	if !s.adds {
		return nil
	}
	var rows []int64
	row := make([]float64, s.b.rows)
	for r := range s.a.all() {
		s.added.DecodeRow(row, r, 0)
		if slices.ContainsFunc(row, func(v float64) bool { return !truth.IsFinite(v) }) {
			rows = append(rows, r)
		}
	}
	return rows
}

// plus returns the added tensor's share of element (r, n).
func (s *fp32Sums) plus(r, n int64) float64 {
	if !s.adds {
		return 0
	}
	var c [1]float64
	s.added.DecodeRow(c[:], r, n%s.b.rows)
	return s.Beta * c[0]
}

// element returns element (r, n) of the product, from decoded rows a and b, with the error bound
//
//	T = |alpha|*u32*g(K)*sum_k |a_k*b_k| + u32*(2*|alpha*ab| + |beta*c| + |R|)
//
// whose second part is 0 where alpha is 1 and nothing is added: one rounding of alpha*ab and beta*c each, one
// of their sum, and one of a compiler that scales the operands first. In 16 bits the loss of tensor cores to
// subnormal operands (see alignment) is added, times |alpha|. tf32 takes the low bits of both operands:
// 2*u_tf32 in addition to g(K)*u32, and the loss that flushed returns. Below fp32's normal range each
// product, and each of the operations after it, loses up to half of the smallest subnormal.
func (s *fp32Sums) element(a, b factors, r, n int64) element {
	sum, size := truth.Dots(a.values, b.values)
	plus := s.plus(r, n)
	e := element{r: float64(s.Alpha*sum) + plus}
	e.tFP32 = s.allowed(judge.U32*judge.G(s.a.k), size, math.Abs(s.Alpha*sum), math.Abs(plus), math.Abs(e.r))
	e.tFP32 += math.Abs(s.Alpha) * s.lost(a.values, b.values, r, n)
	e.t, e.sim = e.tFP32, e.r
	if s.tf32 {
		low, _ := truth.Dots(a.seen, b.seen)
		e.t = s.allowed(2*judge.UTF+judge.U32*judge.G(s.a.k), size, math.Abs(s.Alpha*sum), math.Abs(plus),
			math.Abs(e.r)) + math.Abs(s.Alpha)*flushed(a.values, b.values)
		e.sim = float64(s.Alpha*low) + plus
	}
	return e
}

// allowed returns T of a sum of products whose magnitudes add up to size, each off by unit; product, added
// and result are the magnitudes of alpha*ab, beta*c and R.
func (s *fp32Sums) allowed(unit, size, product, added, result float64) float64 {
	t := math.Abs(s.Alpha) * truth.Weighted(size, unit)
	if s.Alpha != 1 || s.adds {
		t += judge.U32 * (2*product + added + result)
	}
	if size > 0 || added > 0 {
		t += s.subnormal()
	}
	return t
}

// flushed returns the loss of a product where tf32 takes low bits of factors below its normal range: up to
// its smallest subnormal, times the other factor.
func flushed(a, b []float64) float64 {
	lost := 0.0
	for k, x := range a {
		y := b[k]
		if x == 0 || y == 0 {
			continue
		}
		if math.Abs(x) < judge.Tiny {
			lost += math.Abs(y)
		}
		if math.Abs(y) < judge.Tiny {
			lost += math.Abs(x)
		}
	}
	return lost * truth.TF32Lost
}

// subnormal returns the largest loss of an element below the normal range of fp32.
func (s *fp32Sums) subnormal() float64 {
	return float64(s.a.k+1) * truth.Subnormal * math.Max(1, math.Abs(s.Alpha))
}

// exact reports whether every partial sum is a multiple of the smaller of two units and below 2^24 of them.
func (s *fp32Sums) exact(a, b factors, r, n int64) bool {
	_, size := truth.Dots(a.values, b.values)
	most, unit := math.Abs(s.Alpha)*size, unitOf([]float64{s.Alpha})*s.a.unit*s.b.unit
	if s.adds {
		most += math.Abs(s.plus(r, n))
		unit = math.Min(unit, unitOf([]float64{s.Beta})*s.unit)
	}
	return most < exactSum*unit
}

// signedMatrix holds sums over the covered columns of one matrix of the second operand.
type signedMatrix struct {
	signed  [][]float64 // of every vector: sum_j r_j*b_jk
	sizes   []float64   // sum_j |b_jk|
	aligned []float64   // sum_j of the magnitudes that tensor cores align by; nil where they do not read it
	lows    []float64   // how many b_jk are subnormal
}

// freivalds returns a check of these rows and columns of the product, without its sums.
func (m *multiplication) freivalds(seed uint64, rows, cols []int64) *judge.Freivalds {
	return &judge.Freivalds{
		Rows: rows, Cols: cols, Seed: seed, Sums: make([][]float64, len(rows)),
		ErrorBound: make([]float64, len(rows)), Element: m.elementAt,
	}
}

// freivalds makes the sums that cover rows and columns of the product. With |R_j| at most |alpha|*(|a|.|b_j|)
// + |beta*c_j|, the sum of T over the columns j of a row is at most
//
//	(|alpha|*u32*g(K) + 3*u32*|alpha|) * sum_k |a_k|*sum_j |b_jk| + 2*u32*sum_j |beta*c_j|
//
// which needs no element of the product, and in 16 bits the loss to subnormal operands (see alignment). The
// sums under the signs are off by (g(N)+g(K))*u64 of the same magnitudes.
func (s *fp32Sums) freivalds(m *multiplication, seed uint64, rows, cols []int64) *judge.Freivalds {
	f := m.freivalds(seed, rows, cols)
	if len(rows) == 0 || len(cols) == 0 {
		return f
	}
	signs := judge.SignsOf(seed, cols)
	matrices := s.signedMatrices(cols, signs)
	parallel.EachWith(int64(len(rows)), m.newRow, func(a factors, i int64) {
		m.row(s.a, a, rows[i])
		f.Sums[i], f.ErrorBound[i] = s.signedSums(a.values, matrices[rows[i]/s.a.rows], rows[i], cols, signs)
	})
	return f
}

// signedColumns is the length along k that one core adds up at once.
const signedColumns = 256

func (s *fp32Sums) signedMatrices(cols []int64, signs [][]float64) []signedMatrix {
	all := make([]signedMatrix, s.b.batch)
	for i := range all {
		all[i] = signedMatrix{signed: make([][]float64, len(signs)), sizes: make([]float64, s.b.k)}
		for v := range signs {
			all[i].signed[v] = make([]float64, s.b.k)
		}
		if s.smallest > 0 {
			all[i].aligned, all[i].lows = make([]float64, s.b.k), make([]float64, s.b.k)
		}
	}
	blocks := ceilDiv(s.b.k, signedColumns)
	parallel.Each(s.b.batch*blocks, func(i int64) {
		matrix, first := i/blocks, i%blocks*signedColumns
		last := min(first+signedColumns, s.b.k)
		row := make([]float64, last-first)
		for j, col := range cols {
			s.b.matrix.DecodeRow(row, matrix*s.b.rows+col, first)
			truth.AxpyAbs(all[matrix].sizes[first:last], 1, row)
			s.countLows(all[matrix], row, first)
			for v := range signs {
				truth.Axpy(all[matrix].signed[v][first:last], signs[v][j], row)
			}
		}
	})
	return all
}

// signedSums returns the sums of a row under the signs, and the bound of its sum_j T_j.
func (s *fp32Sums) signedSums(a []float64, b signedMatrix, row int64, cols []int64, signs [][]float64) (
	sums []float64, errorBound float64,
) {
	sums = make([]float64, len(signs))
	for v := range sums {
		dot, _ := truth.Dots(a, b.signed[v])
		sums[v] = s.Alpha * dot
	}
	_, size := truth.Dots(a, b.sizes)
	size *= math.Abs(s.Alpha)
	added := 0.0
	if s.adds {
		c := make([]float64, s.b.rows)
		s.added.DecodeRow(c, row, 0)
		for j, col := range cols {
			added += math.Abs(s.Beta * c[col])
			for v := range sums {
				sums[v] += signs[v][j] * s.Beta * c[col]
			}
		}
	}
	n := int64(len(cols))
	unit, lost := judge.U32*judge.G(s.a.k), math.Abs(s.Alpha)*s.signedLoss(a, b)
	if s.tf32 {
		unit += 2 * judge.UTF
		for k, v := range a {
			lost += b.sizes[k] + float64(n)*math.Abs(v) // as if every factor lay below the normal range
		}
		lost *= math.Abs(s.Alpha) * truth.TF32Lost // fp32 operands: no other loss
	}
	if s.Alpha != 1 || s.adds {
		unit += 3 * judge.U32
	}
	errorBound = truth.Weighted(size, unit) + lost + 2*judge.U32*added + float64(n)*s.subnormal()
	return sums, errorBound + (judge.G(n)+judge.G(s.a.k))*judge.U64*(size+added)
}
