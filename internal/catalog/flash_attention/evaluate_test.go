package flashattention

import (
	"math"
	"testing"

	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

var evaluation = truthtest.Evaluation{
	Operator: "flash_attention", DType: "bf16",
	Dims: map[string]int64{
		"batch": 1, "heads_q": 4, "heads_kv": 4, "seq_q": 512, "seq_kv": 512,
		"head_dim": 64,
	},
	Small: map[string]int64{
		"batch": 1, "heads_q": 4, "heads_kv": 2, "seq_q": 45, "seq_kv": 51,
		"head_dim": 8,
	},
	Evaluate: evaluate,
}

func TestEvaluationIsTheTruth(t *testing.T) { evaluation.IsTheTruth(t) }

func BenchmarkCost(b *testing.B) { evaluation.Cost(b) }

func evaluate(c op.Case, in truthtest.InputsByName) [][]float64 {
	if c.Pass == op.Forward {
		return evaluateForward(c, in)
	}
	return evaluateBackward(c, in)
}

// plainHeads is attention by its definition, head after head.
type plainHeads struct {
	q, k, v, do, o, lse []float64
	seqQ, seqKV, n, nV  int64
	heads, group        int64
	scale               float64
	causal              bool
}

func plainHeadsOf(c op.Case, in truthtest.InputsByName) plainHeads {
	q, k := in["q"].Shape, in["k"].Shape
	h := plainHeads{
		q: in["q"].Float64s(), k: in["k"].Float64s(), v: in["v"].Float64s(), seqQ: q[2], seqKV: k[2],
		n: q[3], nV: in["v"].Shape[3],
		heads: q[0] * q[1], group: q[1] / k[1],
		scale: c.Attrs.Number("scale"), causal: c.Attrs.Number("causal") != 0,
	}
	if t, ok := in["grad_o"]; ok {
		h.do = t.Float64s()
	}
	return h
}

func dotPlainly(x, y []float64) float64 {
	s := 0.0
	y = y[:len(x)]
	for i, v := range x {
		s += v * y[i]
	}
	return s
}

// scores fills the scores of query row r, and returns the number of keys it sees. Key heads of a batch follow
// one another as query heads do.
func (h plainHeads) scores(s []float64, r int64) int64 {
	seen := h.seqKV
	if h.causal {
		seen = max(0, min(h.seqKV, r%h.seqQ+1+h.seqKV-h.seqQ))
	}
	kv := r / h.seqQ / h.group * h.seqKV
	for j := range seen {
		s[j] = h.scale * dotPlainly(h.q[r*h.n:(r+1)*h.n], h.k[(kv+j)*h.n:(kv+j+1)*h.n])
	}
	return seen
}

func (h plainHeads) forward() (o, lse []float64) {
	o, lse = make([]float64, h.heads*h.seqQ*h.nV), make([]float64, h.heads*h.seqQ)
	parallel.EachWith(h.heads*h.seqQ, truthtest.Buffers(1, h.seqKV), func(own [][]float64, r int64) {
		seen := h.scores(own[0], r)
		s := own[0][:seen]
		kv := r / h.seqQ / h.group * h.seqKV
		m, l := math.Inf(-1), 0.0
		for _, v := range s {
			m = max(m, v)
		}
		for j, v := range s {
			s[j] = math.Exp(v - m)
			l += s[j]
		}
		for j, p := range s {
			truth.Axpy(o[r*h.nV:(r+1)*h.nV], p/l, h.v[(kv+int64(j))*h.nV:(kv+int64(j)+1)*h.nV])
		}
		lse[r] = m + math.Log(l)
	})
	return o, lse
}

func evaluateForward(c op.Case, in truthtest.InputsByName) [][]float64 {
	o, lse := plainHeadsOf(c, in).forward()
	return [][]float64{o, lse}
}

func evaluateBackward(c op.Case, in truthtest.InputsByName) [][]float64 {
	h := plainHeadsOf(c, in)
	if c.Saved == "own" {
		h.o, h.lse = h.forward()
	} else {
		h.o, h.lse = in["o"].Float64s(), in["lse"].Float64s()
	}
	dq, dk, dv := make([]float64, len(h.q)), make([]float64, len(h.k)), make([]float64, len(h.v))
	parallel.EachWith(h.heads/h.group, truthtest.Buffers(1, h.seqKV), func(own [][]float64, kv int64) {
		for r := kv * h.group * h.seqQ; r < (kv+1)*h.group*h.seqQ; r++ {
			row := func(x []float64) []float64 { return x[r*h.n : (r+1)*h.n] }
			rowV := func(x []float64) []float64 { return x[r*h.nV : (r+1)*h.nV] }
			delta := dotPlainly(rowV(h.do), rowV(h.o))
			for j := range h.scores(own[0], r) {
				key := func(x []float64) []float64 { return x[(kv*h.seqKV+j)*h.n : (kv*h.seqKV+j+1)*h.n] }
				value := func(x []float64) []float64 { return x[(kv*h.seqKV+j)*h.nV : (kv*h.seqKV+j+1)*h.nV] }
				p := math.Exp(own[0][j] - h.lse[r])
				ds := h.scale * p * (dotPlainly(rowV(h.do), value(h.v)) - delta)
				truth.Axpy(row(dq), ds, key(h.k))
				truth.Axpy(key(dk), ds, row(h.q))
				truth.Axpy(value(dv), p, rowV(h.do))
			}
		}
	})
	return [][]float64{dq, dk, dv}
}
