package catalog

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
)

func fp8Case(p op.Pass, m, n, k int64, scaling string, out op.DType) op.Case {
	return op.Case{
		Op: "fp8_gemm", Pass: p, DType: "e4m3", Distribution: "normal",
		Dims:  op.Dims{{Name: "m", Value: m}, {Name: "n", Value: n}, {Name: "k", Value: k}},
		Attrs: op.Attrs{{Name: "scaling", Text: scaling}, {Name: "out", Text: out.String()}},
	}
}

// fp8Scales draws the scales of one operand, in the shape that its scaling asks for.
func fp8Scales(r *rand.Rand, name, scaling string, rows, k, rowsPerBlock int64) tensor.Tensor {
	shape := []int64{1}
	switch scaling {
	case "row":
		shape = []int64{rows}
	case "block":
		shape = []int64{ceilDiv(rows, rowsPerBlock), ceilDiv(k, 128)}
	}
	t := tensor.New(name, op.FP32, shape)
	v := make([]float64, t.Elements())
	for i := range v {
		v[i] = math.Exp(r.NormFloat64()) / 100
	}
	t.SetFloat64s(v)
	return t
}

// adder adds the products of up to 32 numbers to a sum.
type adder func(sum float64, x, y []float64) float64

// fp8Kernel is a product by plain loops: block is the promotion length, add one accumulation inside it, and scale the multiplier of an element.
func fp8Kernel(m, n, k, block int64, a, b []float64, scale func(i, j, k int64) float64, add adder) []float64 {
	out := make([]float64, m*n)
	for i := range m {
		for j := range n {
			total := 0.0
			for first := int64(0); first < k; first += block {
				sum := 0.0
				for s := first; s < min(first+block, k); s += mmaStep {
					end := min(s+mmaStep, first+block, k)
					sum = add(sum, a[i*k+s:i*k+end], b[j*k+s:j*k+end])
				}
				total = f32(total + f32(sum*f32(scale(i, j, first))))
			}
			out[i*n+j] = total
		}
	}
	return out
}

// inFP32 adds one after the other.
func inFP32(sum float64, x, y []float64) float64 {
	for k, v := range x {
		sum = f32(sum + v*y[k])
	}
	return sum
}

// tensorCore is Hopper's adder for factors of two formats: products and sum are cut 13 bits below the largest leading bit, that of a product
// following from the exponents that its factors store, which for a subnormal is that of the smallest normal number.
func tensorCore(x, y op.DType) adder {
	fx, _ := tensor.FormatOf(x)
	fy, _ := tensor.FormatOf(y)
	return func(sum float64, x, y []float64) float64 {
		most := math.MinInt
		if sum != 0 {
			most = math.Ilogb(sum)
		}
		for k, v := range x {
			if !isFinite(sum + v*y[k]) {
				return inFP32(sum, x, y)
			}
			if v*y[k] != 0 {
				most = max(most, max(math.Ilogb(v), fx.EMin)+max(math.Ilogb(y[k]), fy.EMin))
			}
		}
		if most == math.MinInt {
			return 0
		}
		grid := math.Ldexp(1, most-13)
		total := math.Trunc(sum/grid) * grid
		for k, v := range x {
			total += math.Trunc(v*y[k]/grid) * grid
		}
		return total
	}
}

var truncating = tensorCore(op.E4M3, op.E4M3)

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

// Hopper's adder does not normalise subnormal factors: beside an outlier that meets one, it cuts products that are larger than 13 bits below
// the largest. An H200 lost 5.4 of these cuts on one element of 31 products with an outlier, which is 43 by the products' own exponents.
func TestFP8SubnormalBesideAnOutlier(t *testing.T) {
	x, y := make([]float64, 31), make([]float64, 31)
	x[0], y[0] = -16, 0x1p-9
	for k := 1; k <= 20; k++ {
		x[k], y[k] = 7*0x1p-9, 0x1p-9
	}
	in := []tensor.Tensor{literal("a", op.E4M3, x, 1, 31), literal("scale_a", op.FP32, []float64{1}, 1), literal("b", op.E4M3, y, 1, 31),
		literal("scale_b", op.FP32, []float64{1}, 1)}
	one := func(_, _, _ int64) float64 { return 1 }
	truth := truthFor(t, fp8Case(op.Forward, 1, 1, 31, "tensor", op.FP32), "promoted", in)
	got := fp8Kernel(1, 1, 31, 128, x, y, one, truncating)
	if got[0] != -0x1p-5 {
		t.Fatalf("the adder keeps %v of the small products", got[0]+0x1p-5)
	}
	accepts(t, "a tensor core", judged(truth, got))
	rejects(t, "twice as much lost", judged(truth, []float64{got[0] - 20*7*0x1p-18}))
}

