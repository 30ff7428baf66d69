package tensor

import (
	"encoding/binary"
	"math"
	"sync"

	"triad/internal/op"
)

// narrow is the layout of a float format of at most 16 bits: sign, exponent, fraction. Codes are given
// without their sign bit.
type narrow struct {
	Format
	bits     uint   // width of a code
	maxCode  uint64 // code of the largest finite number
	overflow uint64 // the result of overflow: infinity, NaN for e4m3, the largest number for e2m1
	nan      uint64 // the NaN code that Encode writes
}

var (
	narrowFP16 = narrow{formats[op.FP16], 16, 0x7bff, 0x7c00, 0x7e00}
	narrowBF16 = narrow{formats[op.BF16], 16, 0x7f7f, 0x7f80, 0x7fc0}
	narrowE4M3 = narrow{formats[op.E4M3], 8, 0x7e, 0x7f, 0x7f}
	narrowE5M2 = narrow{formats[op.E5M2], 8, 0x7b, 0x7c, 0x7f}
	narrowE2M1 = narrow{FormatE2M1, 4, 0x7, 0x7, 0x7}
)

// FormatE2M1 is the fp4 of the OCP microscaling formats, which has neither infinity nor NaN. It is not the
// format of a tensor's elements: these hold two packed numbers each, and Decode returns the byte. See
// DecodeE2M1.
var FormatE2M1 = Format{P: 2, EMin: 0, Max: 6}

// encode returns the code of x, rounded once to nearest even. The bits of an fp64 are those of the narrow
// format with more of everything, so adding half of what is dropped carries into the exponent as it should.
func (n narrow) encode(x float64) uint64 {
	bits := math.Float64bits(x)
	sign := bits >> 63 << (n.bits - 1)
	bits &^= 1 << 63
	if bits > 0x7ff<<52 {
		return sign | n.nan
	}
	exponent := int(bits>>52) - 1023
	drop := uint(53 - n.P)
	significand := bits - uint64(1022+n.EMin)<<52 // biased as the narrow format is
	if exponent < n.EMin {
		drop += uint(n.EMin - exponent)
		if drop > 54 {
			return sign
		}
		significand = bits&(1<<52-1) | 1<<52
	}
	code := (significand + (1<<(drop-1) - 1 + significand>>drop&1)) >> drop
	if !(code <= n.maxCode) {
		code = n.overflow
	}
	return sign | code
}

// decode returns the value of a code, exactly.
func (n narrow) decode(code uint64) float64 {
	sign := 1.0
	if code>>(n.bits-1)&1 == 1 {
		sign = -1
	}
	code &= 1<<(n.bits-1) - 1
	fractionBits := uint(n.P - 1)
	exponent, fraction := code>>fractionBits, code&(1<<fractionBits-1)
	switch {
	case code > n.maxCode && code == n.overflow && n.overflow != n.nan:
		return math.Inf(int(sign))
	case code > n.maxCode:
		return math.NaN()
	case exponent == 0:
		return sign * math.Ldexp(float64(fraction), n.EMin-n.P+1)
	default:
		return sign * math.Ldexp(float64(fraction|1<<fractionBits), int(exponent)-1+n.EMin-n.P+1)
	}
}

// table lists the values of all codes.
func (n narrow) table() []float64 {
	values := make([]float64, 1<<n.bits)
	for code := range values {
		values[code] = n.decode(uint64(code))
	}
	return values
}

var (
	tableFP16 = sync.OnceValue(narrowFP16.table)
	tableE4M3 = sync.OnceValue(narrowE4M3.table)
	tableE5M2 = sync.OnceValue(narrowE5M2.table)
)

// Decode returns the values of len(b)/d.Size() elements, little endian. Every value is exact except int64
// beyond 2^53, which rounds to nearest. Bytes of an unfinished element are left out; an unknown dtype has no
// elements.
func Decode(d op.DType, b []byte) []float64 {
	if d.Size() == 0 {
		return nil
	}
	values := make([]float64, int64(len(b))/d.Size())
	DecodeInto(values, d, b)
	return values
}

