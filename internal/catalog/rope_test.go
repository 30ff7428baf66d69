package catalog

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
)

type ropeShape struct{ batch, seq, headsQ, headsK, dim, offset int64 }

func ropeCase(p op.Pass, d op.DType, s ropeShape, interleaved bool) op.Case {
	turned := op.Attr{Name: "interleaved", Text: "false"}
	if interleaved {
		turned.Number, turned.Text = 1, "true"
	}
	return op.Case{
		Op: "rope", Pass: p, DType: d.String(), Distribution: "normal",
		Attrs: op.Attrs{turned, {Name: "offset", Number: float64(s.offset), Text: fmt.Sprint(s.offset)}},
	}
}

// ropeTables are cos and sin of t*10000^(-2i/dim), rounded once to fp32.
func ropeTables(positions, dim int64) (cos, sin tensor.Tensor) {
	cos, sin = tensor.New("cos", op.FP32, []int64{positions, dim / 2}), tensor.New("sin", op.FP32, []int64{positions, dim / 2})
	c, s := make([]float64, cos.Elements()), make([]float64, cos.Elements())
	for i := range c {
		angle := float64(int64(i)/(dim/2)) * math.Pow(10000, -2*float64(int64(i)%(dim/2))/float64(dim))
		s[i], c[i] = math.Sincos(angle)
	}
	cos.SetFloat64s(c)
	sin.SetFloat64s(s)
	return cos, sin
}

// rope32 rotates by nested loops in fp32; store is applied to every intermediate.
func rope32(x, cos, sin []float64, s ropeShape, heads int64, interleaved bool, sign float64, store func(float64) float64) []float64 {
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

func TestRopeAcceptsAndRejects(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	s := ropeShape{batch: 2, seq: 17, headsQ: 3, headsK: 1, dim: 10, offset: 5}
	cos, sin := ropeTables(30, s.dim)
	c, n := cos.Float64s(), sin.Float64s()
	for _, d := range lowDTypes {
		for _, interleaved := range []bool{false, true} {
			for _, p := range []op.Pass{op.Forward, op.Backward} {
				names, sign := []string{"q", "k"}, 1.0
				if p == op.Backward {
					names, sign = []string{"grad_q_out", "grad_k_out"}, -1
				}
				q := normalTensor(r, names[0], d, 0, 1, s.batch, s.seq, s.headsQ, s.dim)
				k := normalTensor(r, names[1], d, 0, 1, s.batch, s.seq, s.headsK, s.dim)
				in := []tensor.Tensor{q, k, cos, sin}
				run := func(s ropeShape, interleaved bool, sign float64, store func(float64) float64) [][]float64 {
					return [][]float64{
						rope32(q.Float64s(), c, n, s, s.headsQ, interleaved, sign, store),
						rope32(k.Float64s(), c, n, s, s.headsK, interleaved, sign, store),
					}
				}
				what := fmt.Sprintf("%v %v interleaved %v", d, p, interleaved)
				truth := truthFor(t, ropeCase(p, d, s, interleaved), "fp32", in)
				accepts(t, what+" sim", judged(truth, sims(truth)...))
				accepts(t, what, judged(truth, run(s, interleaved, sign, f32)...))
				rejects(t, what+" other pairs", judged(truth, run(s, !interleaved, sign, f32)...))
				rejects(t, what+" sign", judged(truth, run(s, interleaved, -sign, f32)...))
				late := s
				late.offset++
				rejects(t, what+" position + 1", judged(truth, run(late, interleaved, sign, f32)...))
				if d != op.FP32 {
					low := run(s, interleaved, sign, func(x float64) float64 { return tensor.Round(d, x, false) })
					rejects(t, what+" tables in the dtype", judged(truth, low...))
					accepts(t, what+" eager", judged(truthFor(t, ropeCase(p, d, s, interleaved), "eager", in), low...))
				}
			}
		}
	}
}

// TestRopeExact: position 0 on integers is the identity, bit for bit.
func TestRopeExact(t *testing.T) {
	s := ropeShape{batch: 1, seq: 2, headsQ: 1, headsK: 1, dim: 2}
	c := ropeCase(op.Forward, op.BF16, s, false)
	c.Distribution = "integers"
	q, k := literal("q", op.BF16, []float64{1, -2, 3, 4}, 1, 2, 1, 2), literal("k", op.BF16, []float64{5, 6, 7, 8}, 1, 2, 1, 2)
	in := []tensor.Tensor{q, k, literal("cos", op.FP32, []float64{1, 1}, 2, 1), literal("sin", op.FP32, []float64{0, 0}, 2, 1)}
	truth := truthFor(t, c, "fp32", in)
	accepts(t, "identity", judged(truth, q.Float64s(), k.Float64s()))
	verdicts := judged(truth, q.Float64s(), []float64{5, 6, 7, 8.0625})
	if verdicts[1].Gate != "G3" {
		t.Errorf("one ulp off: %v %s", verdicts[1].Status, verdicts[1].Gate)
	}
}
