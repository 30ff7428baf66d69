package truth

import (
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/tensor"
)

// RowStatistic returns an fp32 output with one value a row.
func (k *Request) RowStatistic(name string, rows int64, chosen []int64) judge.Target {
	t := k.Target(name, op.FP32, []int64{rows, 1}, chosen)
	t.Shape = []int64{rows}
	return t
}

// SetOne fills one element whose error bound has no low-precision part.
func SetOne(t judge.Target, i int64, r, errorBound float64) {
	t.R[i], t.T[i], t.TFP32[i], t.Sim[i] = r, errorBound, errorBound, tensor.Round(t.DType, r, false)
}

// RoundRow rounds every value to a dtype.
func RoundRow(to, from []float64, d op.DType) {
	if f, ok := tensor.FormatOf(d); ok {
		f.RoundAll(to, from, false)
		return
	}
	for i, v := range from {
		to[i] = tensor.Round(d, v, false)
	}
}

// Row is one row of an output being filled.
type Row struct {
	R, T, TFP32, Sim []float64
}

// RowOf returns the i-th judged row of a target whose rows have cols elements.
func RowOf(t judge.Target, i, cols int64) Row {
	a, b := i*cols, (i+1)*cols
	return Row{t.R[a:b], t.T[a:b], t.TFP32[a:b], t.Sim[a:b]}
}

// Through returns the row and those after it: rows of its length in all.
func (r Row) Through(rows int64) Row {
	n := int64(len(r.R)) * rows
	return Row{r.R[:n], r.T[:n], r.TFP32[:n], r.Sim[:n]}
}

// EachRowWith calls work for every judged row on all cores: i counts the judged rows, r is the row of the
// output. Each core has its own working memory: see parallel.EachWith.
func EachRowWith[S any](rows []int64, n int64, memory func() S, work func(own S, i, r int64)) {
	if rows != nil {
		n = int64(len(rows))
	}
	parallel.EachWith(n, memory, func(own S, i int64) {
		if rows != nil {
			work(own, i, rows[i])
			return
		}
		work(own, i, i)
	})
}
