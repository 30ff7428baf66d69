package tensor

import (
	"math"

	"triad/internal/op"
)

// Format is a binary floating-point format: P significant bits, normal numbers from 2^EMin, largest finite
// number Max. If Infinity is false (e4m3), the only code for overflow is NaN.
type Format struct {
	P, EMin  int
	Max      float64
	Infinity bool
}

// formats are the floating dtypes' parameters: IEEE 754-2019 (fp64, fp32, fp16), bfloat16, and OCP 8-bit
// Floating Point 1.0 (e4m3, e5m2).
var formats = [...]Format{
	op.FP64: {53, -1022, math.MaxFloat64, true},
	op.FP32: {24, -126, math.MaxFloat32, true},
	op.FP16: {11, -14, 65504, true},
	op.BF16: {8, -126, 0x1.fep127, true},
	op.E4M3: {4, -6, 448, false},
	op.E5M2: {3, -14, 57344, true},
}

// FormatOf returns the format of a floating dtype, and false for every other.
func FormatOf(d op.DType) (Format, bool) {
	if !d.IsFloat() {
		return Format{}, false
	}
	return formats[d], true
}

// Round returns x rounded to the format once, straight from fp64, ties to even. Beyond the overflow threshold
// it returns the infinity of x's sign, or the largest finite number if the contract saturates; for e4m3 the
// infinity stands for its NaN overflow code. NaN and infinities are unchanged.
func (f Format) Round(x float64, saturate bool) float64 {
	if f.P >= 53 || x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return x
	}
	var y float64
	if bits := math.Float64bits(x); int(bits>>52&0x7FF)-1023 >= f.EMin {
		// low bits of the significand that go; a carry runs on into the exponent, as it should
		drop := uint(53 - f.P)
		bits += 1<<(drop-1) - 1 + bits>>drop&1
		y = math.Float64frombits(bits &^ (1<<drop - 1))
	} else {
		// below the normal range one ulp is 2^(EMin-P+1): adding 1.5 * 2^52 of these makes the fp64 addition
		// round there
		magic := 1.5 * power(52+f.EMin-f.P+1)
		y = math.Copysign(x+magic-magic, x)
	}
	if math.Abs(y) > f.Max {
		if saturate {
			return math.Copysign(f.Max, x)
		}
		return math.Copysign(math.Inf(1), x)
	}
	return y
}

// RoundAll rounds every value, as Round does. from and to may be the same.
func (f Format) RoundAll(to, from []float64, saturate bool) {
	if f.P >= 53 {
		copy(to, from)
		return
	}
	drop := uint(53 - f.P)
	half, kept := uint64(1)<<(drop-1)-1, ^uint64(0)<<drop
	lowest := uint64(f.EMin + 1023)
	span := math.Float64bits(f.Max)>>52 - lowest // normal numbers that cannot overflow
	to = to[:len(from)]
	for i, x := range from {
		bits := math.Float64bits(x)
		if bits>>52&0x7FF-lowest < span {
			to[i] = math.Float64frombits((bits + half + bits>>drop&1) & kept)
		} else {
			to[i] = f.Round(x, saturate)
		}
	}
}

// ULP returns the distance between neighbours of the format at x: that of the smallest normal number below
// the normal range.
func (f Format) ULP(x float64) float64 {
	e := f.EMin
	if x != 0 {
		x = min(math.Abs(x), f.Max)
		e = int(math.Float64bits(x)>>52) - 1023
		if e == -1023 {
			e = math.Ilogb(x) // a subnormal fp64
		}
		e = max(e, f.EMin)
	}
	if e -= f.P - 1; e < -1022 {
		return math.Ldexp(1, e)
	}
	return power(e)
}

// power returns 2^e for a normal fp64.
func power(e int) float64 { return math.Float64frombits(uint64(e+1023) << 52) }

// U returns the unit roundoff of the format: half the distance between 1 and the next number.
func (f Format) U() float64 { return math.Ldexp(1, -f.P) }

// SmallestSubnormal returns the smallest positive number of the format.
func (f Format) SmallestSubnormal() float64 { return math.Ldexp(1, f.EMin-f.P+1) }

// Round rounds x to a dtype once, straight from fp64, ties to even: see Format.Round. An integer dtype rounds
// to an integer within its range, to NaN outside of it.
func Round(d op.DType, x float64, saturate bool) float64 {
	if f, ok := FormatOf(d); ok {
		return f.Round(x, saturate)
	}
	y := math.RoundToEven(x)
	if lo, hi := IntegerRange(d); y >= lo && y <= hi {
		return y + 0 // integers have no -0
	}
	return math.NaN()
}

// IntegerRange returns the range of an integer dtype as far as fp64 holds it exactly.
func IntegerRange(d op.DType) (lo, hi float64) {
	switch d {
	case op.I64:
		return -(1 << 53), 1 << 53
	case op.I32:
		return math.MinInt32, math.MaxInt32
	case op.I8:
		return math.MinInt8, math.MaxInt8
	case op.U8, op.E2M1x2: // the code of both numbers
		return 0, math.MaxUint8
	case op.Bool:
		return 0, 1
	case op.U32:
		return 0, math.MaxUint32
	}
	return math.NaN(), math.NaN()
}
