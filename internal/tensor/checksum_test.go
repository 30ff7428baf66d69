package tensor

import (
	"bytes"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"triad/internal/op"
)

func TestChecksum(t *testing.T) {
	random := rand.NewChaCha8([32]byte{1})
	for _, n := range []int{
		0, 1, 4097, sumPiece - 1, sumPiece, sumPiece + 1, 3 * sumPiece,
		5*sumPiece + 12345,
	} {
		b, plain, copied := make([]byte, n), make([]byte, n+1), make([]byte, n+1)
		random.Read(b)
		want := crc32.ChecksumIEEE(b)
		if got := Checksum(b); got != want {
			t.Errorf("%d bytes: checksum %08x, want %08x", n, got, want)
		}
		if Copy(plain, b); !bytes.Equal(plain[:n], b) || plain[n] != 0 {
			t.Errorf("%d bytes copied: not the same bytes", n)
		}
		if got := CopyChecked(copied, b); got != want || !bytes.Equal(copied[:n], b) || copied[n] != 0 {
			t.Errorf("%d bytes copied: checksum %08x, want %08x and the same bytes", n, got, want)
		}
	}
}

func TestPoisonFillsEveryElement(t *testing.T) {
	for _, d := range []op.DType{op.BF16, op.FP32, op.FP64, op.E4M3} {
		for _, n := range []int64{0, 1, 7, sumPiece + 3} {
			b := make([]byte, n*d.Size())
			Poison(b, d, "b")
			if want := bytes.Repeat(PoisonPattern(d, "b"), int(n)); !bytes.Equal(b, want) {
				t.Errorf("%d elements of %v are not all poisoned", n, d)
			}
		}
	}
}

// No float of the third poison is NaN, infinite or large, and it repeats in every dtype.
func TestOrdinaryNumbers(t *testing.T) {
	for _, d := range []op.DType{
		op.FP64, op.FP32, op.FP16, op.BF16, op.E4M3, op.E5M2, op.I64, op.I8, op.Bool,
	} {
		b := make([]byte, 7*d.Size())
		Poison(b, d, Ordinary)
		pattern := PoisonPattern(d, Ordinary)
		if want := bytes.Repeat(pattern, 7)[:len(b)]; !bytes.Equal(b, want) {
			t.Errorf("%v is not filled", d)
		}
		for _, x := range Decode(d, pattern) {
			if !(x >= -2 && x <= 3) {
				t.Errorf("%v: %v is no ordinary number", d, x)
			}
		}
	}
}
