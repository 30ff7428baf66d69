package tensor

import "triad/internal/op"

// Ordinary is the third poison: numbers that a caller's own buffer may hold. A kernel that reads its output
// and recognises the other two poisons does not recognise these.
const Ordinary = "ordinary"

// Ordinary cycles through ordinaryNumbers for floats, and through ordinaryIntegers for all other dtypes.
var (
	ordinaryNumbers  = []float64{0, 1, -2, 0.5}
	ordinaryIntegers = []byte{0, 1, 3, 2}
)

// poisons are the element patterns, little endian, that fill outputs before a launch: NaNs with a payload for
// floats, an odd byte for the rest. An element that shows a's pattern under a and b's under b was never
// written.
var poisons = [...]struct {
	a, b []byte
}{
	op.FP64: {[]byte{0xA5, 0xA5, 0xA5, 0xA5, 0xA5, 0xA5, 0xF5, 0x7F}, []byte{
		0xDB, 0xDB, 0xDB, 0xDB, 0xDB,
		0xDB, 0xFB, 0xFF,
	}},
	op.FP32: {[]byte{0xA5, 0xA5, 0xA5, 0x7F}, []byte{0xDB, 0xDB, 0xDB, 0xFF}},
	op.FP16: {[]byte{0xA5, 0x7D}, []byte{0xDB, 0xFE}},
	op.BF16: {[]byte{0xA5, 0x7F}, []byte{0xDB, 0xFF}},
	op.E4M3: {[]byte{0x7F}, []byte{0xFF}},
	op.E5M2: {[]byte{0x7D}, []byte{0xFE}},
	op.Bool: {[]byte{0x5A}, []byte{0xA5}},
}

// PoisonPattern returns the elements that a poison repeats: one element under "a" and "b", some under
// Ordinary.
func PoisonPattern(d op.DType, poison string) []byte {
	if poison == Ordinary {
		return ordinary(d)
	}
	pattern := poisons[op.Bool]
	if int(d) < len(poisons) && poisons[d].a != nil {
		pattern = poisons[d]
	}
	if poison == "b" {
		return pattern.b
	}
	return pattern.a
}

// ordinary returns the pattern of Ordinary.
func ordinary(d op.DType) []byte {
	switch {
	case d.IsFloat():
		return Encode(d, ordinaryNumbers)
	case d == op.Bool:
		return []byte{0, 1}
	}
	size := int(max(d.Size(), 1))
	pattern := make([]byte, size*len(ordinaryIntegers))
	for i, n := range ordinaryIntegers {
		pattern[i*size] = n // little endian
	}
	return pattern
}

// repeat fills bytes with a pattern. It copies from the first bytes, which stay in a cache.
func repeat(b, pattern []byte) {
	if n := copy(b, pattern); n > 0 {
		most := max(repeatedBytes/n, 1) * n
		for n < len(b) {
			n += copy(b[n:], b[:min(n, most)])
		}
	}
}

const repeatedBytes = 64 << 10
