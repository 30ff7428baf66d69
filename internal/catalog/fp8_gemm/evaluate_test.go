package fp8gemm

import (
	"testing"

	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/product"
	"triad/internal/truth/truthtest"
)

var evaluation = truthtest.Evaluation{
	Operator: "fp8_gemm", DType: "e4m3",
	Dims:     map[string]int64{"m": 512, "n": 512, "k": 512},
	Small:    map[string]int64{"m": 90, "n": 80, "k": 100},
	Evaluate: evaluate,
}

func TestEvaluationIsTheTruth(t *testing.T) { evaluation.IsTheTruth(t) }

func BenchmarkCost(b *testing.B) { evaluation.Cost(b) }

func evaluate(c op.Case, in truthtest.InputsByName) [][]float64 {
	if c.Pass == op.Forward {
		return [][]float64{evaluateProduct(c, in, "a", "scale_a", "b", "scale_b")}
	}
	return [][]float64{evaluateProduct(c, in, "g", "scale_g", "bt", "scale_bt"), evaluateProduct(c, in, "gt",
		"scale_gt", "at", "scale_at")}
}

func evaluateProduct(c op.Case, in truthtest.InputsByName, a, scaleA, b, scaleB string) []float64 {
	m, n := in[a].Shape[0], in[b].Shape[0]
	k2 := &truth.Request{Case: c, In: []tensor.Tensor{in[a], in[scaleA], in[b], in[scaleB]}}
	left, _ := product.Dequantized(k2, operator.Scaling, firstOperand(a, scaleA))
	right, _ := product.Dequantized(k2, operator.Scaling, secondOperand(b, scaleB))
	out := make([]float64, m*n)
	parallel.Each(m, func(i int64) {
		for j := range n {
			for x, v := range left[i] {
				out[i*n+j] += v * right[j][x]
			}
		}
	})
	return out
}
