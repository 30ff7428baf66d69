package truthtest

import (
	"math/rand/v2"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/workload"
)

// Shared by the tests of all operators: inputs, one judged call, right and wrong answers in emulated fp32.

// LowDTypes are the dtypes of the row operators and attention.
var LowDTypes = []op.DType{op.FP32, op.FP16, op.BF16}

// NormalTensor draws N(mean, sigma²), rounded to a dtype.
func NormalTensor(r *rand.Rand, name string, d op.DType, mean, sigma float64, shape ...int64) tensor.Tensor {
	t := tensor.New(name, d, shape)
	v := make([]float64, t.Elements())
	for i := range v {
		v[i] = mean + sigma*r.NormFloat64()
	}
	t.SetFloat64s(v)
	return t
}

// Literal returns a tensor of given values.
func Literal(name string, d op.DType, values []float64, shape ...int64) tensor.Tensor {
	t := tensor.New(name, d, shape)
	t.SetFloat64s(values)
	return t
}

// CaseInputs makes the inputs of the truth of a case.
func CaseInputs(t *testing.T, spec *op.Spec, c op.Case, seed uint64) []tensor.Tensor {
	t.Helper()
	in, err := workload.Inputs(spec, c, seed)
	if err != nil {
		t.Fatal(err)
	}
	if c.Pass == op.Forward || c.Saved == "own" {
		return in
	}
	saved, err := truth.Saved(spec, c, in)
	if err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	ordered, err := truth.BackwardInputs(spec, append(in, saved...))
	if err != nil {
		t.Fatal(err)
	}
	return ordered
}
