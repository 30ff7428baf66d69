package truth

import (
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/tensor"
)

// Exact makes an output whose every element is known to the bit. memory is called once a core; the function
// it returns computes the element at an index, which it must not keep.
func (k *Request) Exact(t op.TensorType, memory func() func(at []int64) float64) judge.Target {
	fill := func(value func(at []int64) float64, r, sim []float64, first int64) {
		at := IndexOf(first, t.Shape)
		for i := range r {
			r[i] = value(at)
			sim[i] = r[i]
			next(at, t.Shape)
		}
	}
	cols := int64(1)
	switch rank := len(t.Shape); rank {
	case 0:
	case 1:
		target := k.FlatTarget(t.Name, t.DType, t.Elements())
		FillFlat(k, target, memory, func(value func(at []int64) float64, first int64, out Row) {
			fill(value, out.R, out.Sim, first)
		})
		return target
	default:
		cols = t.Shape[rank-1]
	}
	rows := int64(0)
	if cols > 0 {
		rows = t.Elements() / cols
	}
	chosen := k.Sample.Choose(rows)
	target := k.RowTargetInFP32(t.Name, t.DType, t.Shape, chosen)
	if chosen == nil && target.Rows == nil { // however long a row is, on all cores
		parallel.Runs(len(target.R), func(first, end int) {
			fill(memory(), target.R[first:end], target.Sim[first:end], int64(first))
		})
		return target
	}
	FillRows(k, target, chosen, memory, func(value func(at []int64) float64, _, r int64, out Row) {
		fill(value, out.R, out.Sim, r*cols)
	})
	return target
}

// IndexOf returns the index of a row-major position.
func IndexOf(position int64, shape []int64) []int64 {
	at := make([]int64, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		if shape[d] > 0 {
			at[d] = position % shape[d]
			position /= shape[d]
		}
	}
	return at
}

// PositionOf returns the row-major position of an index.
func PositionOf(at, shape []int64) int64 {
	position := int64(0)
	for d, i := range at {
		position = position*shape[d] + i
	}
	return position
}

// next advances the index to the following row-major position.
func next(at, shape []int64) {
	for d := len(at) - 1; d >= 0; d-- {
		if at[d]++; at[d] < shape[d] {
			return
		}
		at[d] = 0
	}
}

// ElementReader reads single elements of a tensor by their index.
func ElementReader(t tensor.Tensor) func(at []int64) float64 {
	size, value := t.DType.Size(), make([]float64, 1)
	return func(at []int64) float64 {
		place := t.Offset
		for d, i := range at {
			place += i * t.Stride[d]
		}
		tensor.DecodeInto(value, t.DType, t.Data[place*size:])
		return value[0]
	}
}
