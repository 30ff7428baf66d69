package flashattention

import (
	"math/rand/v2"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth/truthtest"
)

func BenchmarkTruth(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	s := sizes{1, 4, 4, 512, 512, 64}
	q, k, v, do := s.inputs(r, op.BF16, 1)
	b.Run("forward", func(b *testing.B) {
		truthtest.BenchmarkTruth(b, s.of(op.Forward, op.BF16, false, ""), "p16", []tensor.Tensor{q, k, v})
	})
	b.Run("backward", func(b *testing.B) {
		truthtest.BenchmarkTruth(b, s.of(op.Backward, op.BF16, false, "own"), "p16",
			[]tensor.Tensor{q, k, v, do})
	})
}
