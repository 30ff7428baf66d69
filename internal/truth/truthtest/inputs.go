package truthtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
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
	saved, err := Saved(spec, c, in)
	if err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	ordered, err := BackwardInputs(spec, append(in, saved...))
	if err != nil {
		t.Fatal(err)
	}
	return ordered
}

// Saved makes the tensors that a driver passes to a backward of an operator of the catalog.
func Saved(spec *op.Spec, c op.Case, in []tensor.Tensor) ([]tensor.Tensor, error) {
	return (&truth.Operator{Spec: spec}).Saved(c, in)
}

// BackwardInputs puts the inputs of a kernel's backward into the order of the spec: have holds, in any order,
// the operator's inputs, saved tensors and upstream gradients.
func BackwardInputs(spec *op.Spec, have []tensor.Tensor) ([]tensor.Tensor, error) {
	if spec.Backward == nil {
		return nil, fmt.Errorf("order the backward inputs of %s: it has no backward", spec.Name)
	}
	var out []tensor.Tensor
	for _, name := range spec.Backward.Inputs {
		i := slices.IndexFunc(have, func(t tensor.Tensor) bool { return t.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("order the backward inputs of %s: %s is missing", spec.Name, name)
		}
		out = append(out, have[i])
	}
	return out, nil
}
