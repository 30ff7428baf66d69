package softmax

import (
	"math"
	"testing"

	"triad/internal/op"

	"triad/internal/parallel"
	"triad/internal/truth/truthtest"
)

var evaluation = truthtest.Evaluation{
	Operator: "softmax", DType: "bf16",
	Dims:     map[string]int64{"rows": 1024, "cols": 2048},
	Small:    map[string]int64{"rows": 90, "cols": 33},
	Evaluate: evaluate,
}

func TestEvaluationIsTheTruth(t *testing.T) { evaluation.IsTheTruth(t) }

func BenchmarkCost(b *testing.B) { evaluation.Cost(b) }

func evaluate(c op.Case, in truthtest.InputsByName) [][]float64 {
	if c.Pass == op.Forward {
		return evaluateForward(in)
	}
	return evaluateBackward(in, c.Saved == "own")
}

func plainly(y, x []float64) {
	m := math.Inf(-1)
	for _, v := range x {
		if v > m {
			m = v
		}
	}
	l := 0.0
	for i, v := range x {
		y[i] = math.Exp(v - m)
		l += y[i]
	}
	for i := range y {
		y[i] /= l
	}
}

func evaluateForward(in truthtest.InputsByName) [][]float64 {
	rows, cols := in["x"].Shape[0], in["x"].Shape[1]
	y := make([]float64, rows*cols)
	parallel.EachWith(rows, truthtest.Buffers(1, cols), func(own [][]float64, r int64) {
		in.Row(own[0], "x", r)
		plainly(y[r*cols:(r+1)*cols], own[0])
	})
	return [][]float64{y}
}

func evaluateBackward(in truthtest.InputsByName, chained bool) [][]float64 {
	rows, cols := in["grad_y"].Shape[0], in["grad_y"].Shape[1]
	dx := make([]float64, rows*cols)
	parallel.EachWith(rows, truthtest.Buffers(3, cols), func(own [][]float64, r int64) {
		p, dy := own[0], own[1]
		if chained {
			in.Row(own[2], "x", r)
			plainly(p, own[2])
		} else {
			in.Row(p, "y", r)
		}
		in.Row(dy, "grad_y", r)
		d := 0.0
		for i, v := range p {
			d += v * dy[i]
		}
		for i, v := range p {
			dx[r*cols+int64(i)] = v * (dy[i] - d)
		}
	})
	return [][]float64{dx}
}
