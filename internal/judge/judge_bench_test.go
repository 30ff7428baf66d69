package judge

import (
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"time"

	"triad/internal/op"
	"triad/internal/panics"
	"triad/internal/tensor"
)

// BenchmarkGates measures the cost of the gates in processor time of all cores for one element: of one output
// whose truth is kept, and of each of eight that are judged at once while their truth is computed row by row,
// which costs little here.
func BenchmarkGates(b *testing.B) {
	const rows, cols = 512, 4096
	for _, d := range []op.DType{op.BF16, op.FP32} {
		r := rand.New(rand.NewPCG(1, 2))
		x, y := make([]float64, rows*cols), make([]float64, rows*cols)
		for i := range x {
			x[i] = r.NormFloat64()
			y[i] = x[i] * (1 + 2e-8*r.NormFloat64())
		}
		kept := target(d, x, 1e-6)
		kept.Shape = []int64{rows, cols}
		byRows := kept
		byRows.R, byRows.T, byRows.TFP32, byRows.Sim = nil, nil, nil, nil
		byRows.Rows = &Rows{OneErrorBound: true, Fill: func() func(into Values, first, end int64) error {
			return func(into Values, first, end int64) error {
				copy(into.R, kept.R[first*cols:end*cols])
				copy(into.T, kept.T[first*cols:end*cols])
				copy(into.Sim, kept.Sim[first*cols:end*cols])
				return nil
			}
		}}
		a := answer(kept, y...)
		judged := func(t Target) {
			if v := verdict(t, a); v.Status != op.StatusPass {
				b.Errorf("%v: %s", v.Status, v.Sentence)
			}
		}
		b.Run(d.String()+"/one", func(b *testing.B) { perElement(b, rows*cols, func() { judged(kept) }) })
		b.Run(d.String()+"/eight", func(b *testing.B) {
			perElement(b, 8*rows*cols, func() {
				var group panics.Group
				for range 8 {
					group.Go(func() { judged(byRows) })
				}
				if err := group.Wait(); err != nil {
					b.Fatal(err)
				}
			})
		})
		b.Run(d.String()+"/difference", func(b *testing.B) {
			other := tensor.Encode(d, y)
			for i := 0; i < len(other); i += 5000 {
				other[i] ^= 1
			}
			perElement(b, rows*cols, func() { DifferenceOf(d, a.Launches[0].Outputs[0].Data, other) })
		})
	}
}

// perElement measures the processor time of some work, the least of several runs: other load affects it
// little.
func perElement(b *testing.B, elements int, work func()) {
	least := time.Duration(1 << 62)
	for b.Loop() {
		runtime.GC()
		before := processorTime(b)
		work()
		least = min(least, processorTime(b)-before)
	}
	b.ReportMetric(float64(least.Nanoseconds())/float64(elements), "processor-ns/element")
}

func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
