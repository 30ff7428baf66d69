package softmax

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

func caseOf(d op.DType, p op.Pass, rows, cols int64) op.Case {
	return op.Case{Op: "softmax", Pass: p, DType: d.String(), Dims: op.Dims{
		{Name: "rows", Value: rows},
		{Name: "cols", Value: cols},
	}, Distribution: "normal"}
}

func backward32(order int, p, dy []float64) []float64 {
	d := truthtest.Sum32(order, len(p), func(i int) float64 { return p[i] * dy[i] })
	dx := make([]float64, len(p))
	for i := range p {
		dx[i] = truthtest.F32(p[i] * truthtest.F32(dy[i]-d))
	}
	return dx
}

func TestAcceptsRightVariants(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, d := range truthtest.LowDTypes {
		for _, shape := range [][2]int64{{1, 2}, {3, 7}, {33, 1023}, {4, 4099}} {
			for _, sigma := range []float64{1e-3, 1, 20} {
				rows, cols := shape[0], shape[1]
				x := truthtest.NormalTensor(r, "x", d, 0, sigma, rows, cols)
				dy := truthtest.NormalTensor(r, "grad_y", d, 0, 1, rows, cols)
				truth := truthtest.TruthFor(t, caseOf(d, op.Forward, rows, cols), "fp32", []tensor.Tensor{x})
				what := fmt.Sprintf("%v %v sigma %v", d, shape, sigma)
				truthtest.Accepts(t, what+" sim", truthtest.Judged(truth, truthtest.Sims(truth)...))
				xs := x.Float64s()
				for order := range 3 {
					y := truthtest.ByRows(rows, cols,
						func(r int64) []float64 { return truthtest.Softmax32(order, xs[r*cols:(r+1)*cols]) })
					truthtest.Accepts(t, what, truthtest.Judged(truth, y))
				}
				y := truthtest.Literal("y", d, truth.Outputs[0].Sim, rows, cols)
				ys, dys := y.Float64s(), dy.Float64s()
				back := truthtest.TruthFor(t, caseOf(d, op.Backward, rows, cols), "fp32",
					[]tensor.Tensor{y, dy})
				truthtest.Accepts(t, what+" backward sim", truthtest.Judged(back, truthtest.Sims(back)...))
				for order := range 3 {
					dx := truthtest.ByRows(rows, cols, func(r int64) []float64 {
						return backward32(order, ys[r*cols:(r+1)*cols], dys[r*cols:(r+1)*cols])
					})
					truthtest.Accepts(t, what+" backward", truthtest.Judged(back, dx))
				}
				chained := caseOf(d, op.Backward, rows, cols)
				chained.Saved = "own"
				own := truthtest.TruthFor(t, chained, "fp32", []tensor.Tensor{x, dy})
				truthtest.Accepts(t, what+" chained sim", truthtest.Judged(own, truthtest.Sims(own)...))
				dx := truthtest.ByRows(rows, cols, func(r int64) []float64 {
					p := truthtest.Softmax32(1, xs[r*cols:(r+1)*cols])
					for i := range p {
						p[i] = tensor.Round(d, p[i], false)
					}
					return backward32(1, p, dys[r*cols:(r+1)*cols])
				})
				truthtest.Accepts(t, what+" chained", truthtest.Judged(own, dx))
			}
		}
	}
}

