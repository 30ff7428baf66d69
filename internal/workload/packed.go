package workload

import (
	"fmt"
	"math"
	"slices"

	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/tensor"
)

// packedGroup is the number of consecutive fp4 numbers in a row that share a scale.
const packedGroup = 16

// packedFormat is the format of an fp4 number times its scale in e4m3: from half of the smallest scale to six
// times the largest.
var packedFormat = tensor.Format{P: 2, EMin: -9, Max: 6 * 448}

// unpacked returns the shape of the numbers of a packed tensor.
func unpacked(shape []int64) []int64 {
	shape = slices.Clone(shape)
	shape[len(shape)-1] *= 2
	return shape
}

// quantizePacked is quantize for a vector or a matrix of fp4 numbers; it returns their bytes. A scale in e4m3
// belongs to 16 neighbours: amax / 6, rounded, and at least the smallest number unless all of them are 0.
// Under integers the numbers are integers and the scales 1/4, 1/2 and 1.
func (m *maker) quantizePacked(t, scaleType op.TensorType, fill op.Fill) ([]float64, error) {
	source := slices.Clone(m.drawn[fill.Source].values)
	scales := make([]float64, scaleType.Elements())
	if fill.Transposed || len(source) != packedGroup*len(scales) {
		return nil, fmt.Errorf("%d scales of %d fp4 numbers: want one for 16 neighbours", len(scales),
			len(source))
	}
	format, _ := tensor.FormatOf(op.E4M3)
	exact := m.c.Distribution == "integers"
	s := newStream(m.seed, m.key, fill.Scale, "exponent")
	parallel.EachWith(int64(len(scales)), s.clone, func(s *stream, g int64) {
		numbers := source[g*packedGroup : (g+1)*packedGroup]
		if exact {
			scales[g] = math.Ldexp(1, int(s.below(uint64(g), 3))-2)
			tensor.FormatE2M1.RoundAll(numbers, numbers, true)
			return
		}
		amax := largest(numbers)
		if amax > 0 {
			scales[g] = math.Max(format.Round(amax/tensor.FormatE2M1.Max, true), format.SmallestSubnormal())
		}
		for i, v := range numbers {
			if amax > 0 {
				numbers[i] = tensor.FormatE2M1.Round(v/scales[g], true)
			}
		}
	})
	made := tensor.New(scaleType.Name, scaleType.DType, scaleType.Shape)
	made.SetFloat64s(scales)
	m.scales[scaleType.Name] = made
	codes := make([]float64, len(source)/2)
	for i, code := range tensor.EncodeE2M1(source) {
		codes[i] = float64(code)
	}
	return codes, nil
}
