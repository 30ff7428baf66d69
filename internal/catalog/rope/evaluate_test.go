package rope

import (
	"testing"

	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/truth/truthtest"
)

var evaluation = truthtest.Evaluation{
	Operator: "rope", DType: "bf16",
	Dims: map[string]int64{
		"batch": 1, "seq": 1024, "heads_q": 16, "heads_k": 16, "head_dim": 64,
		"max_pos": 1024,
	},
	Small: map[string]int64{
		"batch": 1, "seq": 30, "heads_q": 4, "heads_k": 3, "head_dim": 16,
		"max_pos": 40,
	},
	Evaluate: evaluate,
}

func TestEvaluationIsTheTruth(t *testing.T) { evaluation.IsTheTruth(t) }

func BenchmarkCost(b *testing.B) { evaluation.Cost(b) }

func evaluate(c op.Case, in truthtest.InputsByName) [][]float64 {
	if c.Pass == op.Forward {
		return [][]float64{evaluateRotation(c, in, "q", 1), evaluateRotation(c, in, "k", 1)}
	}
	return [][]float64{evaluateRotation(c, in, "grad_q_out", -1), evaluateRotation(c, in, "grad_k_out", -1)}
}

func evaluateRotation(c op.Case, in truthtest.InputsByName, name string, sign float64) []float64 {
	shape, half := in[name].Shape, in["cos"].Shape[1]
	rows, dim := shape[0]*shape[1]*shape[2], shape[3]
	offset, interleaved := int64(c.Attrs.Number("offset")), c.Attrs.Number("interleaved") != 0
	out := make([]float64, rows*dim)
	parallel.EachWith(rows, truthtest.Buffers(3, dim), func(own [][]float64, r int64) {
		x, cos, sin, y := own[0], own[1][:half], own[2][:half], out[r*dim:(r+1)*dim]
		in.Row(x, name, r)
		angle := offset + r/shape[2]%shape[1]
		in.Row(cos, "cos", angle)
		in.Row(sin, "sin", angle)
		for i := range half {
			a, b := i, i+half
			if interleaved {
				a, b = 2*i, 2*i+1
			}
			y[a], y[b] = x[a]*cos[i]-x[b]*sign*sin[i], x[b]*cos[i]+x[a]*sign*sin[i]
		}
	})
	return out
}
