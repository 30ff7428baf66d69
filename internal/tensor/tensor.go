// Package tensor holds named bytes with a dtype and a shape, and the exact codecs between those bytes and
// fp64.
package tensor

import (
	"fmt"
	"math/bits"

	"triad/internal/op"
	"triad/internal/parallel"
)

// Tensor is a strided view of Data. Element (i0, i1, ...) lies at Offset + i0*Stride[0] + i1*Stride[1] + ...,
// counted in elements. Data is the whole storage, which may be larger than what the view reaches (sliced) or
// smaller than Shape suggests (expanded, stride 0).
type Tensor struct {
	Name   string
	DType  op.DType
	Shape  []int64
	Stride []int64
	Offset int64
	Data   []byte
}

// Elements returns the number of elements of the view.
func (t Tensor) Elements() int64 {
	n := int64(1)
	for _, s := range t.Shape {
		n *= s
	}
	return n
}

// Contiguous returns the row-major strides of a shape, in elements.
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

// IsContiguous reports whether the view is row-major without gaps; its first element may lie anywhere. The
// stride of a dim of size 1 does not matter, and a view without elements is contiguous.
func (t Tensor) IsContiguous() bool {
	if t.Elements() == 0 {
		return true
	}
	for i, want := range Contiguous(t.Shape) {
		if t.Shape[i] != 1 && t.Stride[i] != want {
			return false
		}
	}
	return true
}

// Float64s returns the values of the view in logical row-major order, each exact. The view must lie within
// Data: see Check.
func (t Tensor) Float64s() []float64 {
	values := make([]float64, t.Elements())
	t.decode(values)
	return values
}

// LentFloat64s is Float64s into working memory: see Lend.
func (t Tensor) LentFloat64s() []float64 {
	values := Lend(int(t.Elements()))
	t.decode(values)
	return values
}

// decode sets values, of which there are as many as elements, to the elements of the view.
func (t Tensor) decode(values []float64) {
	if len(values) == 0 {
		return
	}
	size := t.DType.Size()
	if t.IsContiguous() {
		parallel.Runs(len(values), func(first, end int) {
			DecodeInto(values[first:end], t.DType, t.Data[(t.Offset+int64(first))*size:])
		})
		return
	}
	storage := Decode(t.DType, t.Data)
	t.walk(func(i, at int64) { values[i] = storage[at] })
}

// SetFloat64s writes values, in logical row-major order, to the elements of the view, each rounded once. If
// elements share a place (stride 0), the last value stays.
func (t Tensor) SetFloat64s(values []float64) {
	size := t.DType.Size()
	if t.IsContiguous() {
		parallel.Runs(len(values), func(first, end int) {
			EncodeInto(t.Data[(t.Offset+int64(first))*size:], t.DType, values[first:end])
		})
		return
	}
	encoded := Encode(t.DType, values)
	t.walk(func(i, at int64) { copy(t.Data[at*size:(at+1)*size], encoded[i*size:]) })
}

// walk calls visit with the row-major position of every element and its place in the storage.
func (t Tensor) walk(visit func(position, place int64)) {
	n := t.Elements()
	index := make([]int64, len(t.Shape))
	place := t.Offset
	for i := range n {
		visit(i, place)
		for d := len(index) - 1; d >= 0; d-- {
			index[d]++
			place += t.Stride[d]
			if index[d] < t.Shape[d] {
				break
			}
			place -= index[d] * t.Stride[d]
			index[d] = 0
		}
	}
}

// Check returns what is wrong with the view: a missing name or dtype, shape and stride of different length, a
// negative size or stride, more than 2^62 elements, or an element outside Data.
func (t Tensor) Check() error {
	size := t.DType.Size()
	if size == 0 || len(t.Shape) != len(t.Stride) {
		return fmt.Errorf("tensor %s: dtype %s, shape %v, stride %v: want a known dtype and a stride for "+
			"every dim", t.Name, t.DType, t.Shape, t.Stride)
	}
	last, empty := t.Offset, false
	for i, n := range t.Shape {
		if n < 0 || t.Stride[i] < 0 || t.Offset < 0 {
			return fmt.Errorf("tensor %s: shape %v, stride %v, offset %d: want none negative", t.Name,
				t.Shape, t.Stride, t.Offset)
		}
		if n == 0 {
			empty = true
			continue
		}
		high, reach := bits.Mul64(uint64(n-1), uint64(t.Stride[i]))
		if high != 0 || reach > 1<<62 || last > 1<<62-int64(reach) {
			return fmt.Errorf("tensor %s: shape %v, stride %v reach beyond 2^62 elements", t.Name,
				t.Shape, t.Stride)
		}
		last += int64(reach)
	}
	if have := int64(len(t.Data)) / size; !empty && last >= have {
		return fmt.Errorf("tensor %s: shape %v, stride %v, offset %d reach element %d of a storage of %d",
			t.Name, t.Shape, t.Stride, t.Offset, last, have)
	}
	return nil
}

// DecodeRow decodes part of one row of the view, seen as [rows, last dim], exactly: the len(into) elements
// from column first on. A view without dims is one row of one element. Row and columns must lie within the
// view.
func (t Tensor) DecodeRow(into []float64, row, first int64) {
	if len(into) == 0 {
		return
	}
	size := t.DType.Size()
	place, step := t.Offset, int64(1)
	if last := len(t.Shape) - 1; last >= 0 {
		step = t.Stride[last]
		place += first * step
		for d := last - 1; d >= 0; d-- {
			place += row % t.Shape[d] * t.Stride[d]
			row /= t.Shape[d]
		}
	}
	if step == 1 {
		DecodeInto(into, t.DType, t.Data[place*size:])
		return
	}
	for i := range into {
		DecodeInto(into[i:i+1], t.DType, t.Data[place*size:])
		place += step
	}
}
