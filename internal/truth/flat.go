package truth

import (
	"triad/internal/judge"
	"triad/internal/op"
)

// FlatRow is the row length of a tensor of one dim, for a sample and for a truth that is computed row by row.
// The last row may be shorter.
const FlatRow = 4096

// FlatTarget is RowTarget for an output of one dim whose rows FillFlat computes.
func (k *Request) FlatTarget(name string, d op.DType, n int64) judge.Target {
	shape := []int64{n}
	if k.byRows {
		t := k.described(name, d, shape)
		t.Rows = &judge.Rows{Length: FlatRow}
		return t
	}
	chosen := k.Sample.Choose(flatRows(n))
	if chosen == nil {
		return k.TargetAt(name, d, shape, nil)
	}
	index := []int64{}
	for _, r := range chosen {
		for i := r * FlatRow; i < min((r+1)*FlatRow, n); i++ {
			index = append(index, i)
		}
	}
	return k.TargetAt(name, d, shape, index)
}

// flatRows returns the number of rows of a tensor of one dim.
func flatRows(n int64) int64 { return (n + FlatRow - 1) / FlatRow }

// FillFlat calls work for the rows of an output of one dim as FillRows does: first is the position of the
// row's first element.
func FillFlat[S any](k *Request, t judge.Target, memory func() S, work func(own S, first int64, out Row)) {
	n := t.Elements()
	if t.Rows == nil {
		EachRowWith(k.Sample.Choose(flatRows(n)), flatRows(n), memory, func(own S, i, r int64) {
			a := i * FlatRow // the last row comes last
			b := a + min(FlatRow, n-r*FlatRow)
			work(own, r*FlatRow, Row{t.R[a:b], t.T[a:b], t.TFP32[a:b], t.Sim[a:b]})
		})
		return
	}
	t.Rows.Fill = func() func(into judge.Values, first, end int64) error {
		own := memory()
		return func(into judge.Values, first, end int64) error {
			clearValues(into)
			for r := first; r < end; r++ {
				a := (r - first) * FlatRow
				b := a + min(FlatRow, n-r*FlatRow)
				work(own, r*FlatRow, Row{into.R[a:b], into.T[a:b], into.TFP32[a:b], into.Sim[a:b]})
			}
			return nil
		}
	}
}

// clearValues makes room for work that skips zeros.
func clearValues(v judge.Values) {
	for _, x := range [][]float64{v.R, v.T, v.TFP32, v.Sim} {
		clear(x)
	}
}
