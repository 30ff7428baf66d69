package catalog

import (
	"math"

	"triad/internal/op"
	"triad/internal/tensor"
)

// rowInputs are inputs that are read row by row, seen as [rows, last dim] with as many columns each.
type rowInputs struct {
	tensors []tensor.Tensor
	cols    int64
}

// rows gives inputs of one shape to be read row by row.
func (k *call) rows(names ...string) (rowInputs, error) {
	var in rowInputs
	for _, name := range names {
		t, err := k.tensor(name)
		if err == nil && len(in.tensors) > 0 {
			err = k.shaped(name, in.tensors[0].Shape...)
		}
		if err != nil {
			return in, err
		}
		in.tensors, in.cols = append(in.tensors, t), 1
		if rank := len(t.Shape); rank > 0 {
			in.cols = t.Shape[rank-1]
		}
	}
	return in, nil
}

// memory is room for one row of every input and as many more.
func (in rowInputs) memory(more int) func() [][]float64 {
	return func() [][]float64 {
		rows := make([][]float64, len(in.tensors)+more)
		for i := range rows {
			rows[i] = make([]float64, in.cols)
		}
		return rows
	}
}

// read decodes row r of every input.
func (in rowInputs) read(into [][]float64, r int64) {
	for i, t := range in.tensors {
		t.DecodeRow(into[i], r, 0)
	}
}

// sum adds pairwise, as sumOf does.
func sum(x []float64) float64 {
	if len(x) > 64 {
		mid := len(x) / 2
		return sum(x[:mid]) + sum(x[mid:])
	}
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s
}

// products fills z with x*y, and absolutes with |x|.
func products(z, x, y []float64) []float64 {
	x, y = x[:len(z)], y[:len(z)]
	for i := range z {
		z[i] = x[i] * y[i]
	}
	return z
}

func absolutes(z, x []float64) []float64 {
	x = x[:len(z)]
	for i := range z {
		z[i] = math.Abs(x[i])
	}
	return z
}

// roundRow rounds every value to a dtype.
func roundRow(to, from []float64, d op.DType) {
	if f, ok := tensor.FormatOf(d); ok {
		f.RoundAll(to, from)
		return
	}
	for i, v := range from {
		to[i] = tensor.Round(d, v, false)
	}
}
