package layernorm

import (
	"math"
	"testing"

	"triad/internal/op"

	"triad/internal/parallel"
	"triad/internal/truth/truthtest"
)

var evaluation = truthtest.Evaluation{
	Operator: "layernorm", DType: "bf16",
	Dims:     map[string]int64{"rows": 1024, "cols": 2048},
	Small:    map[string]int64{"rows": 90, "cols": 33},
	Evaluate: evaluate,
}

func TestEvaluationIsTheTruth(t *testing.T) { evaluation.IsTheTruth(t) }

func BenchmarkCost(b *testing.B) { evaluation.Cost(b) }

func evaluate(c op.Case, in truthtest.InputsByName) [][]float64 {
	if c.Pass == op.Forward {
		return evaluateForward(in, c.Attrs.Number("eps"))
	}
	return evaluateBackward(in, c.Saved == "own", c.Attrs.Number("eps"))
}

func momentsPlainly(x []float64, eps float64) (mean, rstd float64) {
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	variance := 0.0
	for _, v := range x {
		variance += (v - mean) * (v - mean)
	}
	return mean, 1 / math.Sqrt(variance/float64(len(x))+eps)
}

func evaluateForward(in truthtest.InputsByName, eps float64) [][]float64 {
	rows, cols := in["x"].Shape[0], in["x"].Shape[1]
	weight, bias := in["weight"].Float64s(), in["bias"].Float64s()
	y, means, rstds := make([]float64, rows*cols), make([]float64, rows), make([]float64, rows)
	parallel.EachWith(rows, truthtest.Buffers(1, cols), func(own [][]float64, r int64) {
		in.Row(own[0], "x", r)
		mean, rstd := momentsPlainly(own[0], eps)
		means[r], rstds[r] = mean, rstd
		for i, v := range own[0] {
			y[r*cols+int64(i)] = (v-mean)*rstd*weight[i] + bias[i]
		}
	})
	return [][]float64{y, means, rstds}
}

func evaluateBackward(in truthtest.InputsByName, chained bool, eps float64) [][]float64 {
	rows, cols := in["x"].Shape[0], in["x"].Shape[1]
	weight := in["weight"].Float64s()
	means, rstds := make([]float64, rows), make([]float64, rows)
	if !chained {
		means, rstds = in["mean"].Float64s(), in["rstd"].Float64s()
	}
	dx, dweight, dbias := make([]float64, rows*cols), make([]float64, cols), make([]float64, cols)
	parallel.EachWith(rows, truthtest.Buffers(2, cols), func(own [][]float64, r int64) {
		x, dy := own[0], own[1]
		in.Row(x, "x", r)
		in.Row(dy, "grad_y", r)
		if chained {
			means[r], rstds[r] = momentsPlainly(x, eps)
		}
		mean, rstd, c1, c2 := means[r], rstds[r], 0.0, 0.0
		for i, v := range x {
			c1 += weight[i] * dy[i]
			c2 += weight[i] * dy[i] * (v - mean) * rstd
		}
		c1, c2 = c1/float64(cols), c2/float64(cols)
		for i, v := range x {
			dx[r*cols+int64(i)] = rstd * (weight[i]*dy[i] - c1 - (v-mean)*rstd*c2)
		}
	})
	const stripe = 64
	parallel.Each((cols+stripe-1)/stripe, func(s int64) {
		first, last := s*stripe, min((s+1)*stripe, cols)
		x, dy := make([]float64, last-first), make([]float64, last-first)
		for r := range rows {
			in["x"].DecodeRow(x, r, first)
			in["grad_y"].DecodeRow(dy, r, first)
			for i, v := range x {
				dweight[first+int64(i)] += dy[i] * (v - means[r]) * rstds[r]
				dbias[first+int64(i)] += dy[i]
			}
		}
	})
	return [][]float64{dx, dweight, dbias}
}
