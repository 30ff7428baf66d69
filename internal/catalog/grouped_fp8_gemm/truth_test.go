package groupedfp8gemm

import (
	"math"
	"testing"

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

// TestEachGroupIsAProduct: a group has the truth and the error bound that it has alone, with its rows, its
// matrix and their scales; and the truth is the formula.
func TestEachGroupIsAProduct(t *testing.T) {
	o, err := truth.Get("grouped_fp8_gemm")
	if err != nil {
		t.Fatal(err)
	}
	const n, k, nBlocks, kBlocks = 140, 300, 2, 3
	caseOf := func(tokens, groups int64) op.Case {
		c := op.Case{Pass: op.Forward, DType: "e4m3", Distribution: "normal"}
		sizes := map[string]int64{"tokens": tokens, "groups": groups, "n": n, "k": k}
		c, err := o.Spec.NewCase(c, sizes, outputs)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	in, c := map[string][]float64{}, caseOf(40, 3)
	all := truthtest.CaseInputs(t, o.Spec, c, 1)
	for _, x := range all {
		in[x.Name] = x.Float64s()
	}
	whole := truthtest.TruthFor(t, c, "promoted", all).Outputs[0]
	compared := 0
	for g := range int64(3) {
		from, end := int64(in["offsets"][g]), int64(in["offsets"][g+1])
		rows := end - from
		part := func(name string, d op.DType, first, each int64, shape ...int64) tensor.Tensor {
			return truthtest.Literal(name, d, in[name][first*each:(first+shape[0])*each], shape...)
		}
		want := truthtest.TruthFor(t, caseOf(rows, 1), "promoted", []tensor.Tensor{
			part("x", op.E4M3, from, k, rows, k), part("scale_x", op.FP32, from, kBlocks, rows, kBlocks),
			part("w", op.E4M3, g, n*k, 1, n, k),
			part("scale_w", op.FP32, g, nBlocks*kBlocks, 1, nBlocks, kBlocks),
			truthtest.Literal("offsets", op.I32, []float64{0, float64(rows)}, 2),
		}).Outputs[0]
		for i := range want.R {
			row, col := from+int64(i)/n, int64(i)%n
			at, sum := row*n+col, 0.0
			for z := range int64(k) {
				sum += in["x"][row*k+z] * in["scale_x"][row*kBlocks+z/scaleBlock] * in["w"][(g*n+col)*k+z] *
					in["scale_w"][(g*nBlocks+col/scaleBlock)*kBlocks+z/scaleBlock]
			}
			near := math.Abs(whole.R[at]-sum) <= 1e-12*(1+math.Abs(sum))
			if !near || whole.R[at] != want.R[i] || whole.T[at] != want.T[i] {
				t.Fatalf("group %d, element %d: %v within %v, alone %v within %v, the formula is %v", g, i,
					whole.R[at], whole.T[at], want.R[i], want.T[i], sum)
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
