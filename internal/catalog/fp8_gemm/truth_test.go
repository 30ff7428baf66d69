package fp8gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/product/producttest"
	"triad/internal/truth/truthtest"
)

func caseOf(p op.Pass, m, n, k int64, scaling string, out op.DType) op.Case {
	return op.Case{
		Op: "fp8_gemm", Pass: p, DType: "e4m3", Distribution: "normal",
		Dims:  op.Dims{{Name: "m", Value: m}, {Name: "n", Value: n}, {Name: "k", Value: k}},
		Attrs: op.Attrs{{Name: "scaling", Text: scaling}, {Name: "out", Text: out.String()}},
	}
}

// scalesOf draws the scales of one operand, in the shape of its scaling.
func scalesOf(r *rand.Rand, name, scaling string, rows, k, rowsPerBlock int64) tensor.Tensor {
	shape := []int64{1}
	switch scaling {
	case "row":
		shape = []int64{rows}
	case "block":
		shape = []int64{(rows + rowsPerBlock - 1) / rowsPerBlock, (k + 127) / 128}
	}
	t := tensor.New(name, op.FP32, shape)
	v := make([]float64, t.Elements())
	for i := range v {
		v[i] = math.Exp(r.NormFloat64()) / 100
	}
	t.SetFloat64s(v)
	return t
}

type adder = producttest.Adder

// kernel32 computes a product by plain loops: block is the promotion length, add one accumulation inside it,
// and scale the multiplier of an element.
func kernel32(m, n, k, block int64, a, b []float64, scale func(i, j, k int64) float64, add adder) []float64 {
	out := make([]float64, m*n)
	for i := range m {
		for j := range n {
			total := 0.0
			for first := int64(0); first < k; first += block {
				sum := 0.0
				for s := first; s < min(first+block, k); s += producttest.MMAStep {
					end := min(s+producttest.MMAStep, first+block, k)
					sum = add(sum, a[i*k+s:i*k+end], b[j*k+s:j*k+end])
				}
				total = truthtest.F32(total + truthtest.F32(sum*truthtest.F32(scale(i, j, first))))
			}
			out[i*n+j] = total
		}
	}
	return out
}

// What adds the products of up to 32 numbers to a sum.
var (
	inFP32     = producttest.InFP32
	truncating = producttest.TensorCore(op.E4M3, op.E4M3)
)

// scaleOf reads the multiplier of an element from the tensors of scales.
func scaleOf(scaling string, sa, sb tensor.Tensor) func(i, j, k int64) float64 {
	a, b := sa.Float64s(), sb.Float64s()
	return func(i, j, k int64) float64 {
		switch scaling {
		case "row":
			return a[i] * b[j]
		case "block":
			return a[i*sa.Shape[1]+k/128] * b[j/128*sb.Shape[1]+k/128]
		}
		return a[0] * b[0]
	}
}

// TestSubnormalBesideAnOutlier: Hopper's adder does not normalise subnormal factors: next to an outlier that
// meets one, it cuts products that are larger than 13 bits below the largest. An H200 lost 5.4 of these cuts
// on one element of 31 products with an outlier, which is 43 by the products' own exponents.
func TestSubnormalBesideAnOutlier(t *testing.T) {
	x, y := make([]float64, 31), make([]float64, 31)
	x[0], y[0] = -16, 0x1p-9
	for k := 1; k <= 20; k++ {
		x[k], y[k] = 7*0x1p-9, 0x1p-9
	}
	in := []tensor.Tensor{
		truthtest.Literal("a", op.E4M3, x, 1, 31), truthtest.Literal("scale_a", op.FP32, []float64{1}, 1),
		truthtest.Literal("b", op.E4M3, y, 1, 31), truthtest.Literal("scale_b", op.FP32, []float64{1}, 1),
	}
	one := func(_, _, _ int64) float64 { return 1 }
	truth := truthtest.TruthFor(t, caseOf(op.Forward, 1, 1, 31, "tensor", op.FP32), "promoted", in)
	got := kernel32(1, 1, 31, 128, x, y, one, truncating)
	if got[0] != -0x1p-5 {
		t.Fatalf("the adder keeps %v of the small products", got[0]+0x1p-5)
	}
	truthtest.Accepts(t, "a tensor core", truthtest.Judged(truth, got))
	truthtest.Rejects(t, "twice as much lost", truthtest.Judged(truth, []float64{got[0] - 20*7*0x1p-18}))
}

