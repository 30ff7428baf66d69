package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"triad/internal/backend"
	"triad/internal/judge"
	"triad/internal/machine"
	"triad/internal/need"
	"triad/internal/op"
	"triad/internal/runsetup"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
	"triad/internal/worker"
	"triad/internal/workload"
	"triad/pybridge"
)

// agreement is the largest distance between the two truths, in roundings of fp64. Each may be off by one:
// fp64 loses that much of the absolute terms of an element, as they grow in sums.
const agreement = 2

// TestSecondTruth: two truths that share no code, ours in Go and torch's in fp64, agree on every element of
// every quick case, forward and backward. The fast tier checks one case of each pass, dtype and kind of saved
// tensors.
func TestSecondTruth(t *testing.T) {
	python := testPython(t)
	a := newApp(os.Stdin, os.Stdout, os.Stderr)
	cache := t.TempDir()
	e, err := a.Environment(machine.EnvironmentFlags{Yes: true, Offline: true}, false)
	if err != nil {
		t.Fatal(err)
	}
	e.Getenv = func(name string) string {
		if name == "TRIAD_PYTHON" {
			return python
		}
		return os.Getenv(name)
	}
	second := pybridge.TruthBackend(e, cache, worker.Options{Limits: worker.DefaultLimits})
	defer func() {
		if err := second.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, o := range truth.All() {
		t.Run(o.Spec.Name, func(t *testing.T) {
			if _, _, err := second.Load(context.Background(), o.Spec.Name); err != nil {
				t.Fatal(err)
			}
			plan, err := o.Spec.Expand(op.Options{Level: op.LevelQuick})
			if err != nil {
				t.Fatal(err)
			}
			worst, planted, asked := 0.0, 0, chosenCases(t, plan.Cases)
			for _, c := range asked {
				both, err := truthsOf(second, o.Spec, c)
				if err != nil {
					t.Fatalf("%v: %v", c, err)
				}
				if both.open() {
					continue
				}
				apart, where := both.apart()
				worst = max(worst, apart)
				if i, j, ok := both.plant(1e-9); ok {
					planted++
					if apart, where := both.apart(); !(apart > agreement) {
						t.Errorf("%v: an error of 1e-9 of its terms in element %d of output %d is not "+
							"seen: %.3g roundings at %s", c, j, i, apart, where)
					}
				}
				if !(apart <= agreement) {
					t.Errorf("%s %v %s %v %v %s %s %s: %.3g roundings apart at %s", c.Op, c.Pass, c.DType,
						c.Dims, c.Attrs, c.Distribution, c.Upstream, c.Saved, apart, where)
				}
			}
			t.Logf("%d cases, at most %.3g roundings of fp64 apart; %d planted errors are seen",
				len(asked), worst, planted)
			if planted*2 < len(asked) {
				t.Errorf("an error could be planted in %d of %d cases", planted, len(asked))
			}
		})
	}
}

// chosenCases returns the cases that this tier checks.
func chosenCases(t *testing.T, cases []op.Case) (some []op.Case) {
	t.Helper()
	for _, c := range cases {
		if need.Chosen(t, c.Key(), fmt.Sprint(c.Op, " ", c.Pass, " ", c.DType, " ", c.Saved), append(
			need.Operator(c.Op), "internal/truth", "pybridge/truth")...) {
			some = append(some, c)
		}
	}
	return some
}

// truths holds both truths of a case, output by output, and how far fp64 may round each element.
type truths struct {
	first            judge.Truth
	second, rounding [][]float64
}

// truthsOf computes both truths.
func truthsOf(second backend.Backend, spec *op.Spec, c op.Case) (both truths, err error) {
	in, err := workload.Inputs(spec, c, runsetup.DefaultSeed)
	if err != nil {
		return both, err
	}
	name := "truth/saved"
	switch c.Saved {
	case "own":
		name = "truth/chained"
	case "driver":
		saved, err := truthtest.Saved(spec, c, in)
		if err != nil {
			return both, err
		}
		in = append(in, saved...)
	}
	if c.Pass == op.Backward && c.Saved != "own" {
		if in, err = truthtest.BackwardInputs(spec, in); err != nil {
			return both, err
		}
	}
	if both.first, err = truth.Of(c, spec.DefaultContract(c.DType), in, nil); err != nil {
		return both, err
	}
	if both.second, err = runTruth(second, spec, c, name, in); err != nil {
		return both, err
	}
	// where kernels may choose, the second truth chooses
	both.first = both.first.Under(func(output string) []byte {
		for i, t := range both.first.Outputs {
			if t.Name == output {
				return tensor.Encode(t.DType, both.second[i])
			}
		}
		return nil
	})
	both.rounding, err = runTruth(second, spec, c, name+"_rounding", in)
	return both, err
}

// runTruth runs an implementation of the second truth and returns its outputs.
func runTruth(second backend.Backend, spec *op.Spec, c op.Case, name string, in []tensor.Tensor) ([][]float64,
	error,
) {
	outputs, err := spec.Outputs(c)
	if err != nil {
		return nil, err
	}
	for i := range outputs {
		outputs[i].DType = op.FP64
	}
	outcome, err := second.Run(context.Background(), backend.Job{
		DType: c.DType, Contract: "fp64", Inputs: in, Outputs: outputs, Attrs: attributesOf(spec, c),
		Implementation: backend.Implementation{Name: name, Op: c.Op, Pass: c.Pass},
		Launches:       []backend.LaunchPlan{{Poison: "a"}},
	})
	if err != nil {
		return nil, err
	}
	if outcome.Status != op.StatusUnknown || len(outcome.Launches) != 1 {
		return nil, fmt.Errorf("%s ended %v: %s", name, outcome.Status, outcome.Sentence)
	}
	values := make([][]float64, len(outputs))
	for i, t := range outputs {
		got := outcome.Launches[0].Outputs[i]
		if !got.Present || got.Type != "" || !slices.Equal(got.Shape, t.Shape) {
			return nil, fmt.Errorf("%s: %s came back as %s %v, want %v", name, t.Name, got.Type,
				got.Shape, t.Shape)
		}
		values[i] = tensor.Decode(op.FP64, got.Tensor.Data)
	}
	return values, nil
}

// open reports whether several integers are right in some element, as the zero point of an empty tensor.
func (b truths) open() bool {
	return slices.ContainsFunc(b.first.Outputs, func(t judge.Target) bool {
		return !t.DType.IsFloat() && slices.ContainsFunc(t.T, func(v float64) bool { return v >= 2 })
	})
}

// apart returns the largest distance between both truths of a case. The second rounds integers as it stores
// them.
func (b truths) apart() (apart float64, where string) {
	for i, target := range b.first.Outputs {
		for j, r := range target.R {
			if !target.DType.IsFloat() {
				r = tensor.Round(target.DType, r, false)
			}
			if d := distance(r, b.second[i][j], b.rounding[i][j]); !(d <= apart) {
				apart, where = d, fmt.Sprintf("%s%v: %v and %v", target.Name,
					tensor.Index(int64(j), target.Shape), r, b.second[i][j])
			}
		}
	}
	return apart, where
}

// plant makes every error bound a thousand times as large and one element of the truth wrong, by a share of
// its terms; ok is false if no element has any.
func (b truths) plant(share float64) (output, element int, ok bool) {
	for i, target := range b.first.Outputs {
		for j := range target.R {
			target.T[j] *= 1000
			target.TFP32[j] *= 1000
			off := share * b.rounding[i][j] / judge.U64
			if b.rounding[i][j] == 0 { // it is exact: any distance shows
				off = share * math.Abs(target.R[j])
				if target.R[j] == 0 {
					off = share
				}
			}
			if off > 0 && !target.DType.IsFloat() {
				off = max(1, (agreement+1)*b.rounding[i][j]) // above 0 where a neighbour is right too
			}
			if !ok && off > 0 && !math.IsInf(off, 0) && !math.IsNaN(target.R[j]-target.R[j]) {
				output, element, ok = i, j, true
				target.R[j] += off
			}
		}
	}
	return output, element, ok
}

// TestDistance: what is not a number is infinitely far apart, whatever the rounding.
func TestDistance(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct{ x, y, rounding, want float64 }{
		{1, 1, 0, 0},
		{nan, nan, 0, 0},
		{inf, inf, nan, 0},
		{1, 1.5, 0.25, 2},
		{1, 1.5, 0, inf},
		{1, nan, 1, inf},
		{inf, 1, 1, inf},
		{inf, -inf, 1, inf},
		{1, 2, inf, inf},
		{1, 2, nan, inf},
		{1, 2, -1, inf},
	} {
		if got := distance(c.x, c.y, c.rounding); got != c.want {
			t.Errorf("the distance of %v and %v with a rounding of %v is %v, want %v", c.x, c.y,
				c.rounding, got, c.want)
		}
	}
}

// distance returns |x - y| in roundings of fp64; infinite if that is no number. The error bound T of the
// judged truth has no part in it: one that is too large does not loosen the check of its own truth.
func distance(x, y, rounding float64) float64 {
	if x == y || math.IsNaN(x) && math.IsNaN(y) {
		return 0
	}
	if d := math.Abs(x-y) / rounding; d >= 0 && d <= math.MaxFloat64 && !math.IsInf(rounding, 0) {
		return d
	}
	return math.Inf(1)
}

// attributesOf returns a case's attributes as a worker gets them.
func attributesOf(spec *op.Spec, c op.Case) []backend.AttrRef {
	var refs []backend.AttrRef
	for _, a := range c.Attrs {
		i := slices.IndexFunc(spec.Attributes, func(s op.AttributeSpec) bool { return s.Name == a.Name })
		refs = append(refs, backend.AttrRef{
			Name: a.Name, Type: spec.Attributes[i].Type, Number: a.Number,
			Text: a.Text,
		})
	}
	return refs
}
