package softmax

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/panics"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

func BenchmarkTruth4M(b *testing.B) {
	x := truthtest.NormalTensor(rand.New(rand.NewPCG(1, 1)), "x", op.BF16, 0, 1, 1024, 4096)
	truthtest.BenchmarkTruth(b, caseOf(op.BF16, op.Forward, 1024, 4096), "fp32", []tensor.Tensor{x})
}

func BenchmarkJudge4M(b *testing.B) {
	x := truthtest.NormalTensor(rand.New(rand.NewPCG(1, 1)), "x", op.BF16, 0, 1, 1024, 4096)
	truth, err := truth.Of(caseOf(op.BF16, op.Forward, 1024, 4096), "fp32", []tensor.Tensor{x}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("verdict", func(b *testing.B) {
		for b.Loop() {
			truthtest.Judged(truth, truth.Outputs[0].Sim)
		}
	})
	b.Run("power", func(b *testing.B) {
		for b.Loop() {
			judge.PowerOf(truth.Outputs[0], tensor.Tensor{}, nil)
		}
	})
}

// BenchmarkVerdictByRows measures a verdict on an output whose truth is computed row by row while it is
// judged, alone and together with others: the processor time of all cores for one element of one output.
func BenchmarkVerdictByRows(b *testing.B) {
	const rows, cols = 1024, 8192
	o, err := truth.Get("softmax")
	if err != nil {
		b.Fatal(err)
	}
	x := truthtest.NormalTensor(rand.New(rand.NewPCG(1, 1)), "x", op.BF16, 0, 1, rows, cols)
	dy := truthtest.NormalTensor(rand.New(rand.NewPCG(2, 1)), "grad_y", op.BF16, 0, 1, rows, cols)
	for name, c := range map[string]op.Case{
		"forward":  caseOf(op.BF16, op.Forward, rows, cols),
		"backward": caseOf(op.BF16, op.Backward, rows, cols),
	} {
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
		a := truthtest.PlantedAnswers(kept, tensor.Encode(kept.DType, kept.Sim))["right"]
		plan := judge.Plan{
			Outputs:  []op.TensorType{{Name: kept.Name, DType: kept.DType, Shape: kept.Shape}},
			Launches: 2,
		}
		for _, side := range []int{1, 8} { // outputs that are judged side by side
			b.Run(fmt.Sprint(name, "/", side), func(b *testing.B) {
				var cost time.Duration
				for b.Loop() {
					cost = truthtest.Cheapest(b, func() {
						var group panics.Group
						for range side {
							group.Go(func() {
								if v := judge.Judge(plan, a, truth)[0]; v.Status != op.StatusPass {
									b.Errorf("%v: %s", v.Status, v.Sentence)
								}
							})
						}
						if err := group.Wait(); err != nil {
							b.Fatal(err)
						}
					})
				}
				b.ReportMetric(float64(cost.Nanoseconds())/float64(side)/rows/cols, "processor-ns/element")
			})
		}
	}
}
