package truth_test

import (
	"math"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

// stated is a reference whose values and error bounds are given.
type stated struct{ r, t float64 }

func (s stated) Compute(c op.Case, _ string, in []tensor.Tensor) ([]truth.Computed, error) {
	n := in[0].Elements()
	one := truth.Computed{R: make([]float64, n), T: make([]float64, n), Simulated: make([]float64, n)}
	for i := range one.R {
		one.R[i], one.T[i], one.Simulated[i] = s.r, s.t, s.r
	}
	return []truth.Computed{one}, nil
}

func (s stated) Prove(op.Case, []tensor.Tensor, uint64) (truth.Step, error) { return truth.Step{}, nil }

// TestExactReference: a user's own reference may be under the contract exact if its error bound comes out as
// 0: then bits are compared.
func TestExactReference(t *testing.T) {
	for _, o := range truth.All() {
		if o.Spec.DefaultContract(o.Spec.DTypes[0]) != "exact" || o.Spec.Backward == nil {
			continue
		}
		c, err := o.Spec.NewCase(op.Case{Pass: op.Forward, DType: "fp32"},
			map[string]int64{o.Spec.Dims[0].Name: 3, o.Spec.Dims[1].Name: 5}, nil)
		if err != nil {
			t.Fatal(err)
		}
		in := truthtest.CaseInputs(t, o.Spec, c, 1)
		own := *o
		own.Reference = stated{r: math.Copysign(0, -1)}
		known, err := own.TruthOf(c, "exact", in, nil)
		if err != nil || !known.Outputs[0].Bits || known.Outputs[0].Independent {
			t.Errorf("%s: %+v, %v", o.Spec.Name, known, err)
			continue
		}
		v := truthtest.Judged(known, make([]float64, 15))[0]
		if v.Status != op.StatusFail || v.Wrong != 15 {
			t.Errorf("%s: zeros in place of -0: %v (%s)", o.Spec.Name, v.Status, v.Sentence)
		}
		own.Reference = stated{r: 1, t: 1e-9}
		_, err = own.TruthOf(c, "exact", in, nil)
		if err == nil || !strings.Contains(err.Error(), "want 0") {
			t.Errorf("%s: a reference that rounds is taken for exact: %v", o.Spec.Name, err)
		}
		return
	}
	t.Error("no operator is under the contract exact")
}

// TestIndexAndPosition: index and position are each other's inverse.
func TestIndexAndPosition(t *testing.T) {
	shape := []int64{3, 1, 4}
	for i := range int64(12) {
		if got := truth.PositionOf(truth.IndexOf(i, shape), shape); got != i {
			t.Errorf("position %d has the index %v, which is position %d", i, truth.IndexOf(i, shape), got)
		}
	}
	if at := truth.IndexOf(11, shape); at[0] != 2 || at[1] != 0 || at[2] != 3 {
		t.Errorf("the last index is %v", at)
	}
}

// TestReferenceOfOneNumber: an output that is one number by definition is its own mean, which is no wrong
// answer; a shape that happens to have one element says nothing of the kind.
func TestReferenceOfOneNumber(t *testing.T) {
	const spec = `name = "total"
summary = "a sum"
formula = "y = sum x"
source = "a test"
dtypes = ["fp32"]
dims = [{ name = "n" }]
inputs = [{ name = "x", shape = ["n"] }]
outputs = [{ name = "y", shape = ["SHAPE"] }]
contract = { default = { fp32 = "fp32" } }
cost = { forward = { bytes = "4 * n", flops = "n" } }
check = { distributions = ["normal"], shapes = [{ n = 1, all = true, quick = true }] }
bench = [{ name = "one", dims = { n = 1 } }, { name = "two", dims = { n = 2 } }]
`
	for shape, one := range map[string]bool{"1": true, "n": false} {
		s, err := op.Load("total.toml", []byte(strings.ReplaceAll(spec, "SHAPE", shape)))
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.NewCase(op.Case{Pass: op.Forward, DType: "fp32", Distribution: "normal"},
			map[string]int64{"n": 1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		o := truth.Operator{Spec: s, Reference: stated{r: 1.5, t: 1e-9}}
		known, err := o.TruthOf(c, "fp32", truthtest.CaseInputs(t, s, c, 1), nil)
		if err != nil || known.Outputs[0].Uniform != one {
			t.Errorf("shape %q: %+v, %v; want one number: %t", shape, known.Outputs, err, one)
		}
	}
}
