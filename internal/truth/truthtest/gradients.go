package truthtest

import (
	"math"
	"math/rand/v2"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// Near compares with a second, independent computation to 1e-12 of a companion.
func Near(t *testing.T, what string, got, want, companion float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-12*companion) && !(math.IsNaN(got) && math.IsNaN(want)) && got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// complexStep returns the directional derivative of a real analytic function of many values, to machine
// precision: Im f(x + ih v)/h with h = 1e-100 (Squire and Trapp 1998).
func complexStep(f func(x []complex128) complex128, x, direction []float64) float64 {
	const h = 1e-100
	z := make([]complex128, len(x))
	for i := range x {
		z[i] = complex(x[i], h*direction[i])
	}
	return imag(f(z)) / h
}

// CheckGradient compares <gradient, direction> with the complex step along random directions.
func CheckGradient(t *testing.T, what string, r *rand.Rand, f func(x []complex128) complex128, x,
	gradient []float64,
) {
	t.Helper()
	for range 3 {
		direction := make([]float64, len(x))
		want, companion := 0.0, 0.0
		for i := range x {
			direction[i] = r.NormFloat64()
			want += gradient[i] * direction[i]
			companion += math.Abs(gradient[i] * direction[i])
		}
		if got := complexStep(f, x, direction); !(math.Abs(got-want) <= 1e-12*companion) {
			t.Errorf("%s: closed form %v, complex step %v", what, want, got)
		}
	}
}

// BackwardTruths returns the truths of a backward under every contract of the operator, with the driver's
// saved tensors where the case asks for them.
func BackwardTruths(t *testing.T, o *truth.Operator, c op.Case, in []tensor.Tensor) []judge.Truth {
	t.Helper()
	if c.Saved == "driver" {
		saved, err := Saved(o.Spec, c, in)
		if err != nil {
			t.Fatal(err)
		}
		if in, err = BackwardInputs(o.Spec, append(append([]tensor.Tensor(nil), in...),
			saved...)); err != nil {
			t.Fatal(err)
		}
	}
	var all []judge.Truth
	for _, contract := range append([]string{o.Spec.DefaultContract(c.DType)}, o.Spec.Contract.Permits...) {
		truth, err := truth.Of(c, contract, in, nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, truth)
	}
	return all
}

// ExactlyZero checks that an element is 0 and that nothing else is accepted.
func ExactlyZero(t *testing.T, what string, target judge.Target, i int) {
	t.Helper()
	if target.R[i] != 0 || target.T[i] != 0 || target.TFP32[i] != 0 || target.Sim[i] != 0 {
		t.Errorf("%s: %s element %d: R %g, T %g, TFP32 %g, sim %g, want 0 alone", what, target.Name, i,
			target.R[i], target.T[i], target.TFP32[i], target.Sim[i])
	}
}
