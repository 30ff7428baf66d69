package judge

import (
	"fmt"
	"sync/atomic"

	"triad/internal/parallel"
)

// Values are the truth of a run of elements: see Target.
type Values struct {
	R, T, TFP32, Sim []float64
	segments         []segment // the sums for G4 and G5, where several readers share them
}

// Rows computes the truth of an output row by row while it is judged, where keeping it would take gigabytes.
// The output is seen as [rows, last dim], and every element of it is judged.
type Rows struct {
	// Length is the row length of an output of one dim, the last row of which may be shorter; 0 where rows
	// are those of the last dim.
	Length int64
	// Fill makes the working memory of one core. The function it returns fills the rows from first up to end,
	// for which into has room.
	Fill func() func(into Values, first, end int64) error
	// OneErrorBound: TFP32 is T.
	OneErrorBound bool

	scan scan // shared by all current judges of the output
}

// room returns memory for the truth of n elements.
func (r *Rows) room(n int) Values {
	v := Values{R: make([]float64, n), T: make([]float64, n), Sim: make([]float64, n)}
	if v.TFP32 = v.T; !r.OneErrorBound {
		v.TFP32 = make([]float64, n)
	}
	return v
}

// part returns the elements from first up to end.
func (v Values) part(first, end int) Values {
	return Values{R: v.R[first:end], T: v.T[first:end], TFP32: v.TFP32[first:end], Sim: v.Sim[first:end]}
}

// stored returns the values of a target that keeps them.
func (t Target) stored() Values { return Values{R: t.R, T: t.T, TFP32: t.TFP32, Sim: t.Sim} }

// Judged returns the number of elements that are judged one by one.
func (t Target) Judged() int {
	if t.Rows != nil {
		return int(t.Elements())
	}
	return len(t.R)
}

// pieces divides the judged elements of an output into the runs that are added up one by one. Where every
// element is judged a run holds whole rows, or a part of one row, so that its sums are the same bits whether
// the truth is kept or computed row by row. A sample is one long row.
type pieces struct {
	n      int // judged elements
	row    int // elements of a row, of several short ones, or of the sample
	each   int // elements of a run, of which a row has perRow, the last of them shorter
	perRow int
}

func piecesOf(t Target) pieces {
	p := pieces{n: t.Judged()}
	cols := int(blockShape(t).cols)
	switch {
	case t.Index != nil:
		p.row, p.each = max(p.n, 1), chunk
	case t.Rows != nil && t.Rows.Length > 0: // the same runs as of one kept row
		p.row, p.each = chunk, chunk
	case cols > chunk:
		p.row, p.each = cols, chunk
	default:
		p.row, p.each = chunk/cols*cols, chunk/cols*cols
	}
	p.perRow = (p.row + p.each - 1) / p.each
	return p
}

// rows returns the number of rows.
func (p pieces) rows() int { return (p.n + p.row - 1) / p.row }

// count returns the number of runs.
func (p pieces) count() int {
	whole := p.n / p.row
	return whole*p.perRow + (p.n-whole*p.row+p.each-1)/p.each
}

// ofRow returns the runs of a row: from the first one up to an end.
func (p pieces) ofRow(row int) (first, end int) {
	return row * p.perRow, min((row+1)*p.perRow, p.count())
}

// at returns the start and the end of run i.
func (p pieces) at(i int) (first, end int) {
	row := i / p.perRow * p.row
	first = row + i%p.perRow*p.each
	return first, min(first+p.each, row+p.row, p.n)
}

// eachPiece calls work for every run of the judged elements, on all cores: the i-th begins with element first
// and has the truth v. It returns an error where a truth that is computed row by row is not fit to judge.
// Concurrent readers of such a truth share it.
func (t Target) eachPiece(p pieces, work func(i, first int, v Values)) error {
	if t.Rows == nil {
		kept := t.stored()
		parallel.Each(p.count(), func(i int) {
			first, end := p.at(i)
			work(i, first, kept.part(first, end))
		})
		return nil
	}
	return t.Rows.scan.read(t, p, func(row int, runs []Values) {
		for k, v := range runs {
			i := row*p.perRow + k
			first, _ := p.at(i)
			work(i, first, v)
		}
	})
}

// fillRows computes some rows and rejects those that cannot judge.
func (t Target) fillRows(fill func(into Values, first, end int64) error, into Values, first,
	end int64,
) error {
	if err := fill(into, first, end); err != nil {
		return err
	}
	part := t.rowsAs(into, first, end)
	if err := part.Check(); err != nil {
		return fmt.Errorf("rows %d to %d: %w", first, end-1, err)
	}
	return nil
}

// rowsAs returns a target that keeps the truth of some rows, and of nothing else.
func (t Target) rowsAs(v Values, first, end int64) Target {
	shape := []int64{end - first, blockShape(t).cols}
	if t.Rows.Length > 0 {
		shape = []int64{int64(len(v.R))}
	}
	t.Rows, t.Index, t.Shape = nil, nil, shape
	t.R, t.T, t.TFP32, t.Sim = v.R, v.T, v.TFP32, v.Sim
	return t
}

// rowLength returns the row length of a target that is computed row by row.
func (t Target) rowLength() int64 {
	if t.Rows.Length > 0 {
		return t.Rows.Length
	}
	return blockShape(t).cols
}

// rowCount returns the number of such rows.
func (t Target) rowCount() int64 { return (t.Elements() + t.rowLength() - 1) / t.rowLength() }

// fewElements is the number of elements that a truth keeps where some rows stand for all.
const fewElements = 1 << 20

// few returns a target that keeps its truth. Of a target computed row by row it keeps the first row, the last
// ones and some between, about fewElements in all: an output rejected in these rows is rejected.
func (t Target) few() (Target, error) {
	if t.Rows == nil {
		return t, nil
	}
	n := t.rowCount()
	wanted := min(n, max(2, fewElements/t.rowLength()))
	var rows []int64
	last := min(wanted-1, max(1, wanted/2))
	for i := range wanted - last {
		rows = append(rows, i*(n-last)/(wanted-last))
	}
	for r := n - last; r < n; r++ {
		rows = append(rows, r)
	}
	return t.keep(rows)
}

// keep returns a target that keeps the truth of some rows, in increasing order.
func (t Target) keep(rows []int64) (Target, error) {
	kept, length, n := t, t.rowLength(), t.Elements()
	kept.Rows, kept.Index = nil, make([]int64, 0, int64(len(rows))*length)
	for _, r := range rows {
		for at := r * length; at < min((r+1)*length, n); at++ {
			kept.Index = append(kept.Index, at)
		}
	}
	v := t.Rows.room(len(kept.Index))
	kept.R, kept.T, kept.TFP32, kept.Sim = v.R, v.T, v.TFP32, v.Sim
	var failure atomic.Pointer[error]
	parallel.EachWith(len(rows), t.Rows.Fill, func(fill func(Values, int64, int64) error, i int) {
		first := i * int(length) // the last row, which alone may be shorter, comes last
		into := v.part(first, min(first+int(length), len(v.R)))
		if err := t.fillRows(fill, into, rows[i], rows[i]+1); err != nil {
			failure.CompareAndSwap(nil, &err)
		}
	})
	if err := failure.Load(); err != nil {
		return kept, *err
	}
	return kept, nil
}

// Kept returns the target with its whole truth in memory.
func (t Target) Kept() (Target, error) {
	if t.Rows == nil {
		return t, nil
	}
	rows := make([]int64, t.rowCount())
	for r := range rows {
		rows[r] = int64(r)
	}
	kept, err := t.keep(rows)
	kept.Index = nil
	return kept, err
}
