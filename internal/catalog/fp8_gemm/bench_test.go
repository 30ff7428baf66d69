package fp8gemm

import (
	"math/rand/v2"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth/truthtest"
)

func BenchmarkTruth(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	const n = 512
	x, y := truthtest.NormalTensor(r, "a", op.E4M3, 0, 1, n, n), truthtest.NormalTensor(r, "b", op.E4M3, 0, 1,
		n, n)
	in := []tensor.Tensor{
		x, scalesOf(r, "scale_a", "row", n, n, 1), y,
		scalesOf(r, "scale_b", "row", n, n, 128),
	}
	truthtest.BenchmarkTruth(b, caseOf(op.Forward, n, n, n, "row", op.BF16), "promoted", in)
}
