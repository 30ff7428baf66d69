package reduction_test

import (
	"math"
	"math/big"
	"testing"

	_ "triad/internal/truth/all"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/reduction"
	"triad/internal/truth/truthtest"
)

// caseOf returns a case of the one operator that adds up its input as it is.
func caseOf(t *testing.T, pass op.Pass, d op.DType, n int64, distribution string) (op.Case, []tensor.Tensor) {
	t.Helper()
	for _, o := range truth.All() {
		if r, ok := reduction.Get(o.Spec.Name); !ok || len(r.Term.Forms[0].Operands) > 0 || r.Mean ||
			r.Offsets != "" {
			continue
		}
		c, err := o.Spec.NewCase(op.Case{Pass: pass, DType: d.String(), Distribution: distribution},
			map[string]int64{"n": n}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c, truthtest.CaseInputs(t, o.Spec, c, 1)
	}
	t.Fatal("the family has no such operator")
	return op.Case{}, nil
}

// exactSum returns the sum to 300 bits, and that of the magnitudes and squares.
func exactSum(x []float64) (sum, abs, square float64) {
	total := new(big.Float).SetPrec(300)
	for _, v := range x {
		total.Add(total, new(big.Float).SetFloat64(v))
		abs += math.Abs(v)
		square += v * v
	}
	sum, _ = total.Float64()
	return sum, abs, square
}

// TestSum: R is the sum, T the row of docs/judge.md, with the smaller partial sums of independent terms; an
// exact case, one element and none are exact.
func TestSum(t *testing.T) {
	for _, d := range truthtest.LowDTypes {
		for _, n := range []int64{0, 1, 2, 33, 4096, 4097, 50_001} {
			for _, distribution := range []string{"normal", "constant", "outlier", "integers"} {
				c, in := caseOf(t, op.Forward, d, n, distribution)
				y := truthtest.TruthFor(t, c, "fp32", in).Outputs[0]
				sum, abs, square := exactSum(in[0].Float64s())
				truthtest.Near(t, c.Key(), y.R[0], sum, abs)
				if got := tensor.Round(d, sum, false); y.Sim[0] != got || !y.Uniform {
					t.Errorf("%v: sim %v, want %v", c, y.Sim[0], got)
				}
				want := judge.U32 * (math.Min(float64(n), 8*math.Sqrt(float64(n))) + 4) * abs
				switch {
				case n <= 1 || distribution == "integers":
					want = 0
				case distribution == "constant":
					want = judge.U32 * (float64(n) + 4) * abs
				case distribution == "normal" && math.Abs(sum)+8*math.Sqrt(square) < abs:
					want *= (math.Abs(sum) + 8*math.Sqrt(square)) / abs
				}
				if math.Abs(y.T[0]-want) > 1e-9*want || y.TFP32[0] != y.T[0] {
					t.Errorf("%s %s n %d: T = %v, want %v", distribution, d, n, y.T[0], want)
				}
				if most := judge.U32 * math.Max(judge.G(n), float64(n)+4) * abs; !(y.T[0] <= most) {
					t.Errorf("%s %s n %d: T = %v, judge.md has %v", distribution, d, n, y.T[0], most)
				}
				if exact := distribution == "integers"; y.Exact != exact {
					t.Errorf("%s n %d: exact %v", distribution, n, y.Exact)
				}
			}
		}
	}
}

// TestLargeSumsHavePower: the error bound of a sum of a million independent terms is small enough to tell
// right from wrong.
func TestLargeSumsHavePower(t *testing.T) {
	c, in := caseOf(t, op.Forward, op.FP32, 1<<20, "normal")
	y := truthtest.TruthFor(t, c, "fp32", in).Outputs[0]
	if !(y.T[0] < 50) || !(math.Abs(y.R[0]) < 5000) { // the standard deviation of R is 1024
		t.Errorf("R = %v, T = %v", y.R[0], y.T[0])
	}
}

// TestGradientOfTheSum: every element is the upstream gradient, and nothing else is accepted.
func TestGradientOfTheSum(t *testing.T) {
	c, in := caseOf(t, op.Backward, op.BF16, 5000, "normal")
	dy := truth.Inputs(in).Get("grad_y").Float64s()[0]
	g := truthtest.TruthFor(t, c, "fp32", in).Outputs[0]
	for i := range g.R {
		if g.R[i] != dy || g.T[i] != 0 || g.Sim[i] != dy {
			t.Fatalf("element %d: R = %v, T = %v, sim %v, want %v alone", i, g.R[i], g.T[i], g.Sim[i], dy)
		}
	}
	if !g.Uniform {
		t.Error("the gradient is not said to be one number by definition")
	}
}

// TestRefusedInputs: inputs of another shape are errors.
func TestRefusedInputs(t *testing.T) {
	c, in := caseOf(t, op.Forward, op.FP32, 6, "normal")
	in[0].Shape, in[0].Stride = []int64{2, 3}, []int64{3, 1}
	if _, err := truth.Of(c, "fp32", in, nil); err == nil {
		t.Error("a matrix is added up")
	}
	c, in = caseOf(t, op.Backward, op.FP32, 6, "normal")
	for i := range in {
		if in[i].Name == "grad_y" {
			in[i] = truthtest.Literal("grad_y", op.FP32, []float64{1, 2}, 2)
		}
	}
	if _, err := truth.Of(c, "fp32", in, nil); err == nil {
		t.Error("two upstream gradients are one")
	}
}

// TestMean: R is the sum divided by the number of elements, and T that of the sum, divided too, plus the loss
// of a quotient, which is 0 for a power of two.
func TestMean(t *testing.T) {
	for _, o := range truth.All() {
		if r, ok := reduction.Get(o.Spec.Name); !ok || !r.Mean {
			continue
		}
		for n, exact := range map[int64]bool{1: true, 3: false, 4: true, 1000: false, 1024: true} {
			c, err := o.Spec.NewCase(op.Case{Pass: op.Forward, DType: "bf16", Distribution: "integers"},
				map[string]int64{"n": n}, nil)
			if err != nil {
				t.Fatal(err)
			}
			in := truthtest.CaseInputs(t, o.Spec, c, 1)
			y := truthtest.TruthFor(t, c, "fp32", in).Outputs[0]
			want, a, b := 0.0, in[0].Float64s(), in[1].Float64s()
			for i := range a {
				want += (a[i] - b[i]) * (a[i] - b[i]) / float64(n)
			}
			truthtest.Near(t, c.Key(), y.R[0], want, want)
			if y.Exact != exact || exact != (y.T[0] == 0) {
				t.Errorf("%d elements: exact %v, T %v: want exact %v", n, y.Exact, y.T[0], exact)
			}
			if most := 20 * judge.U32 * want; n == 3 && !(y.T[0] >= 2*judge.U32*want && y.T[0] < most) {
				t.Errorf("%d elements: T = %v, R = %v", n, y.T[0], want)
			}
		}
		return
	}
	t.Fatal("the family has no mean")
}
