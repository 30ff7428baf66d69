package judge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
)

// leaningTruths lie on the grid of a dtype in every way: between its numbers, just below its ties, just above
// them, spread over many binades.
var leaningTruths = map[string]func(r *rand.Rand, f tensor.Format) float64{
	"normal":     func(r *rand.Rand, _ tensor.Format) float64 { return r.NormFloat64() },
	"tails":      func(r *rand.Rand, _ tensor.Format) float64 { return math.Pow(r.NormFloat64(), 3) },
	"all low":    func(r *rand.Rand, _ tensor.Format) float64 { return 1 + math.Pow(r.Float64(), 4) },
	"below ties": func(r *rand.Rand, f tensor.Format) float64 { return tie(r, f) * (1 - 0x1p-32) },
	"above ties": func(r *rand.Rand, f tensor.Format) float64 { return tie(r, f) * (1 + 0x1p-32) },
	"products": func(r *rand.Rand, f tensor.Format) float64 {
		// a product of two numbers of the dtype: many are just below ties
		return f.Round(r.NormFloat64(), true) * f.Round(r.NormFloat64(), true) * (1 - 0x1p-36)
	},
}

// tie lies in the middle between two neighbours of a dtype.
func tie(r *rand.Rand, f tensor.Format) float64 {
	x := f.Round(1+r.Float64()*2, false)
	return x + f.ULP(x)/2
}

// TestRightKernelsHaveNoBias: where nothing is stored low, an fp32 kernel shows no bias on many elements in
// any dtype, whether its errors all go up, all go down, or turn near ties into ties.
func TestRightKernelsHaveNoBias(t *testing.T) {
	const n, allowed = 1 << 16, 0x1p-22
	kernels := map[string]func(r float64) float64{
		"exact": func(r float64) float64 { return r },
		"up":    func(r float64) float64 { return r * (1 + 0.99*allowed) },
		"down":  func(r float64) float64 { return r * (1 - 0.99*allowed) },
		"fp32":  func(r float64) float64 { return float64(float32(r)) },
	}
	for _, d := range []op.DType{op.BF16, op.FP16, op.E4M3, op.E5M2, op.FP32} {
		f, _ := tensor.FormatOf(d)
		for name, draw := range leaningTruths {
			r := rand.New(rand.NewPCG(1, 7))
			x := make([]float64, n)
			for i := range x {
				for x[i] = draw(r, f); math.Abs(x[i]) > f.Max/2; {
					x[i] /= 16
				}
			}
			truth := target(d, x, 0)
			for i := range x {
				truth.T[i] = allowed*math.Abs(x[i]) + 0x1p-149
			}
			for how, kernel := range kernels {
				y := make([]float64, n)
				for i := range y {
					y[i] = kernel(x[i])
				}
				v := verdict(truth, answer(truth, y...))
				if v.Wrong > 0 || !v.Bias.Evaluated || !v.Bias.Accepted() {
					t.Errorf("%v, truths %s, errors %s: %d wrong, %+v", d, name, how, v.Wrong, v.Bias)
				}
			}
		}
	}
}

// TestPlantedSlopesAreSeen: with the noise of an intermediate stored in the output's dtype, which both the
// kernel and the simulation round, a scale that is off by 1e-5 is detected in 2^20 elements and one off by
// 3e-5 in 2^16, in both directions, whatever fp32 allows.
func TestPlantedSlopesAreSeen(t *testing.T) {
	for _, d := range []op.DType{op.BF16, op.FP16} {
		f, _ := tensor.FormatOf(d)
		for _, c := range []struct {
			n     int
			slope float64
			want  op.Status
		}{
			{1 << 16, 3e-5, op.StatusWarn},
			{1 << 20, 1e-5, op.StatusWarn},
			{1 << 20, -1e-5, op.StatusWarn},
			{1 << 20, 3e-7, op.StatusPass},
			{1 << 20, -3e-7, op.StatusPass},
			{1 << 20, 0, op.StatusPass},
		} {
			t.Run(fmt.Sprint(d, " ", c.n, " ", c.slope), func(t *testing.T) {
				r := rand.New(rand.NewPCG(3, uint64(c.n)))
				x, y := make([]float64, c.n), make([]float64, c.n)
				truth := target(d, x, 0)
				truth.TFP32 = make([]float64, c.n)
				for i := range x {
					weight, stored := 1+r.Float64(), r.NormFloat64()
					low := f.Round(stored, false) * weight
					x[i], y[i] = stored*weight, low*(1+c.slope)
					truth.Sim[i] = f.Round(low, false)
					truth.TFP32[i] = 4e-7 * math.Abs(x[i])
					truth.T[i] = truth.TFP32[i] + 2*f.U()*math.Abs(x[i]) + 2*f.SmallestSubnormal()
				}
				if v := verdict(truth, answer(truth, y...)); v.Status != c.want {
					t.Errorf("%v %s (%+v): want %v", v.Status, v.Sentence, v.Bias, c.want)
				}
			})
		}
	}
}
