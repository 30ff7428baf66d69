package truth

import (
	"triad/internal/judge"
	"triad/internal/tensor"
)

// RowsOf returns the number of rows of a tensor.
func RowsOf(t tensor.Tensor) int64 {
	if rank := len(t.Shape); rank > 0 && t.Shape[rank-1] > 0 {
		return t.Elements() / t.Shape[rank-1]
	}
	return min(t.Elements(), 1)
}

// Elementwise makes an output that has the shape and dtype of the first input.
func (k *Request) Elementwise(in RowInputs, name string) judge.Target {
	like := in.Tensors[0]
	return k.RowTarget(name, like.DType, like.Shape, k.Sample.Choose(RowsOf(like)))
}

// FillElements calls work for the rows of an output of Elementwise, with the same rows of the inputs.
func (k *Request) FillElements(in RowInputs, t judge.Target, work func(own [][]float64, out Row)) {
	FillRows(k, t, k.Sample.Choose(RowsOf(in.Tensors[0])), in.Memory(0),
		func(own [][]float64, _, r int64, out Row) {
			in.Read(own, r)
			work(own, out)
		})
}
