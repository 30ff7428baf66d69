package tensor

import (
	"crypto/sha256"
	"encoding/hex"

	"triad/internal/parallel"
)

// digestPiece is the number of bytes that one core hashes at a time.
const digestPiece = 1 << 20

// Digest names some bytes: in hexadecimal, the SHA-256 of the SHA-256 of every MiB of them, one after the
// other. The pieces are hashed on all cores.
func Digest(b []byte) string {
	n := (len(b) + digestPiece - 1) / digestPiece
	sums := make([]byte, n*sha256.Size)
	parallel.Each(n, func(i int) {
		sum := sha256.Sum256(b[i*digestPiece : min((i+1)*digestPiece, len(b))])
		copy(sums[i*sha256.Size:], sum[:])
	})
	whole := sha256.Sum256(sums)
	return hex.EncodeToString(whole[:])
}
