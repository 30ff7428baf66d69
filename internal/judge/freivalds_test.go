package judge

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
)

// covered returns a target [4, 40] of which row 0 and columns 0 and 1 are compared, and the exact sums cover
// the rest.
func covered(d op.DType, r []float64) Target {
	const rows, cols = 4, 40
	t := Target{Name: "c", DType: d, Shape: []int64{rows, cols}, FTZ: true}
	f := &Freivalds{Seed: 9, Element: func(row, col int64) (float64, float64) { return r[row*cols+col], 0 }}
	for i := range int64(rows * cols) {
		if row, col := i/cols, i%cols; row == 0 || col < 2 {
			t.Index, t.R = append(t.Index, i), append(t.R, r[i])
		} else if row == 1 {
			f.Cols = append(f.Cols, col)
		}
	}
	f.Rows = []int64{1, 2, 3}
	for _, row := range f.Rows {
		sums := make([]float64, Signs)
		for v, s := range SignsOf(f.Seed, f.Cols) {
			for j, col := range f.Cols {
				sums[v] += s[j] * r[row*cols+col]
			}
		}
		f.Sums, f.ErrorBound = append(f.Sums, sums), append(f.ErrorBound, 0)
	}
	t.T, t.TFP32, t.Sim, t.Freivalds = make([]float64, len(t.R)), make([]float64, len(t.R)),
		slices.Clone(t.R), f
	return t
}

// TestFreivaldsTolerance: where T is 0, rounding to the output and flushing are accepted, and one unit in the
// last place beyond a row's total rounding is not. Nothing that is not planned or not finite passes.
func TestFreivaldsTolerance(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, d := range []op.DType{op.BF16, op.FP16, op.FP32} {
		x := make([]float64, 160)
		for i := range x {
			x[i] = r.NormFloat64()
		}
		target := covered(d, x)
		if v := verdict(target, answer(target, x...)); v.Status != op.StatusPass || v.Covered != 3*38 ||
			v.Compared != 46 {
			t.Fatalf("%v: %v %s, %d covered", d, v.Status, v.Sentence, v.Covered)
		}
		f, _ := tensor.FormatOf(d)
		wrong := slices.Clone(x)
		for j := range 38 {
			wrong[2*40+2+j] += 2 * f.ULP(x[2*40+2+j]) * SignsOf(9, target.Freivalds.Cols)[7][j]
		}
		v := verdict(target, answer(target, wrong...))
		if v.Status != op.StatusFail || v.Gate != "G6" || v.Worst.Index[0] != 2 || v.Wrong != 38 {
			t.Errorf("%v: errors that add up under one vector: %v %s %s", d, v.Status, v.Gate, v.Sentence)
		}
	}
	small := slices.Repeat([]float64{0x1p-128}, 160)
	target := covered(op.FP32, small)
	flushed := slices.Clone(small)
	clear(flushed[80:])
	if v := verdict(target, answer(target, flushed...)); v.Status != op.StatusPass {
		t.Errorf("flushed: %v %s", v.Status, v.Sentence)
	}
	for what, spoil := range map[string]func(f *Freivalds){
		"no error bound":     func(f *Freivalds) { f.ErrorBound = f.ErrorBound[1:] },
		"a NaN error bound":  func(f *Freivalds) { f.ErrorBound[1] = math.NaN() },
		"a negative one":     func(f *Freivalds) { f.ErrorBound[1] = -1 },
		"an infinite one":    func(f *Freivalds) { f.ErrorBound[1] = math.Inf(1) },
		"a NaN sum":          func(f *Freivalds) { f.Sums[2][19] = math.NaN() },
		"a vector too few":   func(f *Freivalds) { f.Sums[2] = f.Sums[2][1:] },
		"a row outside":      func(f *Freivalds) { f.Rows[2] = 4 },
		"a column twice":     func(f *Freivalds) { f.Cols[1] = f.Cols[0] },
		"no single elements": func(f *Freivalds) { f.Element = nil },
	} {
		target := covered(op.FP32, small)
		spoil(target.Freivalds)
		if v := verdict(target, answer(target, small...)); v.Status != op.StatusInconclusive {
			t.Errorf("%s: %v, want INCONCLUSIVE", what, v.Status)
		}
	}
}
