package fp8gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

// sampledProduct is a product judged by sample, together with the truth of the whole of it.
type sampledProduct struct {
	whole, part judge.Truth
	in          []tensor.Tensor
}

func newSampledProduct(t *testing.T, c op.Case, contract string, in []tensor.Tensor,
	seed uint64,
) sampledProduct {
	t.Helper()
	whole := truthtest.TruthFor(t, c, contract, in)
	part, err := truth.Of(c, contract, in, &truth.Sample{Rows: 8, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return sampledProduct{whole: whole, part: part, in: in}
}

// inputsOf draws the operands of a product.
func inputsOf(r *rand.Rand, m, n, k int64, scaling string, shift float64) []tensor.Tensor {
	a, b := truthtest.NormalTensor(r, "a", op.E4M3, shift, 1, m, k), truthtest.NormalTensor(r, "b", op.E4M3,
		shift, 1, n, k)
	return []tensor.Tensor{
		a, scalesOf(r, "scale_a", scaling, m, k, 1), b,
		scalesOf(r, "scale_b", scaling, n, k, 128),
	}
}

// TestFreivaldsAcceptsRightKernels: products in another unit and in another order pass, and the error bound
// of a row is at least the sum of its elements' own, but not many times as large.
func TestFreivaldsAcceptsRightKernels(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 5))
	const m, n, k = 90, 150, 300
	for i, scaling := range []string{"tensor", "row", "block"} {
		for _, shift := range []float64{0, 4} {
			for _, contract := range []string{"promoted", "fast"} {
				d := []op.DType{op.BF16, op.FP16, op.FP32}[i]
				what := fmt.Sprintf("%s shift %v %s %v", scaling, shift, contract, d)
				in := inputsOf(r, m, n, k, scaling, shift)
				p := newSampledProduct(t, caseOf(op.Forward, m, n, k, scaling, d), contract, in, uint64(i))
				o, f := p.part.Outputs[0], p.part.Outputs[0].Freivalds
				if f == nil || len(f.Rows) == 0 || len(f.Cols) == 0 ||
					int64(len(o.R)+len(f.Rows)*len(f.Cols)) != m*n {
					t.Fatalf("%s: %d elements are compared: they and the sums do not make up the whole",
						what, len(o.R))
				}
				a, b, scale := in[0].Float64s(), in[2].Float64s(), scaleOf(scaling, in[1], in[3])
				length := int64(128)
				if contract == "fast" && scaling != "block" {
					length = k
				}
				truthtest.Accepts(t, what+" sim", truthtest.Judged(p.part, truthtest.Sims(p.whole)...))
				truthtest.Accepts(t, what+" fp32", truthtest.Judged(p.part, kernel32(m, n, k, length, a, b,
					scale, inFP32)))
				v := truthtest.Judged(p.part, kernel32(m, n, k, length, a, b, scale, truncating))
				truthtest.Accepts(t, what+" tensor core", v)
				if v[0].Covered != int64(len(f.Rows)*len(f.Cols)) || v[0].Compared != int64(len(o.R)) ||
					v[0].Elements != m*n {
					t.Errorf("%s: %d compared and %d covered of %d", what, v[0].Compared,
						v[0].Covered, v[0].Elements)
				}
				checkErrorBounds(t, what, p.whole.Outputs[0], f)
			}
		}
	}
}

// checkErrorBounds compares the bound of each row with the sum that it bounds.
func checkErrorBounds(t *testing.T, what string, whole judge.Target, f *judge.Freivalds) {
	t.Helper()
	for i, row := range f.Rows {
		exactly := 0.0
		for _, col := range f.Cols {
			exactly += whole.T[row*whole.Shape[1]+col]
		}
		if ratio := f.ErrorBound[i] / exactly; !(ratio >= 1 && ratio < 3) {
			t.Fatalf("%s, row %d: the error bound is %v times the sum of T: want at least 1 and below 3",
				what, row, ratio)
		}
	}
}

// TestFreivaldsRejectsOneElement: an element outside of the sample that is wrong by more than its row's
// tolerance fails, with the row and the element; a NaN does whatever its row's tolerance.
func TestFreivaldsRejectsOneElement(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 5))
	const m, n, k = 90, 150, 300
	for _, pass := range []op.Pass{op.Forward, op.Backward} {
		in := inputsOf(r, m, n, k, "row", 0)
		if pass == op.Backward {
			in = slices.Concat(renamed(inputsOf(r, m, k, n, "row", 0), "g", "scale_g", "bt", "scale_bt"),
				renamed(inputsOf(r, n, k, m, "row", 0), "gt", "scale_gt", "at", "scale_at"))
		}
		p := newSampledProduct(t, caseOf(pass, m, n, k, "row", op.FP32), "promoted", in, 3)
		last := len(p.part.Outputs) - 1
		o := p.part.Outputs[last]
		f, values := o.Freivalds, truthtest.Sims(p.whole)
		for trial := range 20 {
			i, col := r.IntN(len(f.Rows)), f.Cols[r.IntN(len(f.Cols))]
			at := f.Rows[i]*o.Shape[1] + col
			right := values[last][at]
			values[last][at] = right + 2.5*f.ErrorBound[i]*(1-2*float64(trial%2))
			v := truthtest.Judged(p.part, values...)[last]
			if v.Status != op.StatusFail || v.Gate != "G6" || !strings.Contains(v.Sentence, "Freivalds") ||
				!strings.Contains(v.Sentence, fmt.Sprintf("row %d of", f.Rows[i])) ||
				!slices.Equal(v.Worst.Index, []int64{f.Rows[i], col}) || v.Wrong != 1 {
				t.Fatalf("%v: element %d of row %d is wrong: %v %s %v: %s", pass, col, f.Rows[i], v.Status,
					v.Gate, v.Worst.Index, v.Sentence)
			}
			for _, bad := range []float64{math.NaN(), math.Inf(1)} {
				values[last][at] = bad
				if v := truthtest.Judged(p.part, values...)[last]; v.Status != op.StatusFail ||
					!slices.Equal(v.Worst.Index, []int64{f.Rows[i], col}) {
					t.Fatalf("%v: %v at element %d of row %d: %v %s %s", pass, bad, col, f.Rows[i], v.Status,
						v.Gate, v.Sentence)
				}
			}
			values[last][at] = right
		}
		truthtest.Accepts(t, pass.String()+" put right again", truthtest.Judged(p.part, values...))
	}
}

