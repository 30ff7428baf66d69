package truth

import (
	"triad/internal/op"
	"triad/internal/tensor"
)

// Unit returns the unit roundoff of a dtype that an intermediate is stored in.
func Unit(d op.DType) float64 {
	f, _ := tensor.FormatOf(d)
	return f.U()
}

// HalfSubnormal returns half the smallest subnormal of a dtype, the loss below it.
func HalfSubnormal(d op.DType) float64 {
	f, _ := tensor.FormatOf(d)
	return f.SmallestSubnormal() / 2
}

// Subnormal is the largest loss of a product and its sum below fp32's normal range: half the smallest
// subnormal each.
const Subnormal = 0x1p-149
