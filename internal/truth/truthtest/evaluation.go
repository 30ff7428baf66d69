package truthtest

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
	"triad/internal/truth"
	"triad/internal/workload"
)

// Evaluation is an operator's formula in fp64 by plain loops: the baseline for the cost of its truth.
type Evaluation struct {
	Operator string
	DType    string           // of the shape that costs are measured on: a 16-bit or an 8-bit one
	Dims     map[string]int64 // that shape, of medium size
	Small    map[string]int64 // the shape that the results are compared with the truth on
	// Evaluate computes every output of a pass by plain loops over its rows, on all cores: only the formula.
	Evaluate func(c op.Case, in InputsByName) [][]float64
}

// run evaluates a case.
func (e Evaluation) run(c op.Case, in []tensor.Tensor) [][]float64 {
	named := InputsByName{}
	for _, t := range in {
		named[t.Name] = t
	}
	return e.Evaluate(c, named)
}

// Cost measures, for every pass, the cost of the truth (R, T, TFP32 and sim) and of the gates relative to one
// evaluation of the formula in fp64. That evaluation is Evaluate: it decodes the stored inputs and computes
// the formula by plain loops, row after row, into fp64 results; nothing is rounded, bounded or simulated.
// Each takes all cores. The figure is the processor time of all of them together, which other load on the
// machine affects little, in the cheapest of several runs.
func (e Evaluation) Cost(b *testing.B) {
	o, err := truth.Get(e.Operator)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range costCases(b, o, e.DType, e.Dims) {
		b.Run(fmt.Sprintf("%v/%s", c.Pass, c.Saved), func(b *testing.B) { e.measureCost(b, o, c) })
	}
}

func costCases(t testing.TB, o *truth.Operator, dtype string, dims map[string]int64) []op.Case {
	var cases []op.Case
	for _, pass := range []op.Case{
		{Pass: op.Forward},
		{Pass: op.Backward, Saved: "driver"},
		{Pass: op.Backward, Saved: "own"},
	} {
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

func (e Evaluation) measureCost(b *testing.B, o *truth.Operator, c op.Case) {
	in := costInputs(b, o, c)
	known, err := truth.Of(c, o.Spec.DefaultContract(c.DType), in, nil)
	if err != nil {
		b.Fatal(err)
	}
	plan, answer := soundAnswer(known, Sims(known))
	var evaluation, computing, gates time.Duration
	for b.Loop() {
		evaluation = Cheapest(b, func() { e.run(c, in) })
		computing = Cheapest(b, func() { _, err = truth.Of(c, o.Spec.DefaultContract(c.DType), in, nil) })
		gates = Cheapest(b, func() {
			if row := judge.Row(judge.Judge(plan, answer, known)); row != op.StatusPass &&
				row != op.StatusWarn {
				b.Fatal(row)
			}
		})
	}
	b.ReportMetric(float64(evaluation.Microseconds())/1000, "ms/evaluation")
	b.ReportMetric(float64(computing)/float64(evaluation), "truth/evaluation")
	b.ReportMetric(float64(gates)/float64(evaluation), "gates/evaluation")
}

func costInputs(t testing.TB, o *truth.Operator, c op.Case) []tensor.Tensor {
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

// Cheapest returns the processor time of some work, the least of several runs.
func Cheapest(b *testing.B, work func()) time.Duration {
	best := time.Duration(math.MaxInt64)
	for range 9 {
		runtime.GC() // garbage of the previous run does not count in this one
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

// IsTheTruth fails the test unless the baseline of the costs computes the operator: its results are R, up to
// the rounding of fp64.
func (e Evaluation) IsTheTruth(t *testing.T) {
	t.Helper()
	o, err := truth.Get(e.Operator)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range costCases(t, o, o.Spec.DTypes[0], e.Small) {
		in := costInputs(t, o, c)
		known := TruthFor(t, c, o.Spec.DefaultContract(c.DType), in)
		outputs := e.run(c, in)
		for i, values := range outputs {
			largest, furthest := 0.0, 0.0
			for j, r := range known.Outputs[i].R {
				largest, furthest = math.Max(largest, math.Abs(r)), math.Max(furthest, math.Abs(r-values[j]))
			}
			if !(furthest <= 1e-12*largest) || len(values) != len(known.Outputs[i].R) {
				t.Errorf("%s %v %s: %s is off by %v, its largest number is %v", c.Op, c.Pass, c.Saved,
					known.Outputs[i].Name, furthest, largest)
			}
		}
		if len(outputs) != len(known.Outputs) {
			t.Errorf("%s %v: %d outputs, want %d", c.Op, c.Pass, len(outputs), len(known.Outputs))
		}
	}
}

// InputsByName are the inputs of an evaluation.
type InputsByName map[string]tensor.Tensor

// Row decodes row r of an input.
func (in InputsByName) Row(into []float64, name string, r int64) { in[name].DecodeRow(into, r, 0) }

// Buffers returns working memory of one core: rows of one length.
func Buffers(n int, cols int64) func() [][]float64 { return truth.RowInputs{Cols: cols}.Memory(n) }

// BenchmarkTruth measures R, T, TFP32 and Sim of a case together.
func BenchmarkTruth(b *testing.B, c op.Case, contract string, in []tensor.Tensor) {
	for b.Loop() {
		if _, err := truth.Of(c, contract, in, nil); err != nil {
			b.Fatal(err)
		}
	}
}
