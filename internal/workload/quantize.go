package workload

import (
	"fmt"
	"math"

	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/tensor"
)

// blockSize is the number of neighbours along a dim that share a scale in block scaling.
const blockSize = 128

// quantize returns the values of an operand [rows, cols], or of a batch of them, as its dtype holds them, and
// keeps the scales by which they are to be multiplied: amax / largest number, rounded to fp32, one for each
// group. The shape of the scale tensor says what a group is: [1] the tensor, [rows] a row, [rows,
// ceil(cols/128)] 1x128, [ceil(rows/128), ceil(cols/128)] 128x128, and of a batch [batch, ceil(rows/128),
// ceil(cols/128)] that of each matrix. A group of zeros has the scale 0. Under integers the operand
// holds the integers themselves and the scales are powers of two, so that every product is exact; those of
// one operand, where no other block's scale joins the same sum, have 9 significant bits, which is one more
// than a scale kept in bf16 has.
func (m *maker) quantize(t op.TensorType, fill op.Fill) ([]float64, error) {
	scaleType, err := m.typeOf(fill.Scale)
	if err != nil {
		return nil, err
	}
	if t.DType == op.E2M1x2 {
		return m.quantizePacked(t, scaleType, fill)
	}
	values := m.drawn[fill.Source].values
	n := len(t.Shape)
	rows, cols := t.Shape[n-2], t.Shape[n-1]
	if fill.Transposed {
		values = transpose(values, cols, rows)
	}
	group, err := grouping(scaleType.Shape, rows, cols)
	if err != nil {
		return nil, err
	}
	scales := make([]float64, scaleType.Elements())
	source := make([]float64, len(values))
	parallel.Runs(len(values), func(first, end int) {
		for i, v := range values[first:end] {
			source[first+i] = tensor.Round(op.FP32, v, true)
		}
	})
	exact := m.c.Distribution == "integers" && !m.drawn[fill.Source].upstream
	if exact {
		s := newStream(m.seed, m.key, fill.Scale, "exponent")
		for g := range scales {
			// at most 1: thousands of products stay within fp16
			scales[g] = math.Ldexp(1, int(s.below(uint64(g), 3))-2)
		}
		if m.longScale(fill.Scale) && len(scaleType.Shape) == 1 {
			for g := range scales {
				scales[g] *= 1 + 0x1p-8
			}
		}
	} else {
		format, _ := tensor.FormatOf(t.DType)
		for i, v := range source {
			if g := group(int64(i)); math.Abs(v) > scales[g] && !math.IsInf(v, 0) {
				scales[g] = math.Abs(v)
			}
		}
		for g, amax := range scales {
			scales[g] = tensor.Round(op.FP32, amax/format.Max, true)
		}
		parallel.Runs(len(source), func(first, end int) {
			for i, v := range source[first:end] {
				if scale := scales[group(int64(first+i))]; scale != 0 {
					source[first+i] = tensor.Round(t.DType, v/scale, true)
				}
			}
		})
	}
	made := tensor.New(scaleType.Name, scaleType.DType, scaleType.Shape)
	made.SetFloat64s(scales)
	m.scales[scaleType.Name] = made
	return source, nil
}

// longScale reports whether a scale tensor belongs to an operand of the case whose exact scales have one bit
// more than bf16. The seed and the case choose either the first quantised operand, or all others.
func (m *maker) longScale(scale string) bool {
	first := ""
	types, _ := m.types()
	for _, t := range types {
		if fill, err := op.ParseFill(t.Fill); err == nil && fill.Kind == "quantize" {
			first = fill.Scale
			break
		}
	}
	chosen := newStream(m.seed, m.key, "scales", "longer").below(0, 2) == 0
	return (scale == first) == chosen
}

// typeOf finds a tensor of the pass by name.
func (m *maker) typeOf(name string) (op.TensorType, error) {
	types, err := m.types()
	if err != nil {
		return op.TensorType{}, err
	}
	for _, t := range types {
		if t.Name == name {
			return t, nil
		}
	}
	return op.TensorType{}, fmt.Errorf("there is no scale %q", name)
}

// grouping maps the row-major position of an element to its group.
func grouping(scale []int64, rows, cols int64) (func(position int64) int64, error) {
	blocks := (cols + blockSize - 1) / blockSize
	switch {
	case len(scale) == 3:
		each, err := grouping(scale[1:], rows, cols)
		perMatrix := scale[1] * scale[2]
		return func(p int64) int64 { return p/(rows*cols)*perMatrix + each(p%(rows*cols)) }, err
	case len(scale) == 1 && scale[0] == rows:
		return func(p int64) int64 { return p / cols }, nil
	case len(scale) == 1 && scale[0] == 1:
		return func(int64) int64 { return 0 }, nil
	case len(scale) == 2 && scale[0] == rows && scale[1] == blocks:
		return func(p int64) int64 { return p/cols*blocks + p%cols/blockSize }, nil
	case len(scale) == 2 && scale[0] == (rows+blockSize-1)/blockSize && scale[1] == blocks:
		return func(p int64) int64 { return p/cols/blockSize*blocks + p%cols/blockSize }, nil
	}
	return nil, fmt.Errorf("scales %v of an operand [%d, %d]: want one a tensor, a row, 1x128 or 128x128 "+
		"elements", scale, rows, cols)
}

// transpose turns [rows, cols] into [cols, rows].
func transpose(x []float64, rows, cols int64) []float64 {
	out := make([]float64, len(x))
	parallel.Each(cols, func(c int64) {
		for r := range rows {
			out[c*rows+r] = x[r*cols+c]
		}
	})
	return out
}
