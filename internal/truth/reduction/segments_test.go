package reduction_test

import (
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/reduction"
	"triad/internal/truth/truthtest"
)

// segmentsOf returns a case of the operator that adds up segments as they are.
func segmentsOf(t *testing.T, values, offsets []float64) (op.Case, []tensor.Tensor) {
	t.Helper()
	for _, o := range truth.All() {
		if r, ok := reduction.Get(o.Spec.Name); !ok || r.Offsets == "" {
			continue
		}
		n, segments := int64(len(values)), int64(len(offsets)-1)
		c, err := o.Spec.NewCase(op.Case{Pass: op.Forward, DType: "fp32", Distribution: "normal"},
			map[string]int64{"n": n, "segments": segments}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c, []tensor.Tensor{
			truthtest.Literal("x", op.FP32, values, n),
			truthtest.Literal("offsets", op.I64, offsets, segments+1),
		}
	}
	t.Fatal("the family has no segments")
	return op.Case{}, nil
}

// TestSegments: each segment has its own sum and its own error bound; an empty one, and one of one element,
// is exact.
func TestSegments(t *testing.T) {
	c, in := segmentsOf(t, []float64{1, 2, 4, 8, 16}, []float64{0, 0, 1, 4, 4, 5})
	y := truthtest.TruthFor(t, c, "fp32", in).Outputs[0]
	for i, want := range []float64{0, 1, 14, 0, 16} {
		if exact := i != 2; y.R[i] != want || y.Sim[i] != want || (y.T[i] == 0) != exact {
			t.Errorf("segment %d: R %v, T %v, sim %v, want %v", i, y.R[i], y.T[i], y.Sim[i], want)
		}
	}
}

// TestWrongOffsets: offsets that do not increase from 0 to the end are an error.
func TestWrongOffsets(t *testing.T) {
	for _, offsets := range [][]float64{{1, 2, 3}, {0, 2, 2}, {0, 4, 3}, {0, -1, 3}} {
		c, in := segmentsOf(t, []float64{1, 2, 4}, offsets)
		if _, err := truth.Of(c, "fp32", in, nil); err == nil ||
			!strings.Contains(err.Error(), "rise from 0 to 3") {
			t.Errorf("offsets %v: %v", offsets, err)
		}
	}
}