func TestFP8AcceptsAndRejects(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	for _, scaling := range []string{"tensor", "row", "block"} {
		for _, shape := range [][3]int64{{1, 1, 1}, {17, 130, 257}, {5, 33, 1024}} {
			for _, shift := range []float64{0, 4} {
				m, n, k := shape[0], shape[1], shape[2]
				a, b := normalTensor(r, "a", op.E4M3, shift, 1, m, k), normalTensor(r, "b", op.E4M3, shift, 1, n, k)
				sa, sb := fp8Scales(r, "scale_a", scaling, m, k, 1), fp8Scales(r, "scale_b", scaling, n, k, 128)
				in := []tensor.Tensor{a, sa, b, sb}
				as, bs, scale := a.Float64s(), b.Float64s(), scaleOf(scaling, sa, sb)
				for _, d := range []op.DType{op.BF16, op.FP16, op.FP32} {
					what := fmt.Sprintf("%s %v shift %v out %v", scaling, shape, shift, d)
					truth := truthFor(t, fp8Case(op.Forward, m, n, k, scaling, d), "promoted", in)
					accepts(t, what+" sim", judged(truth, sims(truth)...))
					accepts(t, what+" fp32", judged(truth, fp8Kernel(m, n, k, 128, as, bs, scale, inFP32)))
					accepts(t, what+" tensor core", judged(truth, fp8Kernel(m, n, k, 128, as, bs, scale, truncating)))
					fast := truthFor(t, fp8Case(op.Forward, m, n, k, scaling, d), "fast", in)
					length := k
					if scaling == "block" {
						length = 128
					}
					whole := fp8Kernel(m, n, k, length, as, bs, scale, truncating)
					accepts(t, what+" fast", judged(fast, whole))
					if k == 1024 && shift > 0 && scaling != "block" {
						rejects(t, what+" no promotion", judged(truth, whole))
					}
					if k < 2 {
						continue
					}
					naive := fp8Kernel(m, n, k, 1<<40, as, bs, func(_, _, _ int64) float64 { return 1 }, func(sum float64, x, y []float64) float64 { return sum + x[0]*y[0] })
					rejects(t, what+" one product in 32", judged(truth, naive))
					if shift == 0 { // among 1024 products of one sign a single one is within what the tensor core may lose
						rejects(t, what+" last product missing", judged(truth, fp8Kernel(m, n, k-1, 128, dropLast(as, m, k), dropLast(bs, n, k), scale, inFP32)))
					}
					if scaling == "block" {
						rejects(t, what+" scale of the first block", judged(truth, fp8Kernel(m, n, k, 128, as, bs, func(i, j, _ int64) float64 { return scale(i, j, 0) }, inFP32)))
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

// TestFP8Exact: integers with scales that are powers of two are judged with T = 0.
func TestFP8Exact(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 5))
	const m, n, k = 4, 5, 400
	integers := func(name string, rows int64) tensor.Tensor {
		v := make([]float64, rows*k)
		for i := range v {
			v[i] = float64(r.IntN(17) - 8)
		}
		return literal(name, op.E4M3, v, rows, k)
	}
	a, b := integers("a", m), integers("b", n)
	in := []tensor.Tensor{a, literal("scale_a", op.FP32, []float64{0.5}, 1), b, literal("scale_b", op.FP32, []float64{4}, 1)}
	c := fp8Case(op.Forward, m, n, k, "tensor", op.FP32)
	c.Distribution = "integers"
	truth := truthFor(t, c, "promoted", in)
	if !truth.Outputs[0].Exact || truth.Outputs[0].T[0] != 0 {
		t.Fatal("the case is not exact")
	}
	scale := func(_, _, _ int64) float64 { return 2 }
	right := fp8Kernel(m, n, k, 128, a.Float64s(), b.Float64s(), scale, truncating)
	accepts(t, "exact", judged(truth, right))
	right[7] += 2
	if v := judged(truth, right)[0]; v.Gate != "G3" || v.Wrong != 1 {
		t.Errorf("off by one product: %v %s", v.Status, v.Gate)
	}
	low := fp8Kernel(m, n, k, 1<<40, a.Float64s(), b.Float64s(), scale, func(sum float64, x, y []float64) float64 {
		for k, v := range x {
			sum = tensor.Round(op.BF16, sum+v*y[k], false)
		}
		return sum
	})
	rejects(t, "bf16 accumulator", judged(truth, low))
	in[1] = literal("scale_a", op.FP32, []float64{0.5 * (1 + 0x1p-8)}, 1)
	longer := truthFor(t, c, "promoted", in)
	if !longer.Outputs[0].Exact {
		t.Error("a scale of 9 bits is exact")
	}
	scaled := func(by float64) []float64 {
		return fp8Kernel(m, n, k, 128, a.Float64s(), b.Float64s(), func(_, _, _ int64) float64 { return by }, inFP32)
	}
	accepts(t, "scale of 9 bits", judged(longer, scaled(2*(1+0x1p-8))))
	rejects(t, "its scale in bf16", judged(longer, scaled(2)))
	in[1] = literal("scale_a", op.FP32, []float64{0.3}, 1)
	if truthFor(t, c, "promoted", in).Outputs[0].Exact {
		t.Error("a scale of 24 bits is not exact")
	}
}

// TestFP8Backward: two products, each as the forward's; k = 0 gives zeros with T = 0; wrong shapes are errors.
func TestFP8Backward(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	const m, n, k = 6, 140, 9
	for _, scaling := range []string{"tensor", "row", "block"} {
		g, bt := normalTensor(r, "g", op.E5M2, 0, 1, m, n), normalTensor(r, "bt", op.E4M3, 0, 1, k, n)
		gt, at := normalTensor(r, "gt", op.E5M2, 0, 1, n, m), normalTensor(r, "at", op.E4M3, 0, 1, k, m)
		sg, sbt := fp8Scales(r, "scale_g", scaling, m, n, 1), fp8Scales(r, "scale_bt", scaling, k, n, 128)
		sgt, sat := fp8Scales(r, "scale_gt", scaling, n, m, 1), fp8Scales(r, "scale_at", scaling, k, m, 128)
		truth := truthFor(t, fp8Case(op.Backward, m, n, k, scaling, op.BF16), "promoted", []tensor.Tensor{g, sg, bt, sbt, gt, sgt, at, sat})
		da := fp8Kernel(m, k, n, 128, g.Float64s(), bt.Float64s(), scaleOf(scaling, sg, sbt), inFP32)
		db := fp8Kernel(n, k, m, 128, gt.Float64s(), at.Float64s(), scaleOf(scaling, sgt, sat), inFP32)
		accepts(t, scaling, judged(truth, da, db))
		noScale := scaleOf(scaling, sbt, sbt)
		if scaling == "tensor" {
			rejects(t, "scale of g missing", judged(truth, fp8Kernel(m, k, n, 128, g.Float64s(), bt.Float64s(), noScale, inFP32), db))
		}
	}
	one := literal("scale_a", op.FP32, []float64{1}, 1)
	other := one
	other.Name = "scale_b"
	empty := []tensor.Tensor{tensor.New("a", op.E4M3, []int64{2, 0}), one, tensor.New("b", op.E4M3, []int64{3, 0}), other}
	truth := truthFor(t, fp8Case(op.Forward, 2, 3, 0, "tensor", op.FP16), "promoted", empty)
	accepts(t, "k = 0", judged(truth, make([]float64, 6)))
	for i, v := range truth.Outputs[0].T {
		if v != 0 {
			t.Errorf("k = 0, element %d: T = %v, want 0", i, v)
		}
	}
	empty[2] = tensor.New("b", op.E4M3, []int64{3, 1})
	if _, err := TruthOf(fp8Case(op.Forward, 2, 3, 0, "tensor", op.FP16), "promoted", empty, nil); err == nil {
		t.Error("operands of different k were accepted")
	}
	if _, err := TruthOf(fp8Case(op.Forward, 2, 3, 0, "row", op.FP16), "promoted", empty, nil); err == nil {
		t.Error("one scale for two rows was accepted")
	}
}
