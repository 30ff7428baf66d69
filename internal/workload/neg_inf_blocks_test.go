package workload

import (
	"math"
	"slices"
	"testing"

	"triad/internal/op"
)

// maskedRows returns which elements of softmax's input are -inf under neg_inf_blocks.
func maskedRows(t *testing.T, rows, cols int64) [][]bool {
	t.Helper()
	s := specNamed(t, "softmax")
	c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "fp16", Distribution: "neg_inf_blocks"},
		map[string]int64{"rows": rows, "cols": cols}, nil)
	var all [][]bool
	for row := range slices.Chunk(inputs(t, s, c, defaultSeed)["x"].Float64s(), int(cols)) {
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
	s := specNamed(t, "cross_entropy")
	c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "fp32", Distribution: "neg_inf_blocks"},
		map[string]int64{"rows": 400, "classes": 301}, nil)
	in := inputs(t, s, c, defaultSeed)
	logits, counted := in["logits"].Float64s(), 0
	for r, class := range in["target"].Float64s() {
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