func renamed(in []tensor.Tensor, names ...string) []tensor.Tensor {
	for i := range in {
		in[i].Name = names[i]
	}
	return in
}

// TestFreivaldsAtOverflow: correct infinities outside of the sample are accepted, a wrong one is rejected,
// and so is a finite number instead of infinity; rows and columns with NaN are compared element by element.
func TestFreivaldsAtOverflow(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 5))
	const m, n, k = 90, 150, 200
	in := inputsOf(r, m, n, k, "row", 0)
	large := make([]float64, m)
	for i := range large {
		large[i] = 1
		if i%3 == 1 {
			large[i] = 1e6
		}
	}
	in[1] = truthtest.Literal("scale_a", op.FP32, large, m)
	in[3] = truthtest.Literal("scale_b", op.FP32, slices.Repeat([]float64{1}, n), n)
	p := newSampledProduct(t, caseOf(op.Forward, m, n, k, "row", op.FP16), "promoted", in, 3)
	values := truthtest.Sims(p.whole)
	truthtest.Accepts(t, "overflow that is due", truthtest.Judged(p.part, values...))
	f := p.part.Outputs[0].Freivalds
	due, found := [2]bool{}, 0
	for _, row := range f.Rows {
		at := row*n + f.Cols[4]
		infinite := math.IsInf(values[0][at], 0)
		if index := int(row % 3 % 2); infinite != (index == 1) || due[index] {
			continue
		}
		due[int(row%3%2)] = true
		found++
		right := slices.Clone(values[0])
		values[0][at] = math.Inf(1)
		for _, col := range f.Cols {
			if v := &values[0][row*n+col]; infinite && math.IsInf(*v, 0) {
				// as a kernel that saturates: each error is within its row's error bound, all of them are not
				*v = math.Copysign(65504, *v)
			}
		}
		v := truthtest.Judged(p.part, values...)[0]
		if v.Status != op.StatusFail || v.Worst.Index[0] != row {
			t.Errorf("row %d: %v for %v: %v %s", row, values[0][at], right[at], v.Status, v.Sentence)
		}
		copy(values[0], right)
	}
	if found != 2 {
		t.Errorf("%d kinds of row were tried, want 2", found)
	}

	c := caseOf(op.Forward, m, n, k, "row", op.BF16)
	c.Distribution = "non_finite"
	in[0].Data[5*k] = 0x7f
	in[2].Data[7*k] = 0x7f
	p = newSampledProduct(t, c, "promoted", in, 3)
	truthtest.Accepts(t, "NaN", truthtest.Judged(p.part, truthtest.Sims(p.whole)...))
	if f := p.part.Outputs[0].Freivalds; slices.Contains(f.Rows, 5) || slices.Contains(f.Cols, 7) ||
		len(f.Rows) == 0 {
		t.Errorf("a row or a column of NaN is covered by sums")
	}
}

// TestFreivaldsOfAnExactProduct: where the sampled part is exact the sums still cover the rest.
func TestFreivaldsOfAnExactProduct(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 5))
	const m, n, k = 80, 90, 64
	in := inputsOf(r, m, n, k, "tensor", 0)
	for _, i := range []int{0, 2} {
		v := make([]float64, in[i].Elements())
		for j := range v {
			v[j] = float64(r.IntN(9) - 4)
		}
		in[i].SetFloat64s(v)
	}
	in[1], in[3] = truthtest.Literal("scale_a", op.FP32, []float64{0.5}, 1), truthtest.Literal("scale_b",
		op.FP32, []float64{2}, 1)
	c := caseOf(op.Forward, m, n, k, "tensor", op.FP32)
	c.Distribution = "integers"
	p := newSampledProduct(t, c, "promoted", in, 1)
	if o := p.part.Outputs[0]; !o.Exact || o.Freivalds == nil {
		t.Fatal("the sample is not exact, or the rest is not covered")
	}
	truthtest.Accepts(t, "exact", truthtest.Judged(p.part, truthtest.Sims(p.whole)...))
}
