package rope

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth/truthtest"
)

type shapeOf struct{ batch, seq, headsQ, headsK, dim, offset int64 }

func caseOf(p op.Pass, d op.DType, s shapeOf, interleaved bool) op.Case {
	turned := op.Attr{Name: "interleaved", Text: "false"}
	if interleaved {
		turned.Number, turned.Text = 1, "true"
	}
	return op.Case{
		Op: "rope", Pass: p, DType: d.String(), Distribution: "normal",
		Attrs: op.Attrs{turned, {Name: "offset", Number: float64(s.offset), Text: fmt.Sprint(s.offset)}},
	}
}

// tablesOf returns cos and sin of t*10000^(-2i/dim), rounded once to fp32.
func tablesOf(positions, dim int64) (cos, sin tensor.Tensor) {
	cos, sin = tensor.New("cos", op.FP32, []int64{positions, dim / 2}), tensor.New("sin", op.FP32,
		[]int64{positions, dim / 2})
	c, s := make([]float64, cos.Elements()), make([]float64, cos.Elements())
	for i := range c {
		angle := float64(int64(i)/(dim/2)) * math.Pow(10000, -2*float64(int64(i)%(dim/2))/float64(dim))
		s[i], c[i] = math.Sincos(angle)
	}
	cos.SetFloat64s(c)
	sin.SetFloat64s(s)
	return cos, sin
}

// forward32 rotates by nested loops in fp32; store is applied to every intermediate.
func forward32(x, cos, sin []float64, s shapeOf, heads int64, interleaved bool, sign float64,
	store func(float64) float64,
) []float64 {
	out := make([]float64, len(x))
	half := s.dim / 2
	for b := range s.batch {
		for t := range s.seq {
			for h := range heads {
				base := ((b*s.seq+t)*heads + h) * s.dim
				for i := range half {
					p, q := base+i, base+i+half
					if interleaved {
						p, q = base+2*i, base+2*i+1
					}
					c, n := store(cos[(s.offset+t)*half+i]), sign*store(sin[(s.offset+t)*half+i])
					out[p] = store(store(x[p]*c) - store(x[q]*n))
					out[q] = store(store(x[q]*c) + store(x[p]*n))
				}
			}
		}
	}
	return out
}

func TestAcceptsAndRejects(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	s := shapeOf{batch: 2, seq: 17, headsQ: 3, headsK: 1, dim: 10, offset: 5}
	cos, sin := tablesOf(30, s.dim)
	c, n := cos.Float64s(), sin.Float64s()
	for _, d := range truthtest.LowDTypes {
		for _, interleaved := range []bool{false, true} {
			for _, p := range []op.Pass{op.Forward, op.Backward} {
				names, sign := []string{"q", "k"}, 1.0
				if p == op.Backward {
					names, sign = []string{"grad_q_out", "grad_k_out"}, -1
				}
				q := truthtest.NormalTensor(r, names[0], d, 0, 1, s.batch, s.seq, s.headsQ, s.dim)
				k := truthtest.NormalTensor(r, names[1], d, 0, 1, s.batch, s.seq, s.headsK, s.dim)
				in := []tensor.Tensor{q, k, cos, sin}
				run := func(s shapeOf, interleaved bool, sign float64,
					store func(float64) float64,
				) [][]float64 {
					return [][]float64{
						forward32(q.Float64s(), c, n, s, s.headsQ, interleaved, sign, store),
						forward32(k.Float64s(), c, n, s, s.headsK, interleaved, sign, store),
					}
				}
				what := fmt.Sprintf("%v %v interleaved %v", d, p, interleaved)
				truth := truthtest.TruthFor(t, caseOf(p, d, s, interleaved), "fp32", in)
				truthtest.Accepts(t, what+" sim", truthtest.Judged(truth, truthtest.Sims(truth)...))
				truthtest.Accepts(t, what,
					truthtest.Judged(truth, run(s, interleaved, sign, truthtest.F32)...))
				truthtest.Rejects(t, what+" other pairs",
					truthtest.Judged(truth, run(s, !interleaved, sign, truthtest.F32)...))
				truthtest.Rejects(t, what+" sign",
					truthtest.Judged(truth, run(s, interleaved, -sign, truthtest.F32)...))
				late := s
				late.offset++
				truthtest.Rejects(t, what+" position + 1",
					truthtest.Judged(truth, run(late, interleaved, sign, truthtest.F32)...))
				if d != op.FP32 {
					low := run(s, interleaved, sign,
						func(x float64) float64 { return tensor.Round(d, x, false) })
					truthtest.Rejects(t, what+" tables in the dtype", truthtest.Judged(truth, low...))
					truthtest.Accepts(t, what+" eager",
						truthtest.Judged(truthtest.TruthFor(t, caseOf(p, d, s, interleaved), "eager", in),
							low...))
				}
			}
		}
	}
}

// TestExact: position 0 on integers is the identity, bit for bit.
func TestExact(t *testing.T) {
	s := shapeOf{batch: 1, seq: 2, headsQ: 1, headsK: 1, dim: 2}
	c := caseOf(op.Forward, op.BF16, s, false)
	c.Distribution = "integers"
	q, k := truthtest.Literal("q", op.BF16, []float64{1, -2, 3, 4}, 1, 2, 1, 2),
		truthtest.Literal("k", op.BF16, []float64{5, 6, 7, 8}, 1, 2, 1, 2)
	in := []tensor.Tensor{
		q, k, truthtest.Literal("cos", op.FP32, []float64{1, 1}, 2, 1),
		truthtest.Literal("sin", op.FP32, []float64{0, 0}, 2, 1),
	}
	truth := truthtest.TruthFor(t, c, "fp32", in)
	truthtest.Accepts(t, "identity", truthtest.Judged(truth, q.Float64s(), k.Float64s()))
	verdicts := truthtest.Judged(truth, q.Float64s(), []float64{5, 6, 7, 8.0625})
	if verdicts[1].Gate != "G3" {
		t.Errorf("one ulp off: %v %s", verdicts[1].Status, verdicts[1].Gate)
	}
}
