package tensor

import (
	"bytes"
	"hash/crc32"

	"triad/internal/op"
	"triad/internal/parallel"
)

// sumPiece is the number of bytes that one core copies or sums at a time: a piece is still in its cache when
// its checksum is computed. It is a multiple of every element's size, so that a poison repeats in step.
const sumPiece = 1 << 20

// Checksum returns the crc32 (IEEE) of b, computed on all cores if b is long.
func Checksum(b []byte) uint32 {
	return inPieces(len(b), func(first, end int) uint32 { return crc32.ChecksumIEEE(b[first:end]) })
}

// Copy copies from to the start of to, which must be at least as long, on all cores if from is long.
func Copy(to, from []byte) {
	inPieces(len(from), func(first, end int) uint32 {
		copy(to[first:end], from[first:end])
		return 0
	})
}

// CopyChecked copies from to the start of to, which must be at least as long, and returns the checksum of the
// copy: another process may change from meanwhile.
func CopyChecked(to, from []byte) uint32 {
	return inPieces(len(from), func(first, end int) uint32 {
		copy(to[first:end], from[first:end])
		return crc32.ChecksumIEEE(to[first:end])
	})
}

// Equal reports whether two byte slices are equal. Long ones are compared on all cores.
func Equal(a, b []byte) bool {
	return len(a) == len(b) && parallel.First(len(a), func(first, end int) int {
		if bytes.Equal(a[first:end], b[first:end]) {
			return -1
		}
		return first
	}) < 0
}

// Poison fills the bytes of elements of a dtype with a poison: "a", "b" or Ordinary.
func Poison(b []byte, d op.DType, poison string) {
	pattern := PoisonPattern(d, poison)
	inPieces(len(b), func(first, end int) uint32 {
		repeat(b[first:end], pattern)
		return 0
	})
}

// inPieces calls work on all cores for the pieces of n bytes, and joins their checksums.
func inPieces(n int, work func(first, end int) uint32) uint32 {
	if n <= sumPiece {
		return work(0, n)
	}
	sums := make([]uint32, (n+sumPiece-1)/sumPiece)
	parallel.Each(len(sums), func(i int) { sums[i] = work(i*sumPiece, min((i+1)*sumPiece, n)) })
	whole, shift := sums[0], shiftBy(sumPiece)
	for i, sum := range sums[1:] {
		if end := (i + 2) * sumPiece; end > n {
			shift = shiftBy(n - (i+1)*sumPiece)
		}
		whole = product(whole, shift) ^ sum
	}
	return whole
}

// A crc32 is a polynomial modulo that of IEEE 802.3, its highest coefficient last: that of two texts joined
// is the first's times x^(8*length of the second), plus the second's (M. Adler, zlib's crc32_combine).

// product multiplies two polynomials.
func product(a, b uint32) uint32 {
	p := uint32(0)
	for ; a != 0; a <<= 1 {
		if a>>31 == 1 {
			p ^= b
		}
		b = b>>1 ^ crc32.IEEE*(b&1)
	}
	return p
}

// shiftBy returns x^(8n).
func shiftBy(n int) uint32 {
	power, all := uint32(1)<<(31-8), uint32(1)<<31 // x^8 and 1
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			all = product(all, power)
		}
		power = product(power, power)
	}
	return all
}
