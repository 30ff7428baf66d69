package catalog

import (
	"math/rand/v2"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
)

// benchmarkTruth measures R, T, TFP32 and Sim of a case together.
func benchmarkTruth(b *testing.B, c op.Case, contract string, in []tensor.Tensor) {
	for b.Loop() {
		if _, err := TruthOf(c, contract, in, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTruthSoftmax4M(b *testing.B) {
	x := normalTensor(rand.New(rand.NewPCG(1, 1)), "x", op.BF16, 0, 1, 1024, 4096)
	benchmarkTruth(b, softmaxCase(op.BF16, op.Forward, 1024, 4096), "fp32", []tensor.Tensor{x})
}

func BenchmarkTruthFP8(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	const n = 512
	x, y := normalTensor(r, "a", op.E4M3, 0, 1, n, n), normalTensor(r, "b", op.E4M3, 0, 1, n, n)
	in := []tensor.Tensor{x, fp8Scales(r, "scale_a", "row", n, n, 1), y, fp8Scales(r, "scale_b", "row", n, n, 128)}
	benchmarkTruth(b, fp8Case(op.Forward, n, n, n, "row", op.BF16), "promoted", in)
}

func BenchmarkTruthAttention(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	s := attentionShape{1, 4, 4, 512, 512, 64}
	q, k, v, do := s.inputs(r, op.BF16, 1)
	b.Run("forward", func(b *testing.B) {
		benchmarkTruth(b, s.of(op.Forward, op.BF16, false, ""), "p16", []tensor.Tensor{q, k, v})
	})
	b.Run("backward", func(b *testing.B) {
		benchmarkTruth(b, s.of(op.Backward, op.BF16, false, "own"), "p16", []tensor.Tensor{q, k, v, do})
	})
}

func BenchmarkJudge4M(b *testing.B) {
	x := normalTensor(rand.New(rand.NewPCG(1, 1)), "x", op.BF16, 0, 1, 1024, 4096)
	truth, err := TruthOf(softmaxCase(op.BF16, op.Forward, 1024, 4096), "fp32", []tensor.Tensor{x}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("verdict", func(b *testing.B) {
		for b.Loop() {
			judged(truth, truth.Outputs[0].Sim)
		}
	})
	b.Run("power", func(b *testing.B) {
		for b.Loop() {
			judge.PowerOf(truth.Outputs[0], tensor.Tensor{}, nil)
		}
	})
}

// BenchmarkVerdictByRows is a verdict on an output whose truth is computed row by row while it is judged.
func BenchmarkVerdictByRows(b *testing.B) {
	const rows, cols = 1024, 8192
	o, err := Get("softmax")
	if err != nil {
		b.Fatal(err)
	}
	x := normalTensor(rand.New(rand.NewPCG(1, 1)), "x", op.BF16, 0, 1, rows, cols)
	dy := normalTensor(rand.New(rand.NewPCG(2, 1)), "grad_y", op.BF16, 0, 1, rows, cols)
	for name, c := range map[string]op.Case{"forward": softmaxCase(op.BF16, op.Forward, rows, cols), "backward": softmaxCase(op.BF16, op.Backward, rows, cols)} {
		c.Saved = map[string]string{"backward": "own"}[name]
		in := []tensor.Tensor{x, dy}
		truth, err := o.TruthByRows(c, "fp32", in)
		if err != nil {
			b.Fatal(err)
		}
		kept, err := truth.Outputs[0].Kept()
		if err != nil {
			b.Fatal(err)
		}
		a := plantedAnswers(kept, tensor.Encode(kept.DType, kept.Sim))["right"]
		plan := judge.Plan{Outputs: []op.TensorType{{Name: kept.Name, DType: kept.DType, Shape: kept.Shape}}, Launches: 2}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if v := judge.Judge(plan, a, truth)[0]; v.Status != op.StatusPass {
					b.Fatalf("%v: %s", v.Status, v.Sentence)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows/cols, "ns/element")
		})
	}
}
