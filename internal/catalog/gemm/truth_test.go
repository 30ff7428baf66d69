package gemm

import (
	"fmt"
	"math"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/product/producttest"
	"triad/internal/truth/truthtest"
)

// sampled returns a batch of products that a sample leaves something of.
func sampled(t *testing.T, c op.Case, contract, withC string) producttest.Sampled {
	t.Helper()
	sizes := map[string]int64{"batch": 3, "m": 40, "n": 90, "k": 70}
	attributes := map[string]string{"layout_b": "nk", "with_c": withC, "alpha": "1.5", "beta": "-0.75"}
	if withC == "false" {
		attributes["beta"] = "0"
	}
	return producttest.SampledOf(t, "gemm", c, sizes, attributes, contract)
}

func TestFreivaldsOfABatch(t *testing.T) {
	for _, pass := range []op.Pass{op.Forward, op.Backward} {
		for contract, distribution := range map[string]string{"fp32": "normal", "tf32": "outlier"} {
			c := op.Case{Pass: pass, DType: "fp32", Distribution: distribution}
			sampled(t, c, contract, "true").CoveredBySums(t, fmt.Sprint(pass, " ", contract))
		}
	}
}

// TestNonFiniteRowsAreCompared: c has such elements in every row and column, so that no sum covers any of
// them.
func TestNonFiniteRowsAreCompared(t *testing.T) {
	c := op.Case{Pass: op.Forward, DType: "bf16", Distribution: "non_finite"}
	if n := sampled(t, c, "fp32", "true").NonFiniteIsCompared(t); n != 0 {
		t.Errorf("with c, sums cover %d elements", n)
	}
	if n := sampled(t, c, "fp32", "false").NonFiniteIsCompared(t); n == 0 {
		t.Error("without c, sums cover nothing")
	}
}

// TestAddedIsNotReadWithoutItsFactor: with beta = 0 a NaN in c has no effect, and with another beta it has.
func TestAddedIsNotReadWithoutItsFactor(t *testing.T) {
	for _, beta := range []float64{0, 0.5} {
		c := op.Case{
			Op: "gemm", Pass: op.Forward, DType: "fp32", Distribution: "non_finite",
			Dims: op.Dims{
				{Name: "batch", Value: 1},
				{Name: "m", Value: 1},
				{Name: "n", Value: 1},
				{Name: "k", Value: 2},
			},
			Attrs: op.Attrs{
				{Name: "layout_b", Text: "kn"},
				{Name: "with_c", Text: "true", Number: 1},
				{Name: "alpha", Number: 2},
				{Name: "beta", Number: beta},
			},
		}
		a, b := truthtest.Literal("a", op.FP32, []float64{1, 2}, 1, 1, 2), truthtest.Literal("b", op.FP32,
			[]float64{3, 4}, 1, 2, 1)
		nan := truthtest.Literal("c", op.FP32, []float64{math.NaN()}, 1, 1, 1)
		y, err := truth.Of(c, "fp32", truth.Inputs{a, b, nan}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := y.Outputs[0].R[0]; beta == 0 && got != 22 || beta != 0 && !math.IsNaN(got) {
			t.Errorf("beta = %v: %v", beta, got)
		}
	}
}

// TestTF32OfTensorCores: operands whose low bits are dropped, as tensor cores read fp32, and rounded ones
// pass under tf32 in every element and in the noise of all of them; neither passes under fp32.
func TestTF32OfTensorCores(t *testing.T) {
	o, err := truth.Get("gemm")
	if err != nil {
		t.Fatal(err)
	}
	rounded := tensor.Format{P: 11, EMin: -126, Max: math.MaxFloat32, Infinity: true}
	for _, pass := range []op.Pass{op.Forward, op.Backward} {
		for seed := range uint64(5) {
			c := op.Case{Pass: pass, DType: "fp32", Distribution: "normal"}
			sizes := map[string]int64{"batch": 2, "m": 33, "n": 49, "k": 129}
			attributes := map[string]string{
				"layout_b": "kn", "with_c": "true", "alpha": "1.5", "beta": "-0.75",
			}
			if c, err = o.Spec.NewCase(c, sizes, attributes); err != nil {
				t.Fatal(err)
			}
			in := truthtest.CaseInputs(t, o.Spec, c, seed)
			for how, read := range map[string]func(float64) float64{
				"rounded": func(x float64) float64 { return rounded.Round(x, false) }, "dropped": truth.TF32,
			} {
				given := make([]tensor.Tensor, len(in))
				for i, x := range in {
					values := x.Float64s()
					if x.Name != "c" {
						for j := range values {
							values[j] = read(values[j])
						}
					}
					given[i] = truthtest.Literal(x.Name, op.FP32, values, x.Shape...)
				}
				values := truthtest.Sims(truthtest.TruthFor(t, c, "fp32", given))
				what := fmt.Sprint(how, " ", pass, " seed ", seed)
				truthtest.Accepts(t, what, truthtest.Judged(truthtest.TruthFor(t, c, "tf32", in), values...))
				truthtest.Rejects(t, what+" under fp32",
					truthtest.Judged(truthtest.TruthFor(t, c, "fp32", in), values...))
			}
		}
	}
}
