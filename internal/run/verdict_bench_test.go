package run

import (
	"sync"
	"syscall"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// BenchmarkVerdict measures the verdicts on one large case, with four implementations side by side: inputs,
// truth, power, gates, relations and differences, without a kernel or a worker. In addition to the time it
// reports the processor time of all cores together. Their quotient is the number of busy cores: if it is low,
// a machine with more cores gains nothing. The truth of the smaller case is kept, that of the larger one
// computed while it is judged.
func BenchmarkVerdict(b *testing.B) {
	b.Run("kept", func(b *testing.B) { benchmarkVerdict(b, 2048) })
	b.Run("by-rows", func(b *testing.B) { benchmarkVerdict(b, 4104) })
}

func benchmarkVerdict(b *testing.B, rows int64) {
	const cols = 4096
	o, err := truth.Get("softmax")
	if err != nil {
		b.Fatal(err)
	}
	var mu sync.Mutex
	var y []float64 // computed once: before the clock starts
	known := func(x tensor.Tensor, _, _ int) ([]float64, *backend.Outcome) {
		mu.Lock()
		defer mu.Unlock()
		if y == nil {
			y = softmax(x)
		}
		return y, nil
	}
	var backends []backend.Backend
	for _, family := range []string{"one", "two", "three", "four"} {
		f := fakes(map[string]way{family + "/known": known})
		f.family = family
		backends = append(backends, f)
	}
	request := Request{Operators: []*truth.Operator{o}, Seed: 1, Options: op.Options{
		Passes: []op.Pass{op.Forward}, DTypes: []string{"bf16"},
		Dims: map[string]int64{"rows": rows, "cols": cols}, Distributions: []string{"normal"},
	}}
	compare := func() {
		r := &Runner{Backends: backends, Recorder: &memory{}, Stop: b.Context()}
		result, err := r.Compare(b.Context(), request)
		if err != nil || len(result.Records) != len(backends) {
			b.Fatalf("%d records, want %d: %v", len(result.Records), len(backends), err)
		}
		for _, r := range result.Records {
			if r.Status != op.StatusPass {
				b.Fatalf("%s is %v: %s", r.Impl, r.Status, r.Message)
			}
		}
	}
	compare()
	before, began := processorTime(b), time.Now()
	for b.Loop() {
		compare()
	}
	used := processorTime(b) - before
	b.ReportMetric(used.Seconds()/float64(b.N), "processor-s/op")
	b.ReportMetric(float64(used.Nanoseconds())/float64(b.N)/float64(len(backends))/float64(rows*cols),
		"processor-ns/element")
	b.ReportMetric(used.Seconds()/time.Since(began).Seconds(), "cores-busy")
}

// processorTime returns the time that this process has used so far on all cores.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
