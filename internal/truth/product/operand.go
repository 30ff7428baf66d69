package product

import (
	"fmt"
	"math"
	"slices"

	"triad/internal/parallel"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// operand is a batch of matrices with their scales, as method scale reads them.
type operand struct {
	matrix         tensor.Tensor // seen as [rows, k] or [batch, rows, k]
	vector         bool          // one row, and no dim of the output
	batch, rows, k int64
	block          int64     // of k, that a scale is for
	scales         []float64 // nil: none
	rowsPerScale   int64     // rows of a matrix that share a scale
	perMatrix      int64     // rows of scales of one matrix; 0 where all matrices have the same
	perRow, along  int64     // scales of one row; 1 where they go along k, else 0
	unit           float64   // the largest power of two that every value is a multiple of
}

// all returns the number of rows of the whole batch.
func (o operand) all() int64 { return o.batch * o.rows }

// operandOf reads a matrix and its scales.
func operandOf(k *truth.Request, scaling Scaling, f Factor) (operand, error) {
	t, err := k.Tensor(f.Tensor)
	if err != nil {
		return operand{}, err
	}
	rank := len(t.Shape)
	if rank < 1 || rank > 3 {
		return operand{}, fmt.Errorf("%s has shape %v: want a vector, a matrix, or a batch of them", f.Tensor,
			t.Shape)
	}
	vector := rank == 1
	if vector {
		t.Shape, t.Stride = []int64{1, t.Shape[0]}, []int64{0, t.Stride[0]}
		rank = 2
	}
	if f.Transposed {
		t.Shape, t.Stride = slices.Clone(t.Shape), slices.Clone(t.Stride)
		for _, x := range [][]int64{t.Shape, t.Stride} {
			x[rank-1], x[rank-2] = x[rank-2], x[rank-1]
		}
	}
	o := operand{
		matrix: t, vector: vector, batch: 1, rows: t.Shape[rank-2], k: t.Shape[rank-1],
		block: 1, rowsPerScale: 1,
	}
	if rank == 3 {
		o.batch = t.Shape[0]
	}
	if k.Distribution == "integers" {
		o.unit = unitOf(t.Float64s()) // needed only where every sum may be exact
	}
	if f.Scale == "" {
		return o, nil
	}
	return o, o.readScales(k, scaling, f)
}

// readScales reads the multipliers of an operand: one for all, one for each row, or one for block values of
// f.SharedRows rows of each matrix, as their shape has it.
func (o *operand) readScales(k *truth.Request, scaling Scaling, f Factor) error {
	s, err := k.Tensor(f.Scale)
	if err != nil {
		return err
	}
	o.scales, o.block = s.Float64s(), scaling.Block
	switch n := len(s.Shape); {
	case n > 1 && n == len(o.matrix.Shape):
		o.rowsPerScale, o.perRow, o.along = f.SharedRows, ceilDiv(o.k, o.block), 1
		o.perMatrix = ceilDiv(o.rows, f.SharedRows)
		if (n == 2 || s.Shape[0] == o.batch) && s.Shape[n-2] == o.perMatrix && s.Shape[n-1] == o.perRow {
			return nil
		}
	case len(s.Shape) == 1 && s.Shape[0] == o.rows:
		o.rowsPerScale, o.perRow = 1, 1
		return nil
	case len(s.Shape) == 1 && s.Shape[0] == 1:
		o.rowsPerScale = max(o.rows, 1)
		return nil
	}
	return fmt.Errorf("%s has shape %v: want [1], [%d], or a scale for each %d x %d of %d x %d", f.Scale,
		s.Shape, o.rows, f.SharedRows, o.block, o.rows, o.k)
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

// scale returns the multiplier of row r, numbered through the batch, in block b along k.
func (o operand) scale(r, b int64) float64 {
	if o.scales == nil {
		return 1
	}
	return o.scales[(r/o.rows*o.perMatrix+r%o.rows/o.rowsPerScale)*o.perRow+b*o.along]
}

// notFinite lists the rows with a number or scale that is not finite.
func (o operand) notFinite() []int64 {
	var rows []int64
	row := make([]float64, o.k)
	for r := range o.all() {
		o.matrix.DecodeRow(row, r, 0)
		for k, v := range row {
			if !truth.IsFinite(v * o.scale(r, int64(k)/o.block)) {
				rows = append(rows, r)
				break
			}
		}
	}
	return rows
}

// factors are rows of an operand: the values, and what else the contract's arithmetic sees of them (nil where
// that is nothing).
type factors struct{ values, seen []float64 }

// part returns the factors from k = first to last.
func (f factors) part(first, last int64) factors {
	p := factors{values: f.values[first:last]}
	if f.seen != nil {
		p.seen = f.seen[first:last]
	}
	return p
}

// room returns memory for n numbers of an operand.
func (m *multiplication) room(n int64) factors {
	f := factors{values: make([]float64, n)}
	if m.sums.seesMore() {
		f.seen = make([]float64, n)
	}
	return f
}

// newRow returns room for one decoded row of an operand.
func (m *multiplication) newRow() factors { return m.room(m.a.k) }

// row decodes one row.
func (m *multiplication) row(o operand, into factors, r int64) factors {
	o.matrix.DecodeRow(into.values, r, 0)
	m.sums.see(o, into)
	return into
}

// rows decodes some rows in sequence.
func (m *multiplication) rows(o operand, rows []int64) factors {
	all := m.room(int64(len(rows)) * o.k)
	parallel.Each(int64(len(rows)), func(i int64) { m.row(o, all.part(i*o.k, (i+1)*o.k), rows[i]) })
	return all
}

// unitOf returns the largest power of two that every value is a multiple of; 0 where one is not finite, 1
// where all are 0.
func unitOf(values []float64) float64 {
	lowest := math.MaxInt
	for _, v := range values {
		if !truth.IsFinite(v) {
			return 0
		}
		if v != 0 {
			fraction, exponent := math.Frexp(v)
			for fraction != math.Trunc(fraction) {
				fraction, exponent = fraction*2, exponent-1
			}
			lowest = min(lowest, exponent)
		}
	}
	if lowest == math.MaxInt {
		return 1
	}
	return math.Ldexp(1, lowest)
}

// Dequantized returns the rows of a matrix times its scales.
func Dequantized(k *truth.Request, scaling Scaling, f Factor) ([][]float64, error) {
	o, err := operandOf(k, scaling, f)
	if err != nil {
		return nil, err
	}
	rows := make([][]float64, o.all())
	for r := range rows {
		rows[r] = make([]float64, o.k)
		o.matrix.DecodeRow(rows[r], int64(r), 0)
		for c := range rows[r] {
			rows[r][c] *= o.scale(int64(r), int64(c)/o.block)
		}
	}
	return rows, nil
}
