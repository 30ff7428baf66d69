package catalog

import (
	"fmt"
	"math"
	"runtime"
	"syscall"
	"testing"
	"time"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/workload"
)

// costShapes are medium shapes, in a 16-bit or 8-bit dtype: what a verdict costs is measured on them.
var costShapes = []struct {
	operator, dtype string
	dims            map[string]int64
}{
	{"softmax", "bf16", map[string]int64{"rows": 1024, "cols": 2048}},
	{"layernorm", "bf16", map[string]int64{"rows": 1024, "cols": 2048}},
	{"swiglu", "bf16", map[string]int64{"rows": 1024, "cols": 2048}},
	{"rope", "bf16", map[string]int64{"batch": 1, "seq": 1024, "heads_q": 16, "heads_k": 16, "head_dim": 64, "max_pos": 1024}},
	{"fp8_gemm", "e4m3", map[string]int64{"m": 512, "n": 512, "k": 512}},
	{"flash_attention", "bf16", map[string]int64{"batch": 1, "heads_q": 4, "heads_kv": 4, "seq_q": 512, "seq_kv": 512, "head_dim": 64}},
}

// BenchmarkCost measures, for every operator and pass, what its truth (R, T, TFP32 and sim) and the gates cost beside one evaluation of the formula
// in fp64. That evaluation is what evaluate does: the stored inputs are decoded and the formula computed by plain loops, row after row, into fp64
// results; nothing is rounded, bounded or simulated. Each takes all cores; what counts is the processor time of all of them together, which other
// load on the machine moves little, and of several runs the cheapest.
func BenchmarkCost(b *testing.B) {
	for _, s := range costShapes {
		o, err := Get(s.operator)
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range costCases(b, o, s.dtype, s.dims) {
			b.Run(fmt.Sprintf("%s/%v/%s", c.Op, c.Pass, c.Saved), func(b *testing.B) { measureCost(b, o, c) })
		}
	}
}

func costCases(t testing.TB, o *Operator, dtype string, dims map[string]int64) []op.Case {
	var cases []op.Case
	for _, pass := range []op.Case{{Pass: op.Forward}, {Pass: op.Backward, Saved: "driver"}, {Pass: op.Backward, Saved: "own"}} {
		if pass.Saved == "own" && !o.Spec.Backward.Chained {
			continue
		}
		if pass.Saved == "driver" && !o.Spec.Backward.Chained {
			pass.Saved = ""
		}
		pass.DType = dtype
		c, err := o.Spec.NewCase(pass, dims, nil)
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	return cases
}

func measureCost(b *testing.B, o *Operator, c op.Case) {
	in := costInputs(b, o, c)
	truth, err := TruthOf(c, o.Spec.DefaultContract(c.DType), in, nil)
	if err != nil {
		b.Fatal(err)
	}
	plan, answer := soundAnswer(truth, sims(truth))
	var evaluation, computing, gates time.Duration
	for b.Loop() {
		evaluation = cheapest(b, func() { evaluate(c, in) })
		computing = cheapest(b, func() { _, err = TruthOf(c, o.Spec.DefaultContract(c.DType), in, nil) })
		gates = cheapest(b, func() {
			if row := judge.Row(judge.Judge(plan, answer, truth)); row != op.StatusPass && row != op.StatusWarn {
				b.Fatal(row)
			}
		})
	}
	b.ReportMetric(float64(evaluation.Microseconds())/1000, "ms/evaluation")
	b.ReportMetric(float64(computing)/float64(evaluation), "truth/evaluation")
	b.ReportMetric(float64(gates)/float64(evaluation), "gates/evaluation")
}

func costInputs(t testing.TB, o *Operator, c op.Case) []tensor.Tensor {
	in, err := workload.Inputs(o.Spec, c, 1)
	if err != nil {
		t.Fatal(err)
	}
	if c.Pass == op.Forward || c.Saved == "own" {
		return in
	}
	saved, err := Saved(o.Spec, c, in)
	if err != nil {
		t.Fatal(err)
	}
	if in, err = BackwardInputs(o.Spec, append(in, saved...)); err != nil {
		t.Fatal(err)
	}
	return in
}

// cheapest is the processor time of some work, the least of several runs.
func cheapest(b *testing.B, work func()) time.Duration {
	best := time.Duration(math.MaxInt64)
	for range 9 {
		runtime.GC() // what is left over from the run before is not this one's
		before := processorTime(b)
		work()
		best = min(best, processorTime(b)-before)
	}
	return best
}

func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// TestEvaluationIsTheTruth: what the costs are compared with computes the operator: its results are R, up to the rounding of fp64.
func TestEvaluationIsTheTruth(t *testing.T) {
	for operator, dims := range sampledShapes {
		o, err := Get(operator)
		if err != nil {
			t.Fatal(err)
		}
		small := map[string]int64{}
		for _, d := range dims {
			small[d.Name] = d.Value
		}
		for _, c := range costCases(t, o, o.Spec.DTypes[0], small) {
			in := costInputs(t, o, c)
			truth := truthFor(t, c, o.Spec.DefaultContract(c.DType), in)
			outputs := evaluate(c, in)
			for i, values := range outputs {
				largest, furthest := 0.0, 0.0
				for j, r := range truth.Outputs[i].R {
					largest, furthest = math.Max(largest, math.Abs(r)), math.Max(furthest, math.Abs(r-values[j]))
				}
				if !(furthest <= 1e-12*largest) || len(values) != len(truth.Outputs[i].R) {
					t.Errorf("%s %v %s: %s is off by %v, its largest number is %v", c.Op, c.Pass, c.Saved, truth.Outputs[i].Name, furthest, largest)
				}
			}
			if len(outputs) != len(truth.Outputs) {
				t.Errorf("%s %v: %d outputs, want %d", c.Op, c.Pass, len(outputs), len(truth.Outputs))
			}
		}
	}
}