func TestAcceptsAndRejects(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	for _, scaling := range []string{"tensor", "row", "block"} {
		for _, shape := range [][3]int64{{1, 1, 1}, {17, 130, 257}, {5, 33, 1024}} {
			for _, shift := range []float64{0, 4} {
				m, n, k := shape[0], shape[1], shape[2]
				a, b := truthtest.NormalTensor(r, "a", op.E4M3, shift, 1, m, k), truthtest.NormalTensor(r,
					"b", op.E4M3, shift, 1, n, k)
				sa, sb := scalesOf(r, "scale_a", scaling, m, k, 1), scalesOf(r, "scale_b", scaling, n, k, 128)
				in := []tensor.Tensor{a, sa, b, sb}
				as, bs, scale := a.Float64s(), b.Float64s(), scaleOf(scaling, sa, sb)
				for _, d := range []op.DType{op.BF16, op.FP16, op.FP32} {
					what := fmt.Sprintf("%s %v shift %v out %v", scaling, shape, shift, d)
					truth := truthtest.TruthFor(t, caseOf(op.Forward, m, n, k, scaling, d), "promoted", in)
					truthtest.Accepts(t, what+" sim", truthtest.Judged(truth, truthtest.Sims(truth)...))
					truthtest.Accepts(t, what+" fp32", truthtest.Judged(truth, kernel32(m, n, k, 128, as, bs,
						scale, inFP32)))
					truthtest.Accepts(t, what+" tensor core",
						truthtest.Judged(truth, kernel32(m, n, k, 128, as, bs, scale, truncating)))
					fast := truthtest.TruthFor(t, caseOf(op.Forward, m, n, k, scaling, d), "fast", in)
					length := k
					if scaling == "block" {
						length = 128
					}
					whole := kernel32(m, n, k, length, as, bs, scale, truncating)
					truthtest.Accepts(t, what+" fast", truthtest.Judged(fast, whole))
					if k == 1024 && shift > 0 && scaling != "block" {
						truthtest.Rejects(t, what+" no promotion", truthtest.Judged(truth, whole))
					}
					if k < 2 {
						continue
					}
					naive := kernel32(m, n, k, 1<<40, as, bs,
						func(_, _, _ int64) float64 { return 1 },
						func(sum float64, x, y []float64) float64 { return sum + x[0]*y[0] })
					truthtest.Rejects(t, what+" one product in 32", truthtest.Judged(truth, naive))
					if shift == 0 {
						// among 1024 products of one sign a single one is within the possible loss of the
						// tensor core
						short := kernel32(m, n, k-1, 128, dropLast(as, m, k), dropLast(bs, n, k), scale,
							inFP32)
						truthtest.Rejects(t, what+" last product missing", truthtest.Judged(truth, short))
					}
					if scaling == "block" {
						first := func(i, j, _ int64) float64 { return scale(i, j, 0) }
						truthtest.Rejects(t, what+" scale of the first block",
							truthtest.Judged(truth, kernel32(m, n, k, 128, as, bs, first, inFP32)))
					}
				}
			}
		}
	}
}

// dropLast removes the last column.
func dropLast(x []float64, rows, cols int64) []float64 {
	var out []float64
	for r := range rows {
		out = append(out, x[r*cols:(r+1)*cols-1]...)
	}
	return out
}

