package tensor

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

// TestDigest: the digest agrees with its description, for any number of pieces, and every byte and the length
// count.
func TestDigest(t *testing.T) {
	seen := map[string]int{}
	for _, n := range []int{0, 1, digestPiece - 1, digestPiece, digestPiece + 1, 3*digestPiece + 5} {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(i * 7)
		}
		whole := sha256.New()
		for first := 0; first < n; first += digestPiece {
			sum := sha256.Sum256(b[first:min(first+digestPiece, n)])
			whole.Write(sum[:])
		}
		if got, want := Digest(b), hex.EncodeToString(whole.Sum(nil)); got != want {
			t.Errorf("%d bytes: %s, want %s", n, got, want)
		}
		for _, i := range []int{0, n / 2, n - 1} {
			if n == 0 {
				break
			}
			b[i] ^= 1
			if d := Digest(b); seen[d] > 0 || d == Digest(nil) {
				t.Errorf("%d bytes: byte %d does not count", n, i)
			}
			b[i] ^= 1
		}
		if seen[Digest(b)]++; seen[Digest(b)] > 1 {
			t.Errorf("%d bytes have the digest of others", n)
		}
	}
}

func BenchmarkDigest(b *testing.B) {
	data := make([]byte, 200<<20)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		Digest(data)
	}
}