// wrongForwards and wrongBackwards are rows of kernels with one bug each.
var (
	wrongForwards = map[string]func(x []float64) []float64{
		"tail not summed": func(x []float64) []float64 {
			return append(truthtest.Softmax32(0, x[:1008]), truthtest.Softmax32(0, x)[1008:]...)
		},
		"exp in bf16": func(x []float64) []float64 {
			y := make([]float64, len(x))
			for i, v := range x {
				y[i] = tensor.Round(op.BF16, math.Exp(v-3), false)
			}
			sum := truthtest.Sum32(0, len(y), func(i int) float64 { return y[i] })
			for i := range y {
				y[i] /= sum
			}
			return y
		},
		"exp2 without log2e": func(x []float64) []float64 {
			z := make([]float64, len(x))
			for i := range x {
				z[i] = x[i] * math.Ln2
			}
			return truthtest.Softmax32(0, z)
		},
		"zeros": func(x []float64) []float64 { return make([]float64, len(x)) },
	}
	wrongBackwards = map[string]func(p, dy []float64) []float64{
		"dot missing": func(p, dy []float64) []float64 {
			out := make([]float64, len(p))
			for i := range p {
				out[i] = p[i] * dy[i]
			}
			return out
		},
		"dot rounded to the dtype": func(p, dy []float64) []float64 {
			s := tensor.Round(op.BF16,
				truthtest.Sum32(0, len(p), func(i int) float64 { return p[i] * dy[i] }), false)
			out := make([]float64, len(p))
			for i := range p {
				out[i] = p[i] * (dy[i] - s)
			}
			return out
		},
	}
)

func TestRejectsMutants(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	const rows, cols = 33, 1023
	for _, d := range truthtest.LowDTypes {
		x := truthtest.NormalTensor(r, "x", d, 0, 1, rows, cols)
		xs := x.Float64s()
		truth := truthtest.TruthFor(t, caseOf(d, op.Forward, rows, cols), "fp32", []tensor.Tensor{x})
		for name, wrong := range wrongForwards {
			y := truthtest.ByRows(rows, cols,
				func(r int64) []float64 { return wrong(xs[r*cols : (r+1)*cols]) })
			truthtest.Rejects(t, fmt.Sprintf("%v %s", d, name), truthtest.Judged(truth, y))
		}
		y := truthtest.Literal("y", d, truth.Outputs[0].Sim, rows, cols)
		dy := truthtest.NormalTensor(r, "grad_y", d, 0, 1, rows, cols)
		ys, dys := y.Float64s(), dy.Float64s()
		back := truthtest.TruthFor(t, caseOf(d, op.Backward, rows, cols), "fp32", []tensor.Tensor{y, dy})
		for name, wrong := range wrongBackwards {
			got := truthtest.ByRows(rows, cols,
				func(r int64) []float64 { return wrong(ys[r*cols:(r+1)*cols], dys[r*cols:(r+1)*cols]) })
			truthtest.Rejects(t, fmt.Sprintf("%v backward %s", d, name), truthtest.Judged(back, got))
		}
	}
}

// TestProduct16 shows the contract of torch's kernel in 16 bits: the product stored low passes under
// product16 and not under fp32.
func TestProduct16(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	const rows, cols = 8, 257
	for _, d := range []op.DType{op.FP16, op.BF16} {
		p := truthtest.NormalTensor(r, "x", d, 0, 1, rows, cols)
		y := truthtest.Literal("y", d, truthtest.TruthFor(t, caseOf(d, op.Forward, rows, cols), "fp32",
			[]tensor.Tensor{p}).Outputs[0].Sim, rows, cols)
		dy := truthtest.NormalTensor(r, "grad_y", d, 3, 1, rows, cols)
		in := []tensor.Tensor{y, dy}
		ys, dys := y.Float64s(), dy.Float64s()
		dx := truthtest.ByRows(rows, cols, func(r int64) []float64 {
			p, dy := ys[r*cols:(r+1)*cols], dys[r*cols:(r+1)*cols]
			low := func(i int) float64 { return tensor.Round(d, p[i]*dy[i], false) }
			s := truthtest.Sum32(1, cols, low)
			out := make([]float64, cols)
			for i := range out {
				out[i] = truthtest.F32(low(i) - truthtest.F32(p[i]*s))
			}
			return out
		})
		c := caseOf(d, op.Backward, rows, cols)
		truthtest.Rejects(t, d.String(), truthtest.Judged(truthtest.TruthFor(t, c, "fp32", in), dx))
		truthtest.Accepts(t, d.String(), truthtest.Judged(truthtest.TruthFor(t, c, "product16", in), dx))
	}
	if _, err := truth.Of(caseOf(op.FP16, op.Forward, 1, 1), "tf32", nil, nil); err == nil {
		t.Error("softmax took a contract that it does not permit")
	}
}