// TestExact: integers with scales that are powers of two are judged with T = 0.
func TestExact(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 5))
	const m, n, k = 4, 5, 400
	integers := func(name string, rows int64) tensor.Tensor {
		v := make([]float64, rows*k)
		for i := range v {
			v[i] = float64(r.IntN(17) - 8)
		}
		return truthtest.Literal(name, op.E4M3, v, rows, k)
	}
	a, b := integers("a", m), integers("b", n)
	in := []tensor.Tensor{
		a, truthtest.Literal("scale_a", op.FP32, []float64{0.5}, 1), b,
		truthtest.Literal("scale_b", op.FP32, []float64{4}, 1),
	}
	c := caseOf(op.Forward, m, n, k, "tensor", op.FP32)
	c.Distribution = "integers"
	truth := truthtest.TruthFor(t, c, "promoted", in)
	if !truth.Outputs[0].Exact || truth.Outputs[0].T[0] != 0 {
		t.Fatal("the case is not exact")
	}
	scale := func(_, _, _ int64) float64 { return 2 }
	right := kernel32(m, n, k, 128, a.Float64s(), b.Float64s(), scale, truncating)
	truthtest.Accepts(t, "exact", truthtest.Judged(truth, right))
	right[7] += 2
	if v := truthtest.Judged(truth, right)[0]; v.Gate != "G3" || v.Wrong != 1 {
		t.Errorf("off by one product: %v %s", v.Status, v.Gate)
	}
	low := kernel32(m, n, k, 1<<40, a.Float64s(), b.Float64s(), scale,
		func(sum float64, x, y []float64) float64 {
			for k, v := range x {
				sum = tensor.Round(op.BF16, sum+v*y[k], false)
			}
			return sum
		})
	truthtest.Rejects(t, "bf16 accumulator", truthtest.Judged(truth, low))
	in[1] = truthtest.Literal("scale_a", op.FP32, []float64{0.5 * (1 + 0x1p-8)}, 1)
	longer := truthtest.TruthFor(t, c, "promoted", in)
	if !longer.Outputs[0].Exact {
		t.Error("a scale of 9 bits is exact")
	}
	scaled := func(by float64) []float64 {
		return kernel32(m, n, k, 128, a.Float64s(), b.Float64s(),
			func(_, _, _ int64) float64 { return by }, inFP32)
	}
	truthtest.Accepts(t, "scale of 9 bits", truthtest.Judged(longer, scaled(2*(1+0x1p-8))))
	truthtest.Rejects(t, "its scale in bf16", truthtest.Judged(longer, scaled(2)))
	in[1] = truthtest.Literal("scale_a", op.FP32, []float64{0.3}, 1)
	if truthtest.TruthFor(t, c, "promoted", in).Outputs[0].Exact {
		t.Error("a scale of 24 bits is not exact")
	}
}

// TestBackward: two products, each as the forward's; k = 0 yields zeros with T = 0; wrong shapes are errors.
func TestBackward(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	const m, n, k = 6, 140, 9
	for _, scaling := range []string{"tensor", "row", "block"} {
		g, bt := truthtest.NormalTensor(r, "g", op.E5M2, 0, 1, m, n), truthtest.NormalTensor(r, "bt",
			op.E4M3, 0, 1, k, n)
		gt, at := truthtest.NormalTensor(r, "gt", op.E5M2, 0, 1, n, m), truthtest.NormalTensor(r, "at",
			op.E4M3, 0, 1, k, m)
		sg, sbt := scalesOf(r, "scale_g", scaling, m, n, 1), scalesOf(r, "scale_bt", scaling, k, n, 128)
		sgt, sat := scalesOf(r, "scale_gt", scaling, n, m, 1), scalesOf(r, "scale_at", scaling, k, m, 128)
		truth := truthtest.TruthFor(t, caseOf(op.Backward, m, n, k, scaling, op.BF16), "promoted",
			[]tensor.Tensor{g, sg, bt, sbt, gt, sgt, at, sat})
		da := kernel32(m, k, n, 128, g.Float64s(), bt.Float64s(), scaleOf(scaling, sg, sbt), inFP32)
		db := kernel32(n, k, m, 128, gt.Float64s(), at.Float64s(), scaleOf(scaling, sgt, sat), inFP32)
		truthtest.Accepts(t, scaling, truthtest.Judged(truth, da, db))
		noScale := scaleOf(scaling, sbt, sbt)
		if scaling == "tensor" {
			truthtest.Rejects(t, "scale of g missing",
				truthtest.Judged(truth, kernel32(m, k, n, 128, g.Float64s(), bt.Float64s(), noScale, inFP32),
					db))
		}
	}
	one := truthtest.Literal("scale_a", op.FP32, []float64{1}, 1)
	other := one
	other.Name = "scale_b"
	empty := []tensor.Tensor{
		tensor.New("a", op.E4M3, []int64{2, 0}), one,
		tensor.New("b", op.E4M3, []int64{3, 0}), other,
	}
	known := truthtest.TruthFor(t, caseOf(op.Forward, 2, 3, 0, "tensor", op.FP16), "promoted", empty)
	truthtest.Accepts(t, "k = 0", truthtest.Judged(known, make([]float64, 6)))
	for i, v := range known.Outputs[0].T {
		if v != 0 {
			t.Errorf("k = 0, element %d: T = %v, want 0", i, v)
		}
	}
	empty[2] = tensor.New("b", op.E4M3, []int64{3, 1})
	if _, err := truth.Of(caseOf(op.Forward, 2, 3, 0, "tensor", op.FP16), "promoted", empty,
		nil); err == nil {
		t.Error("operands of different k were accepted")
	}
	if _, err := truth.Of(caseOf(op.Forward, 2, 3, 0, "row", op.FP16), "promoted", empty, nil); err == nil {
		t.Error("one scale for two rows was accepted")
	}
}
