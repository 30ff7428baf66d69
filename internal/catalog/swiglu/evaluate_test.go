package swiglu

import (
	"math"
	"testing"

	"triad/internal/op"

	"triad/internal/parallel"
	"triad/internal/truth/truthtest"
)

var evaluation = truthtest.Evaluation{
	Operator: "swiglu", DType: "bf16",
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
	return evaluateBackward(in)
}

func evaluateForward(in truthtest.InputsByName) [][]float64 {
	rows, cols := in["gate"].Shape[0], in["gate"].Shape[1]
	y := make([]float64, rows*cols)
	parallel.EachWith(rows, truthtest.Buffers(2, cols), func(own [][]float64, r int64) {
		in.Row(own[0], "gate", r)
		in.Row(own[1], "up", r)
		for i, g := range own[0] {
			y[r*cols+int64(i)] = g / (1 + math.Exp(-g)) * own[1][i]
		}
	})
	return [][]float64{y}
}

func evaluateBackward(in truthtest.InputsByName) [][]float64 {
	rows, cols := in["gate"].Shape[0], in["gate"].Shape[1]
	dgate, dup := make([]float64, rows*cols), make([]float64, rows*cols)
	parallel.EachWith(rows, truthtest.Buffers(3, cols), func(own [][]float64, r int64) {
		in.Row(own[0], "gate", r)
		in.Row(own[1], "up", r)
		in.Row(own[2], "grad_y", r)
		for i, g := range own[0] {
			at, dy, sigma := r*cols+int64(i), own[2][i], 1/(1+math.Exp(-g))
			dgate[at] = dy * own[1][i] * sigma * (1 + g*(1-sigma))
			dup[at] = dy * g * sigma
		}
	})
	return [][]float64{dgate, dup}
}
