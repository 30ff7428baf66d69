package truth

import (
	"triad/internal/tensor"
)

// RowInputs are inputs that are read row by row, seen as [rows, last dim] with as many columns each.
type RowInputs struct {
	Tensors []tensor.Tensor
	Cols    int64
}

// Rows returns inputs of one shape to be read row by row.
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

// Broadcast returns inputs to be read row by row. The first determines the number of rows; an input of one
// dim, where the first has several, stands for every row.
func (k *Request) Broadcast(names ...string) (RowInputs, error) {
	var whole, single []string
	first, err := k.Tensor(names[0])
	for _, name := range names {
		if t, missing := k.Tensor(name); missing == nil && len(t.Shape) == 1 && len(first.Shape) > 1 {
			single = append(single, name)
			err = FirstError(err, k.Shaped(name, first.Shape[len(first.Shape)-1]))
			continue
		}
		whole = append(whole, name)
	}
	in, wrong := k.Rows(whole...)
	if err = FirstError(err, wrong); err != nil || len(single) == 0 {
		return in, err
	}
	in.Tensors, err = k.Tensors(names...)
	return in, err
}

// Memory makes room for one row of every input and as many more.
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
	for i := range in.Tensors {
		in.ReadPart(i, into[i], r, 0)
	}
}

// ReadPart decodes elements of row r of one input, from a column on.
func (in RowInputs) ReadPart(i int, into []float64, r, first int64) {
	if len(in.Tensors[i].Shape) < len(in.Tensors[0].Shape) {
		r = 0 // it is every row
	}
	in.Tensors[i].DecodeRow(into, r, first)
}
