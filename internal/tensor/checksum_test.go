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
