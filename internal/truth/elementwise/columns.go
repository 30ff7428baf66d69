package elementwise

import (
	"triad/internal/judge"
	"triad/internal/parallel"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// stripe is the number of columns of a task, which adds up rowBlock rows before their sum joins the total, so
// that the error of a long column stays small.
const stripe, rowBlock = 64, 128

// columns returns an output that is the sum of its formula over the rows of the first input.
func columns(k *truth.Request, output Output, names []string, in truth.RowInputs) (judge.Target, error) {
	like := in.Tensors[0]
	e, err := NewTerm(k, output.At(k.Attrs), names, like.DType)
	if err != nil {
		return judge.Target{}, err
	}
	rows := truth.RowsOf(like)
	t := k.TargetAt(output.Name, like.DType, []int64{in.Cols}, nil)
	parallel.Each((in.Cols+stripe-1)/stripe, func(task int64) {
		first := task * stripe
		n := min(stripe, in.Cols-first)
		own, row := e.Memory(n)(), rowOf(n)
		total, block := make([]columnSum, n), make([]columnSum, n)
		for r := range rows {
			for i := range own.Rows {
				in.ReadPart(i, own.Rows[i], r, first)
			}
			e.Fill(own, row)
			for c := range block {
				block[c].add(row, c)
			}
			if (r+1)%rowBlock == 0 || r+1 == rows {
				for c := range total {
					total[c].join(block[c])
				}
				clear(block)
			}
		}
		for i, s := range total {
			c := first + int64(i)
			t.R[c], t.Sim[c] = s.Sum, tensor.Round(t.DType, s.sim, false)
			t.T[c], t.TFP32[c] = k.SumError(s.Terms)
		}
	})
	return t, nil
}

// columnSum is the sum of one column: the figures of its terms, and the result under the simulated contract.
type columnSum struct {
	truth.Terms
	sim float64
}

// add joins the term of one row.
func (s *columnSum) add(row truth.Row, c int) {
	s.Terms = s.With(truth.Term(row.R[c], row.T[c], row.TFP32[c]))
	s.sim += row.Sim[c]
}

func (s *columnSum) join(o columnSum) {
	s.Terms = s.With(o.Terms)
	s.sim += o.sim
}

// rowOf returns room for the results of n columns.
func rowOf(n int64) truth.Row {
	v := make([]float64, 4*n)
	return truth.Row{R: v[:n], T: v[n : 2*n], TFP32: v[2*n : 3*n], Sim: v[3*n:]}
}
