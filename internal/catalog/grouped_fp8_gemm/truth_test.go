package groupedfp8gemm

import (
	"testing"

	_ "triad/internal/catalog/fp8_gemm" // whose truth is that of a group
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/product/producttest"
	"triad/internal/truth/truthtest"
)

var outputs = map[string]string{"out": "fp32"}

// sampled returns a case that a sample leaves something of, under a contract.
func sampled(t *testing.T, distribution, contract string) producttest.Sampled {
	t.Helper()
	sizes := map[string]int64{"tokens": 130, "groups": 5, "n": 140, "k": 300}
	c := op.Case{Pass: op.Forward, DType: "e4m3", Distribution: distribution}
	return producttest.SampledOf(t, "grouped_fp8_gemm", c, sizes, outputs, contract)
}

func TestFreivaldsOfGroups(t *testing.T) {
	for _, distribution := range []string{"normal", "outlier"} {
		for _, contract := range []string{"promoted", "fast"} {
			sampled(t, distribution, contract).CoveredBySums(t, distribution+" "+contract)
		}
	}
}

func TestNonFiniteRowsOfGroups(t *testing.T) {
	sampled(t, "non_finite", "promoted").NonFiniteIsCompared(t)
}

// TestEachGroupIsAProduct: the truth of each group is fp8_gemm's of its rows and its matrix, with scales of
// blocks: values and error bounds.
func TestEachGroupIsAProduct(t *testing.T) {
	o, err := truth.Get("grouped_fp8_gemm")
	if err != nil {
		t.Fatal(err)
	}
	dense, err := truth.Get("fp8_gemm")
	if err != nil {
		t.Fatal(err)
	}
	const n, k = 140, 300
	c := op.Case{Pass: op.Forward, DType: "e4m3", Distribution: "normal"}
	sizes := map[string]int64{"tokens": 40, "groups": 3, "n": n, "k": k}
	if c, err = o.Spec.NewCase(c, sizes, outputs); err != nil {
		t.Fatal(err)
	}
	in := map[string]tensor.Tensor{}
	all := truthtest.CaseInputs(t, o.Spec, c, 1)
	for _, x := range all {
		in[x.Name] = x
	}
	whole := truthtest.TruthFor(t, c, "promoted", all).Outputs[0]
	starts, compared := in["offsets"].Float64s(), 0
	part := func(name, of string, d op.DType, first int64, shape ...int64) tensor.Tensor {
		values := in[of].Float64s()
		each := shape[0] * shape[1]
		return truthtest.Literal(name, d, values[first*shape[1]:first*shape[1]+each], shape...)
	}
	for g := range int64(3) {
		from, rows := int64(starts[g]), int64(starts[g+1]-starts[g])
		one := op.Case{Pass: op.Forward, DType: "e4m3", Distribution: "normal"}
		one, err = dense.Spec.NewCase(one, map[string]int64{"m": rows, "n": n, "k": k},
			map[string]string{"scaling": "block", "out": "fp32"})
		if err != nil {
			t.Fatal(err)
		}
		want := truthtest.TruthFor(t, one, "promoted", []tensor.Tensor{
			part("a", "x", op.E4M3, from, rows, k), part("scale_a", "scale_x", op.FP32, from, rows, 3),
			part("b", "w", op.E4M3, g*n, n, k), part("scale_b", "scale_w", op.FP32, g*2, 2, 3),
		}).Outputs[0]
		for i := range want.R {
			at := from*n + int64(i)
			if whole.R[at] != want.R[i] || whole.T[at] != want.T[i] {
				t.Fatalf("group %d, element %d: %v within %v, want %v within %v", g, i, whole.R[at],
					whole.T[at], want.R[i], want.T[i])
			}
			compared++
		}
	}
	if compared != 40*n {
		t.Errorf("%d elements are compared, want %d", compared, 40*n)
	}
}

// TestScalesOfAnotherShape: scales that are not one for each block of each matrix have no truth.
func TestScalesOfAnotherShape(t *testing.T) {
	o, err := truth.Get("grouped_fp8_gemm")
	if err != nil {
		t.Fatal(err)
	}
	c := op.Case{Pass: op.Forward, DType: "e4m3", Distribution: "normal"}
	sizes := map[string]int64{"tokens": 6, "groups": 2, "n": 3, "k": 5}
	if c, err = o.Spec.NewCase(c, sizes, nil); err != nil {
		t.Fatal(err)
	}
	for name, shape := range map[string][]int64{"scale_w": {1, 1, 1}, "scale_x": {6, 2}} {
		in := truthtest.CaseInputs(t, o.Spec, c, 1)
		for i, x := range in {
			if x.Name == name {
				in[i] = tensor.New(name, op.FP32, shape)
			}
		}
		if _, err := truth.Of(c, "promoted", in, nil); err == nil {
			t.Errorf("%s of shape %v was accepted", name, shape)
		}
	}
}
