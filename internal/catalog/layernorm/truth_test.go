package layernorm

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth/rownorm"
	"triad/internal/truth/rownorm/rownormtest"
	"triad/internal/truth/truthtest"
)

var eps = truthtest.F32(1e-5)

func caseOf(p op.Pass, d op.DType, rows, cols int64, saved string) op.Case {
	return op.Case{
		Op: "layernorm", Pass: p, DType: d.String(), Dims: op.Dims{
			{Name: "rows", Value: rows},
			{Name: "cols", Value: cols},
		},
		Attrs: op.Attrs{{Name: "eps", Number: eps, Text: "1e-05"}}, Distribution: "normal", Saved: saved,
	}
}

// forward32 computes layernorm as a kernel does in two passes, all in fp32.
func forward32(order int, eps float64, x, weight, bias []float64) (y []float64, mean, rstd float64) {
	n := len(x)
	mean = truthtest.F32(truthtest.Sum32(order, n, func(i int) float64 { return x[i] }) / float64(n))
	variance := truthtest.F32(truthtest.Sum32(order, n,
		func(i int) float64 { return truthtest.F32(x[i]-mean) * truthtest.F32(x[i]-mean) }) / float64(n))
	rstd = truthtest.F32(1 / truthtest.F32(math.Sqrt(truthtest.F32(variance+eps))))
	y = make([]float64, n)
	for i := range x {
		y[i] = truthtest.F32(truthtest.F32(truthtest.F32(truthtest.F32(x[i]-mean)*rstd)*weight[i]) + bias[i])
	}
	return y, mean, rstd
}

// backward32 returns the gradient of one row with respect to x, in fp32.
func backward32(order int, x, weight, dy []float64, mean, rstd float64) (dx, xhat []float64) {
	n := len(x)
	xhat, dx = make([]float64, n), make([]float64, n)
	wdy := make([]float64, n)
	for i := range x {
		xhat[i], wdy[i] = truthtest.F32(truthtest.F32(x[i]-mean)*rstd), truthtest.F32(weight[i]*dy[i])
	}
	c1 := truthtest.F32(truthtest.Sum32(order, n, func(i int) float64 { return wdy[i] }) / float64(n))
	c2 := truthtest.F32(truthtest.Sum32(order, n,
		func(i int) float64 { return wdy[i] * xhat[i] }) / float64(n))
	for i := range x {
		dx[i] = truthtest.F32(rstd * truthtest.F32(truthtest.F32(wdy[i]-c1)-truthtest.F32(xhat[i]*c2)))
	}
	return dx, xhat
}

// answerOf runs the emulated kernels over a whole case: y, mean, rstd and, from these, dx, dweight, dbias.
func answerOf(order int, eps float64, rows, cols int, in [][]float64, oneDot bool) (forward,
	backward [][]float64,
) {
	x, weight, bias, dy := in[0], in[1], in[2], in[3]
	var y, means, rstds, dx []float64
	xhats := make([]float64, rows*cols)
	for r := range rows {
		a, b := r*cols, (r+1)*cols
		row, mean, rstd := forward32(order, eps, x[a:b], weight, bias)
		y, means, rstds = append(y, row...), append(means, mean), append(rstds, rstd)
		g, xhat := backward32(order, x[a:b], weight, dy[a:b], mean, rstd)
		if oneDot { // mutant: the term of xhat is missing
			for i := range g {
				g[i] = truthtest.F32(rstd * weight[i] * dy[a+i])
			}
		}
		dx = append(dx, g...)
		copy(xhats[a:], xhat)
	}
	dweight, dbias := make([]float64, cols), make([]float64, cols)
	for c := range cols {
		dweight[c] = truthtest.Sum32(order, rows,
			func(r int) float64 { return truthtest.F32(dy[r*cols+c] * xhats[r*cols+c]) })
		dbias[c] = truthtest.Sum32(order, rows, func(r int) float64 { return dy[r*cols+c] })
	}
	return [][]float64{y, means, rstds}, [][]float64{dx, dweight, dbias}
}

