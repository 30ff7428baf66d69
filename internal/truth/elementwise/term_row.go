package elementwise

import (
	"triad/internal/tensor"
	"triad/internal/truth"
)

// TermRow is the working memory of one core that computes terms of a sum, at most truth.FlatRow at a time.
type TermRow struct {
	*Memory
	values [4][]float64
}

// TermRows returns a function that makes the working memory of a core.
func (e *Evaluation) TermRows() func() *TermRow {
	memory := e.Memory(truth.FlatRow)
	return func() *TermRow {
		r := &TermRow{Memory: memory()}
		for i := range r.values {
			r.values[i] = make([]float64, truth.FlatRow)
		}
		return r
	}
}

// Terms computes n terms from element first of the inputs on. The next call overwrites the result.
func (e *Evaluation) Terms(own *TermRow, in []tensor.Tensor, first int64, n int) truth.Row {
	v := own.values
	row := truth.Row{R: v[0][:n], T: v[1][:n], TFP32: v[2][:n], Sim: v[3][:n]}
	own.Read(in, first, n)
	e.Fill(own.Memory, row)
	return row
}
