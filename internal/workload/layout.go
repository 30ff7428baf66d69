package workload

import (
	"math"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/tensor"
)

// vectorBytes is the number of bytes that kernels read at once if rows begin at multiples of it.
const vectorBytes = 16

// longerRows returns the strides of a tensor whose rows are parts of longer ones.
func longerRows(shape []int64, more int64) []int64 {
	wide := slices.Clone(shape)
	wide[len(wide)-1] += more
	return tensor.Contiguous(wide)
}

// Padded returns the strides of an input of at least two dims in the layout "padded": rows that begin at
// multiples of 16 bytes in a contiguous tensor still do.
func Padded(t op.TensorType) []int64 { return longerRows(t.Shape, int64(vectorBytes/t.DType.Size())) }

// oneNumber is the layout of a tensor whose elements are one number, all strides being 0. Its storage is as
// long as a contiguous one: a kernel that takes it for contiguous reads NaN, on every machine.
const oneNumber = "one number"

// layOut encodes values, given in logical row-major order, into a storage of the layout. The storage outside
// the view is NaN, for integers an odd byte, so that a kernel that reads it is detected. In a sliced vector
// every second element belongs to the view. A layout that a shape cannot have (fewer than two dims, no
// element) leaves it contiguous.
func layOut(t op.TensorType, values []float64, layout string) tensor.Tensor {
	out := tensor.Tensor{Name: t.Name, DType: t.DType, Shape: t.Shape, Stride: tensor.Contiguous(t.Shape)}
	rank, storage := len(t.Shape), int64(len(values))
	ofVectors := layout == "offset" || layout == oneNumber || layout == "sliced" && rank == 1
	if storage == 0 || rank < 2 && !ofVectors {
		layout = "contiguous"
	}
	switch layout {
	case "offset":
		out.Offset = 1
		storage++
	case "sliced", "padded":
		if rank == 1 {
			out.Stride, storage = []int64{2}, 2*storage
			break
		}
		out.Stride = longerRows(t.Shape, 1)
		if layout == "padded" {
			out.Stride = Padded(t)
		}
		storage = storage / t.Shape[rank-1] * out.Stride[rank-2]
	case "transposed":
		swapped := slices.Clone(t.Shape)
		swapped[rank-1], swapped[rank-2] = swapped[rank-2], swapped[rank-1]
		out.Stride = tensor.Contiguous(swapped)
		out.Stride[rank-1], out.Stride[rank-2] = out.Stride[rank-2], out.Stride[rank-1]
	case oneNumber:
		out.Stride = make([]int64, rank)
		for i := range values {
			values[i] = values[0]
		}
	case "expanded":
		storage /= t.Shape[0]
		out.Stride[0] = 0
		for i := storage; i < int64(len(values)); i += storage {
			copy(values[i:], values[:storage])
		}
	}
	out.Data = make([]byte, storage*t.DType.Size())
	if slices.Contains([]string{"offset", "sliced", "padded", oneNumber}, layout) {
		beside := tensor.PoisonPattern(t.DType, "a")
		if t.DType.IsFloat() {
			beside = tensor.Encode(t.DType, []float64{math.NaN()})
		}
		for i := range out.Data {
			out.Data[i] = beside[i%len(beside)]
		}
	}
	out.SetFloat64s(values)
	return out
}

// negateNaNs sets the sign of every second element of a tensor's memory where that is NaN. On x86 0/0 has the
// sign: a kernel that orders numbers by their bits must not take it for the smallest.
func negateNaNs(data []byte, d op.DType) {
	size := d.Size()
	flat := tensor.Tensor{
		DType: d, Shape: []int64{int64(len(data)) / size}, Stride: []int64{1}, Data: data,
	}
	for i, v := range flat.Float64s() {
		if math.IsNaN(v) && i%2 == 1 {
			data[int64(i+1)*size-1] |= 0x80
		}
	}
}

// storedLimit returns half of the largest number of the case's first dtype.
func (m *maker) storedLimit() float64 {
	first, _, _ := strings.Cut(m.c.DType, "_")
	d, err := op.ParseDType(first)
	if f, ok := tensor.FormatOf(d); err == nil && ok {
		return f.Max / 2
	}
	return math.MaxFloat64
}