func TestAcceptsAndRejects(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, d := range truthtest.LowDTypes {
		for _, shape := range [][2]int64{{1, 2}, {2, 33}, {517, 64}, {5, 1023}} {
			for _, data := range [][2]float64{{0, 1}, {30, 1}, {0, 1e-3}} {
				rows, cols := shape[0], shape[1]
				x := truthtest.NormalTensor(r, "x", d, data[0], data[1], rows, cols)
				weight, bias := truthtest.NormalTensor(r, "weight", d, 1, 0.25, cols),
					truthtest.NormalTensor(r, "bias", d, 0, 0.25, cols)
				dy := truthtest.NormalTensor(r, "grad_y", d, 0, 1, rows, cols)
				what := fmt.Sprintf("%v %v data %v", d, shape, data)
				values := [][]float64{x.Float64s(), weight.Float64s(), bias.Float64s(), dy.Float64s()}
				truth := truthtest.TruthFor(t, caseOf(op.Forward, d, rows, cols, ""), "fp32",
					[]tensor.Tensor{x, weight, bias})
				own := truthtest.TruthFor(t, caseOf(op.Backward, d, rows, cols, "own"), "fp32",
					[]tensor.Tensor{x, weight, bias, dy})
				truthtest.Accepts(t, what+" sim", truthtest.Judged(truth, truthtest.Sims(truth)...))
				truthtest.Accepts(t, what+" chained sim", truthtest.Judged(own, truthtest.Sims(own)...))
				for order := range 3 {
					forward, backward := answerOf(order, eps, int(rows), int(cols), values, false)
					truthtest.Accepts(t, what, truthtest.Judged(truth, forward...))
					truthtest.Accepts(t, what+" chained", truthtest.Judged(own, backward...))
				}
				mean := truthtest.Literal("mean", op.FP32, truth.Outputs[1].Sim, rows)
				rstd := truthtest.Literal("rstd", op.FP32, truth.Outputs[2].Sim, rows)
				given := truthtest.TruthFor(t, caseOf(op.Backward, d, rows, cols, "driver"), "fp32",
					[]tensor.Tensor{x, weight, mean, rstd, dy})
				truthtest.Accepts(t, what+" driver sim", truthtest.Judged(given, truthtest.Sims(given)...))
				means, rstds := mean.Float64s(), rstd.Float64s()
				dx := truthtest.ByRows(rows, cols, func(r int64) []float64 {
					out, _ := backward32(1, values[0][r*cols:(r+1)*cols], values[1],
						values[3][r*cols:(r+1)*cols], means[r], rstds[r])
					return out
				})
				truthtest.Accepts(t, what+" driver", truthtest.Judged(given, dx, given.Outputs[1].Sim,
					given.Outputs[2].Sim))
				if rows*cols > 1000 {
					_, wrong := answerOf(0, eps, int(rows), int(cols), values, true)
					truthtest.Rejects(t, what+" xhat term missing", truthtest.Judged(own, wrong...))
					truthtest.Rejects(t, what+" zeros", truthtest.Judged(truth, make([]float64, rows*cols),
						truth.Outputs[1].Sim, truth.Outputs[2].Sim))
				}
			}
		}
	}
}

// TestRejectsOnePassVariance: mean(x^2) - mean^2 in fp32 on rows with a large mean.
func TestRejectsOnePassVariance(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	const rows, cols = 4, 1023
	x := truthtest.NormalTensor(r, "x", op.FP32, 200, 1, rows, cols)
	weight, bias := truthtest.NormalTensor(r, "weight", op.FP32, 1, 0.25, cols), truthtest.NormalTensor(r,
		"bias", op.FP32, 0, 0.25, cols)
	truth := truthtest.TruthFor(t, caseOf(op.Forward, op.FP32, rows, cols, ""), "fp32",
		[]tensor.Tensor{x, weight, bias})
	var y, means, rstds []float64
	for i := range rows {
		row := x.Float64s()[i*cols : (i+1)*cols]
		mean := truthtest.F32(truthtest.Sum32(0, cols, func(i int) float64 { return row[i] }) / cols)
		square := truthtest.F32(truthtest.Sum32(0, cols,
			func(i int) float64 { return truthtest.F32(row[i] * row[i]) }) / cols)
		rstd := truthtest.F32(1 / math.Sqrt(truthtest.F32(truthtest.F32(square-truthtest.F32(mean*mean))+
			eps)))
		means, rstds = append(means, mean), append(rstds, rstd)
		for c, v := range row {
			y = append(y, truthtest.F32(truthtest.F32((v-mean)*rstd)*weight.Float64s()[c])+bias.Float64s()[c])
		}
	}
	truthtest.Rejects(t, "one pass", truthtest.Judged(truth, y, means, rstds))
}

