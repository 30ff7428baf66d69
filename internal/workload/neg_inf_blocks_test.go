package workload

import (
	"math"
	"slices"
	"strings"
	"testing"

	"triad/internal/catalog"
	"triad/internal/op"
)

// blocked returns the first operator of rows and columns that neg_inf_blocks applies to and that fits.
func blocked(t *testing.T, fits func(s *op.Spec) bool) *op.Spec {
	t.Helper()
	for _, o := range catalog.All() {
		if slices.Contains(o.Spec.Check.Distributions, "neg_inf_blocks") && len(o.Spec.Dims) == 2 &&
			fits(o.Spec) {
			return o.Spec
		}
	}
	t.Fatal("no operator meets it")
	return nil
}

// maskedRows returns which elements are -inf under neg_inf_blocks in the only input of an operator.
func maskedRows(t *testing.T, rows, cols int64) [][]bool {
	t.Helper()
	s := blocked(t, func(s *op.Spec) bool { return len(s.InputSpecs) == 1 && len(s.Require) == 0 })
	c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "fp16", Distribution: "neg_inf_blocks"},
		map[string]int64{s.Dims[0].Name: rows, s.Dims[1].Name: cols}, nil)
	list, err := Inputs(s, c, defaultSeed)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]bool
	for row := range slices.Chunk(list[0].Float64s(), int(cols)) {
		masked := make([]bool, cols)
		for i, v := range row {
			masked[i] = math.IsInf(v, -1)
		}
		all = append(all, masked)
	}
	return all
}

// TestNegInfBlocksLeaveFiniteNumbers: the last element of a row is finite, and from two columns on each row
// has -inf.
func TestNegInfBlocksLeaveFiniteNumbers(t *testing.T) {
	lengths := []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 33, 131, 255, 256, 257, 288, 511, 512, 1000, 4099}
	for _, cols := range lengths {
		for r, masked := range maskedRows(t, 33, cols) {
			if masked[cols-1] || cols > 1 && !slices.Contains(masked, true) {
				t.Errorf("row %d of %d columns: %v", r, cols, masked)
			}
		}
	}
}

// TestNegInfBlocksCoverTilesAndLanes: in a single row of 4099 elements tiles of 32 to 256 are -inf at the
// beginning, between finite numbers and at the end, and so is all that one thread reads, in whatever strides
// of entire warps.
func TestNegInfBlocksCoverTilesAndLanes(t *testing.T) {
	const cols = 4099
	masked := maskedRows(t, 1, cols)[0]
	for tile := 32; tile <= 256; tile *= 2 {
		var whole []bool
		for part := range slices.Chunk(masked, tile) {
			whole = append(whole, !slices.Contains(part, false))
		}
		last := 4096/tile - 1
		finite := slices.Index(whole, false)
		between := finite + slices.Index(whole[finite:], true)
		if !whole[0] || !whole[last] || !slices.Contains(whole[between:last], false) {
			t.Errorf("tiles of %d that are -inf: %v", tile, whole)
		}
	}
	for threads := 32; threads <= 1024; threads *= 2 {
		for vector := 1; vector <= 8; vector *= 2 {
			finite := make([]bool, threads)
			for i, is := range masked {
				finite[i/vector%threads] = finite[i/vector%threads] || !is
			}
			if !slices.Contains(finite, false) || !slices.Contains(finite, true) {
				t.Errorf("%d threads that read vectors of %d: none reads only -inf, or each", threads, vector)
			}
		}
	}
}

// TestClassesOfNegInfBlocks: the logit of the target is finite, so that the loss of a row hides no other.
func TestClassesOfNegInfBlocks(t *testing.T) {
	s := blocked(t, func(s *op.Spec) bool {
		return len(s.InputSpecs) == 2 && strings.HasPrefix(s.InputSpecs[1].Fill, "classes ")
	})
	c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "fp32", Distribution: "neg_inf_blocks"},
		map[string]int64{s.Dims[0].Name: 400, s.Dims[1].Name: 301}, nil)
	list, err := Inputs(s, c, defaultSeed)
	if err != nil {
		t.Fatal(err)
	}
	logits, counted := list[0].Float64s(), 0
	for r, class := range list[1].Float64s() {
		if class < 0 {
			continue
		}
		counted++
		if v := logits[r*301+int(class)]; math.IsInf(v, 0) {
			t.Errorf("row %d: the logit of class %v is %v", r, class, v)
		}
	}
	if counted < 300 {
		t.Errorf("%d rows count, want nine in ten", counted)
	}
}
