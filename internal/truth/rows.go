package truth

import (
	"triad/internal/tensor"
)

// RowInputs are inputs that are read row by row, seen as [rows, last dim] with as many columns each.
type RowInputs struct {
	Tensors []tensor.Tensor
	Cols    int64
}

// Rows gives inputs of one shape to be read row by row.
func (k *Request) Rows(names ...string) (RowInputs, error) {
	var in RowInputs
	for _, name := range names {
		t, err := k.Tensor(name)
		if err == nil && len(in.Tensors) > 0 {
			err = k.Shaped(name, in.Tensors[0].Shape...)
		}
		if err != nil {
			return in, err
		}
		in.Tensors, in.Cols = append(in.Tensors, t), 1
		if rank := len(t.Shape); rank > 0 {
			in.Cols = t.Shape[rank-1]
		}
	}
	return in, nil
}

// Memory is room for one row of every input and as many more.
func (in RowInputs) Memory(more int) func() [][]float64 {
	return func() [][]float64 {
		rows := make([][]float64, len(in.Tensors)+more)
		for i := range rows {
			rows[i] = make([]float64, in.Cols)
		}
		return rows
	}
}

// Read decodes row r of every input.
func (in RowInputs) Read(into [][]float64, r int64) {
	for i, t := range in.Tensors {
		t.DecodeRow(into[i], r, 0)
	}
}
