// Package tensor holds named bytes with a dtype and a shape, and the exact codecs between those bytes and fp64.
package tensor

import "triad/internal/op"

// Tensor is a strided view of Data. Element (i0, i1, ...) lies at Offset + i0*Stride[0] + i1*Stride[1] + ..., counted in elements.
// Data is the whole storage, which may be larger than what the view reaches (sliced) or smaller than Shape suggests (expanded, stride 0).
type Tensor struct {
	Name   string
	DType  op.DType
	Shape  []int64
	Stride []int64
	Offset int64
	Data   []byte
}

// Elements is the number of elements of the view.
func (t Tensor) Elements() int64 {
	n := int64(1)
	for _, s := range t.Shape {
		n *= s
	}
	return n
}

// Contiguous gives the row-major strides of a shape, in elements.
func Contiguous(shape []int64) []int64 {
	stride := make([]int64, len(shape))
	n := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		stride[i] = n
		n *= max(shape[i], 1)
	}
	return stride
}

// New makes a contiguous tensor of zero bytes.
func New(name string, d op.DType, shape []int64) Tensor {
	t := Tensor{Name: name, DType: d, Shape: shape, Stride: Contiguous(shape)}
	t.Data = make([]byte, t.Elements()*d.Size())
	return t
}
