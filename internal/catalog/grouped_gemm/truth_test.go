package groupedgemm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/product/producttest"
	"triad/internal/truth/truthtest"
)

// sampled returns a case that a sample leaves something of.
func sampled(t *testing.T, c op.Case) producttest.Sampled {
	t.Helper()
	sizes := map[string]int64{"tokens": 130, "groups": 5, "k": 70, "n": 90}
	return producttest.SampledOf(t, "grouped_gemm", c, sizes, nil, "fp32")
}

func TestFreivaldsOfGroups(t *testing.T) {
	for _, pass := range []op.Pass{op.Forward, op.Backward} {
		for _, distribution := range []string{"normal", "outlier"} {
			c := op.Case{Pass: pass, DType: "fp32", Distribution: distribution}
			sampled(t, c).CoveredBySums(t, fmt.Sprint(pass, " ", distribution))
		}
	}
}

func TestNonFiniteRowsOfGroups(t *testing.T) {
	for _, pass := range []op.Pass{op.Forward, op.Backward} {
		sampled(t, op.Case{Pass: pass, DType: "fp16", Distribution: "non_finite"}).NonFiniteIsCompared(t)
	}
}

// TestOffsetsThatCutNothing: offsets that do not increase from 0 to the last row have no truth.
func TestOffsetsThatCutNothing(t *testing.T) {
	o, err := truth.Get("grouped_gemm")
	if err != nil {
		t.Fatal(err)
	}
	c := op.Case{Pass: op.Forward, DType: "fp32", Distribution: "normal"}
	sizes := map[string]int64{"tokens": 6, "groups": 2, "k": 3, "n": 2}
	if c, err = o.Spec.NewCase(c, sizes, nil); err != nil {
		t.Fatal(err)
	}
	in := truthtest.CaseInputs(t, o.Spec, c, 1)
	for _, offsets := range [][]float64{{1, 3, 6}, {0, 3, 5}, {0, 7, 6}} {
		given := slices.Clone(in)
		at := slices.IndexFunc(given, func(x tensor.Tensor) bool { return x.Name == "offsets" })
		given[at] = truthtest.Literal("offsets", op.I64, offsets, 3)
		_, err := truth.Of(c, "fp32", given, nil)
		if err == nil || !strings.Contains(err.Error(), "from 0 to 6") {
			t.Errorf("offsets %v: %v", offsets, err)
		}
	}
}
