package product

import (
	"slices"

	"triad/internal/judge"
	"triad/internal/parallel"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// part selects the elements of a product that are compared one by one: whole rows and whole columns. Rows are
// numbered through the batch; columns are the same in each of its matrices. index is nil where everything is
// compared.
type part struct {
	rows, cols []int64 // in increasing order; of a whole product every row and no column
	start      []int64 // of every row: where its elements begin among those that are compared
	index      []int64
	n          int64
	seed       uint64
}

// choosePart chooses rows and columns of a product by sample, each as Sample.Choose does, and those with a
// number that is not finite, which no sum of random signs can cover. For a product with a vector it chooses
// all: sums that cover its one column would cost as much.
func (m *multiplication) choosePart(k *truth.Request) part {
	rows, cols := m.a.all(), m.b.rows
	if m.b.vector {
		return partOf(nil, rows, cols, nil)
	}
	return partOf(k.Sample, rows, cols, func() (ofRows, ofCols []int64) {
		if !k.DeclaresInfinity() {
			return nil, nil
		}
		return m.unfit()
	})
}

// unfit lists the rows and columns that no sum of random signs can cover.
func (m *multiplication) unfit() (rows, cols []int64) {
	cols = m.b.notFinite()
	for i := range cols {
		cols[i] %= m.b.rows
	}
	return truth.Union(m.a.notFinite(), m.sums.unread()), cols
}

// partOf chooses rows and columns by sample, and those that are unfit for sums.
func partOf(sample *truth.Sample, rows, cols int64, unfit func() (rows, cols []int64)) part {
	p := part{rows: sample.Choose(rows), cols: sample.Columns().Choose(cols)}
	whole := p.rows == nil && p.cols == nil
	if whole {
		p.rows = truth.Rest(nil, rows)
	} else {
		unfitRows, unfitCols := unfit()
		p.rows, p.cols = truth.Union(p.rows, unfitRows), truth.Union(p.cols, unfitCols)
	}
	p.start = make([]int64, rows)
	sampled := 0
	for r := range rows {
		p.start[r] = p.n
		if sampled < len(p.rows) && p.rows[sampled] == r {
			p.n += cols
			sampled++
		} else {
			p.n += int64(len(p.cols))
		}
	}
	if !whole {
		p.seed = sample.Seed
		p.list(rows, cols)
	}
	return p
}

// list makes the index of a part that is not the whole.
func (p *part) list(rows, cols int64) {
	p.index = make([]int64, 0, p.n)
	sampled := 0
	for r := range rows {
		if sampled < len(p.rows) && p.rows[sampled] == r {
			for n := range cols {
				p.index = append(p.index, r*cols+n)
			}
			sampled++
			continue
		}
		for _, n := range p.cols {
			p.index = append(p.index, r*cols+n)
		}
	}
}

// within returns the part of some rows, which are counted from the first of them.
func (p part) within(first, end int64) part {
	from, _ := slices.BinarySearch(p.rows, first)
	to, _ := slices.BinarySearch(p.rows, end)
	p.rows = slices.Clone(p.rows[from:to])
	for i := range p.rows {
		p.rows[i] -= first
	}
	p.start = p.start[first:end]
	return p
}

// ofMatrix returns the range of the chosen rows of one matrix of the batch, each of rows rows.
func (p part) ofMatrix(matrix, rows int64) (first, end int) {
	first, _ = slices.BinarySearch(p.rows, matrix*rows)
	end, _ = slices.BinarySearch(p.rows, (matrix+1)*rows)
	return first, end
}

// fill computes the chosen part: whole rows of the first operand against every row of the second, then the
// columns that are left. It reports whether every sum is exact.
func (m *multiplication) fill(c judge.Target, p part) bool {
	rows, cols, k := m.a.rows, m.b.rows, m.a.k
	// of each column against the whole rows, and of each remaining row
	exact := make([]bool, m.b.all()+m.a.all())
	a := m.rows(m.a, p.rows)
	parallel.EachWith(m.b.all(), m.newRow, func(b factors, n int64) {
		m.row(m.b, b, n)
		exact[n] = true
		first, end := p.ofMatrix(n/cols, rows)
		for i := first; i < end; i++ {
			r := p.rows[i]
			exact[n] = m.put(c, p.start[r]+n%cols, a.part(int64(i)*k, int64(i+1)*k), b, r, n) && exact[n]
		}
	})
	left, chosen := truth.Rest(p.rows, m.a.all()), int64(len(p.cols))
	var of []int64
	for matrix := range m.b.batch {
		for _, n := range p.cols {
			of = append(of, matrix*cols+n)
		}
	}
	b := m.rows(m.b, of)
	parallel.EachWith(int64(len(left)), m.newRow, func(a factors, i int64) {
		r, at := left[i], m.b.all()+i
		m.row(m.a, a, r)
		exact[at] = true
		for j := range chosen {
			n := r/rows*chosen + j
			exact[at] = m.put(c, p.start[r]+j, a, b.part(n*k, (n+1)*k), r, of[n]) && exact[at]
		}
	})
	return !slices.Contains(exact[:m.b.all()+int64(len(left))], false)
}

// put computes element (r, n) of the product into the target and reports whether its every sum is exact.
func (m *multiplication) put(c judge.Target, at int64, a, b factors, r, n int64) bool {
	e := m.sums.element(a, b, r, n)
	c.R[at], c.T[at], c.Sim[at] = e.r, e.t, tensor.Round(m.out, e.sim, false)
	if m.sums.lowered() {
		c.TFP32[at] = e.tFP32
	}
	return m.integers && m.sums.exact(a, b, r, n)
}

// elementAt returns R and T of one element; the column is within its row's matrix.
func (m *multiplication) elementAt(row, col int64) (r, t float64) {
	n := row/m.a.rows*m.b.rows + col
	e := m.sums.element(m.row(m.a, m.newRow(), row), m.row(m.b, m.newRow(), n), row, n)
	return e.r, e.t
}
