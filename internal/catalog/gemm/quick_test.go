package gemm

import (
	"testing"

	"triad/internal/catalog"
	"triad/internal/op"
)

// TestQuickCaseIsWide: a grid that counts columns by the rows covers too little in one of the quick cases of
// a plain product, for any tile size.
func TestQuickCaseIsWide(t *testing.T) {
	operator, err := catalog.Get("gemm")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := operator.Spec.Expand(op.Options{
		Level: op.LevelQuick, Device: "cpu", DTypes: []string{"fp32"}, Distributions: []string{"normal"},
		Dims: map[string]int64{"batch": 1}, Attributes: map[string]string{"with_c": "false"},
	})
	if err != nil {
		t.Fatal(err)
	}
	const tile = 128
	for _, c := range plan.Cases {
		m, n := c.Dims.Get("m"), c.Dims.Get("n")
		if n > (m+tile-1)/tile*tile {
			return
		}
	}
	t.Error("no quick case is wider than a tile and less high than one")
}