// DecodeInto is Decode into the caller's slice: it decodes len(values) elements, and b must hold at least
// that many.
func DecodeInto(values []float64, d op.DType, b []byte) {
	b = b[:int64(len(values))*d.Size()]
	switch d {
	case op.FP64:
		for i := range values {
			values[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		}
	case op.FP32:
		for i := range values {
			values[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
		}
	case op.BF16:
		for i := range values {
			values[i] = float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16))
		}
	case op.FP16:
		table := tableFP16()
		for i := range values {
			values[i] = table[binary.LittleEndian.Uint16(b[2*i:])]
		}
	case op.E4M3:
		table := tableE4M3()
		for i := range values {
			values[i] = table[b[i]]
		}
	case op.E5M2:
		table := tableE5M2()
		for i := range values {
			values[i] = table[b[i]]
		}
	default:
		decodeIntegers(values, d, b)
	}
}

func decodeIntegers(values []float64, d op.DType, b []byte) {
	switch d {
	case op.I64:
		for i := range values {
			values[i] = float64(int64(binary.LittleEndian.Uint64(b[8*i:])))
		}
	case op.I32:
		for i := range values {
			values[i] = float64(int32(binary.LittleEndian.Uint32(b[4*i:])))
		}
	case op.U32:
		for i := range values {
			values[i] = float64(binary.LittleEndian.Uint32(b[4*i:]))
		}
	case op.I8:
		for i := range values {
			values[i] = float64(int8(b[i]))
		}
	default:
		for i := range values {
			values[i] = float64(b[i])
		}
	}
}

// Encode rounds every value once, straight from fp64, to the nearest value of d, ties to even, and returns
// the elements little endian. Beyond the largest number that is infinity, NaN for e4m3, the nearest bound for
// an integer; NaN becomes the quiet NaN of d, 0 in an integer. Use Round first if a contract saturates. An
// unknown dtype gives no bytes.
func Encode(d op.DType, values []float64) []byte {
	b := make([]byte, int64(len(values))*d.Size())
	EncodeInto(b, d, values)
	return b
}

// EncodeInto is Encode into the caller's bytes, which must be at least len(values)*d.Size() long.
func EncodeInto(b []byte, d op.DType, values []float64) {
	switch d {
	case op.FP64:
		for i, x := range values {
			binary.LittleEndian.PutUint64(b[8*i:], math.Float64bits(x))
		}
	case op.FP32:
		for i, x := range values {
			binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(float32(x)))
		}
	case op.BF16:
		for i, x := range values {
			// a number of the dtype, as inputs are by now, has half of these bits
			code := math.Float32bits(float32(x))
			if float64(math.Float32frombits(code)) != x || code&0xffff != 0 {
				code = uint32(narrowBF16.encode(x)) << 16
			}
			binary.LittleEndian.PutUint16(b[2*i:], uint16(code>>16))
		}
	case op.FP16:
		for i, x := range values {
			binary.LittleEndian.PutUint16(b[2*i:], uint16(narrowFP16.encode(x)))
		}
	case op.E4M3:
		for i, x := range values {
			b[i] = byte(narrowE4M3.encode(x))
		}
	case op.E5M2:
		for i, x := range values {
			b[i] = byte(narrowE5M2.encode(x))
		}
	default:
		encodeIntegers(b, d, values)
	}
}

func encodeIntegers(b []byte, d op.DType, values []float64) {
	for i, x := range values {
		low, high := IntegerRange(d)
		x = min(max(math.RoundToEven(x), low), high)
		if math.IsNaN(x) {
			x = 0
		}
		switch d {
		case op.I64:
			binary.LittleEndian.PutUint64(b[8*i:], uint64(int64(x)))
		case op.I32:
			binary.LittleEndian.PutUint32(b[4*i:], uint32(int32(x)))
		case op.U32:
			binary.LittleEndian.PutUint32(b[4*i:], uint32(x))
		case op.I8:
			b[i] = byte(int8(x))
		case op.U8, op.Bool, op.E2M1x2:
			b[i] = byte(x)
		}
	}
}

// DecodeE2M1 returns the values of n fp4 elements packed two a byte, the first in the low half.
func DecodeE2M1(packed []byte, n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = narrowE2M1.decode(uint64(packed[i/2] >> (4 * (i % 2)) & 0xf))
	}
	return values
}

// EncodeE2M1 rounds every value once to the nearest fp4 number, ties to even, and packs two a byte, the first
// in the low half. The format has neither infinity nor NaN: values beyond 6, and NaN, become 6 with their
// sign.
func EncodeE2M1(values []float64) []byte {
	packed := make([]byte, (len(values)+1)/2)
	for i, x := range values {
		packed[i/2] |= byte(narrowE2M1.encode(x) << (4 * (i % 2)))
	}
	return packed
}
