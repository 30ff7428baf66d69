package workload

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// Philox4x32 returns the counter-based generator Philox-4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel
// random numbers: as easy as 1, 2, 3" (SC 2011): four random words for every counter, each independent of all
// others, so that any element can be drawn alone.
func Philox4x32(counter [4]uint32, key [2]uint32) [4]uint32 {
	c0, c1, c2, c3 := counter[0], counter[1], counter[2], counter[3]
	k0, k1 := key[0], key[1]
	for range 10 {
		high0, low0 := bits.Mul32(0xD2511F53, c0)
		high1, low1 := bits.Mul32(0xCD9E8D57, c2)
		c0, c1, c2, c3 = high1^c1^k0, low1, high0^c3^k1, low0
		k0 += 0x9E3779B9
		k1 += 0xBB67AE85
	}
	return [4]uint32{c0, c1, c2, c3}
}

// stream draws random words by index. Streams of different (seed, case, tensor, purpose) have nothing in
// common.
type stream struct {
	key    [2]uint32
	high   [2]uint32 // upper half of the counter
	block  uint64    // of which words are held
	filled bool
	words  [4]uint32
}

// newStream keys a stream: purpose distinguishes the draws of one tensor.
func newStream(seed uint64, caseKey, tensor, purpose string) *stream {
	h := sha256.New()
	h.Write(binary.LittleEndian.AppendUint64(nil, seed))
	for _, part := range []string{caseKey, tensor, purpose} {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	sum := h.Sum(nil)
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(sum[4*i:]) }
	return &stream{key: [2]uint32{word(0), word(1)}, high: [2]uint32{word(2), word(3)}}
}

// clone returns a stream of the same words for another core; nil for nil.
func (s *stream) clone() *stream {
	if s == nil {
		return nil
	}
	own := *s
	return &own
}

// word returns the i-th random word. Neighbours come from one block, so rising indices are fast.
func (s *stream) word(i uint64) uint32 {
	if block := i / 4; !s.filled || block != s.block {
		s.words = Philox4x32([4]uint32{uint32(block), uint32(block >> 32), s.high[0], s.high[1]}, s.key)
		s.block, s.filled = block, true
	}
	return s.words[i%4]
}

// uniform returns the i-th number of (0, 1): the middle of one of 2^32 equal parts.
func (s *stream) uniform(i uint64) float64 {
	return (float64(s.word(i)) + 0.5) * 0x1p-32
}

// below returns the i-th integer of [0, n), n at most 2^32.
func (s *stream) below(i, n uint64) int64 { return int64(uint64(s.word(i)) * n >> 32) }

// normal returns the i-th number of the standard normal distribution.
func (s *stream) normal(i uint64) float64 { return normalQuantile(s.uniform(i)) }

// fillNormal sets x[i] to normal(i), on all cores if x is long.
func (s *stream) fillNormal(x []float64) {
	eachElement(x, s, func(s *stream, first uint64, part []float64) {
		for i := range part {
			part[i] = s.normal(first + uint64(i))
		}
	})
}