func TestGradient(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 2))
	const rows, cols = 3, 13
	x, weight := truthtest.NormalTensor(r, "x", op.FP32, 1, 2, rows, cols), truthtest.NormalTensor(r,
		"weight", op.FP32, 1, 0.25, cols)
	bias, dy := truthtest.NormalTensor(r, "bias", op.FP32, 0, 1, cols), truthtest.NormalTensor(r, "grad_y",
		op.FP32, 0, 1, rows, cols)
	truth := truthtest.TruthFor(t, caseOf(op.Backward, op.FP32, rows, cols, "own"), "fp32",
		[]tensor.Tensor{x, weight, bias, dy})
	dys := dy.Float64s()
	loss := func(z []complex128) complex128 {
		x, weight, bias := z[:rows*cols], z[rows*cols:rows*cols+cols], z[rows*cols+cols:]
		total := complex128(0)
		for r := range rows {
			mean, square := complex128(0), complex128(0)
			for c := range cols {
				mean += x[r*cols+c] / cols
			}
			for c := range cols {
				square += (x[r*cols+c] - mean) * (x[r*cols+c] - mean) / cols
			}
			for c := range cols {
				y := (x[r*cols+c]-mean)/cmplx.Sqrt(square+complex(eps, 0))*weight[c] + bias[c]
				total += y * complex(dys[r*cols+c], 0)
			}
		}
		return total
	}
	inputs := append(append(x.Float64s(), weight.Float64s()...), bias.Float64s()...)
	gradient := append(append(truth.Outputs[0].R, truth.Outputs[1].R...), truth.Outputs[2].R...)
	truthtest.CheckGradient(t, "layernorm", r, loss, inputs, gradient)
}

// TestEmptyRows: empty sums are exact zeros.
func TestEmptyRows(t *testing.T) {
	weight := truthtest.Literal("weight", op.FP32, []float64{1, 2}, 2)
	in := []tensor.Tensor{tensor.New("x", op.FP32, []int64{0, 2}), weight, tensor.New("bias", op.FP32,
		[]int64{2}), tensor.New("grad_y", op.FP32, []int64{0, 2})}
	truth := truthtest.TruthFor(t, caseOf(op.Backward, op.FP32, 0, 2, "own"), "fp32", in)
	for _, o := range truth.Outputs[1:] {
		for i := range o.R {
			if o.R[i] != 0 || o.T[i] != 0 {
				t.Errorf("%s: R = %v, T = %v, want 0", o.Name, o.R[i], o.T[i])
			}
		}
	}
}

// TestSparseRows: 99 of 100 differences from the mean are equal in a sparse row, so that a sequential sum
// rounds them all the same way: the error bound is that of equal terms.
func TestSparseRows(t *testing.T) {
	const cols = 4099
	x := make([]float64, cols)
	for i := 0; i < cols; i += 100 {
		x[i] = 1 + float64(i%700)/512
	}
	c := caseOf(op.Forward, op.FP32, 1, cols, "")
	zeros := make([]float64, cols)
	in := []tensor.Tensor{
		truthtest.Literal("x", op.FP32, x, 1, cols),
		truthtest.Literal("weight", op.FP32, zeros, cols), truthtest.Literal("bias", op.FP32, zeros, cols),
	}
	plain := truthtest.TruthFor(t, c, "fp32", in).Outputs[2].T[0]
	c.Distribution = "sparse"
	if sparse := truthtest.TruthFor(t, c, "fp32", in).Outputs[2].T[0]; !(sparse > 4*plain) {
		t.Errorf("T of rstd is %v for sparse rows, %v for others: want that of 4099 equal terms", sparse,
			plain)
	}
}

// TestByWelford: rows of one value except for a neighbour here and there, 256 standard deviations from 0 and
// more, are right by two passes and by Welford's recurrence, whose running mean is rounded at every step.
func TestByWelford(t *testing.T) {
	const rows, cols = 4000, 7
	r := rand.New(rand.NewPCG(9, 2))
	values := make([]float64, rows*cols)
	for i := range values {
		values[i] = math.Ldexp(200+float64(i/cols%50), 50)
		if r.IntN(6) == 0 {
			values[i] += math.Ldexp(1, 50)
		}
	}
	x := truthtest.Literal("x", op.BF16, values, rows, cols)
	ones := slices.Repeat([]float64{1}, cols)
	in := []tensor.Tensor{x, truthtest.Literal("weight", op.BF16, ones, cols), truthtest.Literal("bias",
		op.BF16, make([]float64, cols), cols)}
	truth := truthtest.TruthFor(t, caseOf(op.Forward, op.BF16, rows, cols, ""), "fp32", in)
	for _, running := range []bool{false, true} {
		var y, means, rstds []float64
		for i := range int64(rows) {
			row := values[i*cols : (i+1)*cols]
			mean, rstd := rownormtest.Statistics(rownorm.Operator{Centred: true},
				truthtest.Arithmetic{Other: running}, row, eps, op.BF16)
			for _, v := range row {
				y = append(y, truthtest.F32(truthtest.F32(v-mean)*rstd))
			}
			means, rstds = append(means, mean), append(rstds, rstd)
		}
		truthtest.Accepts(t, fmt.Sprintf("running mean %v", running),
			truthtest.Judged(truth, y, means, rstds))
	}
}
