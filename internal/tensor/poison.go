package tensor

import "triad/internal/op"

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

// PoisonPattern is the pattern of one element under poison "a" or "b".
func PoisonPattern(d op.DType, poison string) []byte {
	pattern := poisons[op.Bool]
	if int(d) < len(poisons) && poisons[d].a != nil {
		pattern = poisons[d]
	}
	if poison == "b" {
		return pattern.b
	}
	return pattern.a
}

// repeat fills bytes with a pattern.
func repeat(b, pattern []byte) {
	if n := copy(b, pattern); n > 0 {
		for n < len(b) {
			n += copy(b[n:], b[:n])
		}
	}
}
