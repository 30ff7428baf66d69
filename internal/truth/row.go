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

// NewRow returns a row of n zeros.
func NewRow(n int64) Row {
	return Row{make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)}
}

// RowOf returns the i-th judged row of a target whose rows have cols elements.
func RowOf(t judge.Target, i, cols int64) Row {
	a, b := i*cols, (i+1)*cols
	return Row{t.R[a:b], t.T[a:b], t.TFP32[a:b], t.Sim[a:b]}
}

// Part returns the i-th part of a row that consists of parts of n elements.
func (r Row) Part(i, n int64) Row {
	a, b := i*n, (i+1)*n
	return Row{r.R[a:b], r.T[a:b], r.TFP32[a:b], r.Sim[a:b]}
}

// Add adds a row of the same length.
func (r Row) Add(x Row) {
	Axpy(r.R, 1, x.R)
	Axpy(r.T, 1, x.T)
	Axpy(r.TFP32, 1, x.TFP32)
	Axpy(r.Sim, 1, x.Sim)
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