func TestSpecialValues(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	x := truthtest.Literal("x", op.FP32, []float64{-inf, -inf, 1, -inf, inf, 0, nan, 0, 5, 5}, 5, 2)
	c := caseOf(op.FP32, op.Forward, 5, 2)
	if _, err := truth.Of(c, "fp32", []tensor.Tensor{x}, nil); err == nil {
		t.Error("NaN in R of a case that does not declare it was accepted")
	}
	c.Distribution = "neg_inf_mask"
	truth := truthtest.TruthFor(t, c, "fp32", []tensor.Tensor{x})
	want := []float64{nan, nan, 1, 0, nan, nan, nan, nan, 0.5, 0.5}
	for i, v := range truth.Outputs[0].R {
		truthtest.Near(t, fmt.Sprintf("element %d", i), v, want[i], 1)
	}
	truthtest.Accepts(t, "special values", truthtest.Judged(truth, want))
	zeros := append([]float64{0, 0}, want[2:]...)
	truthtest.Rejects(t, "zeros for a row of only -inf", truthtest.Judged(truth, zeros))
}

// TestGradient compares the closed form with the complex step of an independent naive softmax.
func TestGradient(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	const rows, cols = 3, 17
	x, dy := truthtest.NormalTensor(r, "x", op.FP32, 0, 2, rows, cols), truthtest.NormalTensor(r, "grad_y",
		op.FP32, 0, 1, rows, cols)
	c := caseOf(op.FP32, op.Backward, rows, cols)
	c.Saved = "own"
	dys := dy.Float64s()
	loss := func(x []complex128) complex128 {
		total := complex128(0)
		for r := range rows {
			sum, dot := complex128(0), complex128(0)
			for i := range cols {
				e := cmplx.Exp(x[r*cols+i])
				sum += e
				dot += e * complex(dys[r*cols+i], 0)
			}
			total += dot / sum
		}
		return total
	}
	truthtest.CheckGradient(t, "softmax", r, loss, x.Float64s(), truthtest.TruthFor(t, c, "fp32",
		[]tensor.Tensor{x, dy}).Outputs[0].R)
}

// TestSample judges only some rows: the same numbers as in the whole, the tail always among them.
func TestSample(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	const rows, cols = 1000, 5
	x := truthtest.NormalTensor(r, "x", op.BF16, 0, 1, rows, cols)
	c := caseOf(op.BF16, op.Forward, rows, cols)
	whole := truthtest.TruthFor(t, c, "fp32", []tensor.Tensor{x}).Outputs[0]
	part, err := truth.Of(c, "fp32", []tensor.Tensor{x}, &truth.Sample{Rows: 64, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	some := part.Outputs[0]
	if n := len(some.Index); n < 65*cols || n > 129*cols {
		t.Fatalf("%d sampled elements", n)
	}
	for i, p := range some.Index {
		if some.R[i] != whole.R[p] || some.T[i] != whole.T[p] || some.Sim[i] != whole.Sim[p] {
			t.Fatalf("element %d differs from the whole", p)
		}
	}
	if some.Index[len(some.Index)-1] != rows*cols-1 {
		t.Error("the last row is not in the sample")
	}
	wrong := append([]float64(nil), whole.Sim...)
	wrong[rows*cols-1] += 0.5
	truthtest.Accepts(t, "sample", truthtest.Judged(part, whole.Sim))
	truthtest.Rejects(t, "sample", truthtest.Judged(part, wrong))
}
