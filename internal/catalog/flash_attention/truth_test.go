package flashattention

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

type sizes struct{ batch, headsQ, headsKV, seqQ, seqKV, dim int64 }

func (s sizes) of(p op.Pass, d op.DType, causal bool, saved string) op.Case {
	c := op.Case{
		Op: "flash_attention", Pass: p, DType: d.String(), Distribution: "normal", Saved: saved,
		Attrs: op.Attrs{
			{Name: "causal", Text: fmt.Sprint(causal)},
			{Name: "scale", Number: truthtest.F32(1 / math.Sqrt(float64(s.dim)))},
		},
	}
	if causal {
		c.Attrs[0].Number = 1
	}
	return c
}

// inputs draws q, k, v and grad_o.
func (s sizes) inputs(r *rand.Rand, d op.DType, sigma float64) (q, k, v, do tensor.Tensor) {
	q = truthtest.NormalTensor(r, "q", d, 0, sigma, s.batch, s.headsQ, s.seqQ, s.dim)
	k = truthtest.NormalTensor(r, "k", d, 0, sigma, s.batch, s.headsKV, s.seqKV, s.dim)
	v = truthtest.NormalTensor(r, "v", d, 0, 1, s.batch, s.headsKV, s.seqKV, s.dim)
	do = truthtest.NormalTensor(r, "grad_o", d, 0, 1, s.batch, s.headsQ, s.seqQ, s.dim)
	return q, k, v, do
}

// kernel32 computes attention by plain loops in fp32. weight stores P and dS; the fields plant bugs.
type kernel32 struct {
	sizes
	causal, topLeft bool
	weight          func(float64) float64
	scale           float64
	noDelta         bool
	lowAfter        bool // P is stored after it is normalised
	unscaledQ       bool
	lastHeadOnly    bool
}

func (a kernel32) sees(i, j int64) bool {
	if a.topLeft {
		return !a.causal || j <= i
	}
	return !a.causal || j <= i+a.seqKV-a.seqQ
}

func (a kernel32) row(x []float64, head, i, seq int64) []float64 {
	at := (head*seq + i) * a.dim
	return x[at : at+a.dim]
}

func (a kernel32) kv(head int64) int64 {
	return head/a.headsQ*a.headsKV + head%a.headsQ/(a.headsQ/a.headsKV)
}

func dot32(x, y []float64) float64 {
	return truthtest.Sum32(1, len(x), func(i int) float64 { return truthtest.F32(x[i] * y[i]) })
}

func (a kernel32) forward(q, k, v []float64) (o, lse []float64) {
	for head := range a.batch * a.headsQ {
		for i := range a.seqQ {
			s, m := make([]float64, a.seqKV), math.Inf(-1)
			for j := range s {
				s[j] = math.Inf(-1)
				if a.sees(i, int64(j)) {
					s[j] = truthtest.F32(a.scale * dot32(a.row(q, head, i, a.seqQ),
						a.row(k, a.kv(head), int64(j), a.seqKV)))
				}
				m = math.Max(m, s[j])
			}
			out := make([]float64, a.dim)
			if math.IsInf(m, -1) {
				o, lse = append(o, out...), append(lse, m)
				continue
			}
			l := truthtest.Sum32(1, len(s),
				func(j int) float64 { return truthtest.F32(math.Exp(truthtest.F32(s[j] - m))) })
			for c := range out {
				if a.lowAfter {
					out[c] = truthtest.Sum32(0, len(s), func(j int) float64 {
						return a.weight(truthtest.F32(math.Exp(s[j]-m))/l) * a.row(v, a.kv(head),
							int64(j), a.seqKV)[c]
					})
					continue
				}
				out[c] = truthtest.F32(truthtest.Sum32(0, len(s), func(j int) float64 {
					return a.weight(truthtest.F32(math.Exp(s[j]-m))) * a.row(v, a.kv(head),
						int64(j), a.seqKV)[c]
				}) / l)
			}
			o, lse = append(o, out...), append(lse, truthtest.F32(m+truthtest.F32(math.Log(l))))
		}
	}
	return o, lse
}

func (a kernel32) backward(q, k, v, o, lse, do []float64) (dq, dk, dv []float64) {
	dq, dk, dv = make([]float64, len(q)), make([]float64, len(k)), make([]float64, len(v))
	for head := range a.batch * a.headsQ {
		for i := range a.seqQ {
			qi, g := a.row(q, head, i, a.seqQ), a.row(do, head, i, a.seqQ)
			delta := dot32(g, a.row(o, head, i, a.seqQ))
			if a.noDelta {
				delta = 0
			}
			base := lse[head*a.seqQ+i]
			for j := range a.seqKV {
				if !a.sees(i, j) || math.IsInf(base, -1) {
					continue
				}
				kj, vj := a.row(k, a.kv(head), j, a.seqKV), a.row(v, a.kv(head), j, a.seqKV)
				p := truthtest.F32(math.Exp(truthtest.F32(truthtest.F32(a.scale*dot32(qi, kj)) - base)))
				ds := a.weight(truthtest.F32(p * truthtest.F32(dot32(g, vj)-delta)))
				scale := a.scale
				if a.unscaledQ {
					scale = 1
				}
				for c := range a.dim {
					at := (head*a.seqQ+i)*a.dim + c
					dq[at] = truthtest.F32(dq[at] + truthtest.F32(scale*truthtest.F32(ds*kj[c])))
					if a.lastHeadOnly && head%(a.headsQ/a.headsKV) != a.headsQ/a.headsKV-1 {
						continue
					}
					at = (a.kv(head)*a.seqKV+j)*a.dim + c
					dk[at] = truthtest.F32(dk[at] + truthtest.F32(a.scale*truthtest.F32(ds*qi[c])))
					dv[at] = truthtest.F32(dv[at] + a.weight(p)*g[c])
				}
			}
		}
	}
	return dq, dk, dv
}

func TestAcceptsAndRejects(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 6))
	for _, d := range truthtest.LowDTypes {
		contract, weight := "p16", func(x float64) float64 { return tensor.Round(d, x, false) }
		if d == op.FP32 {
			contract, weight = "fp32", truthtest.F32
		}
		for _, s := range []sizes{
			{1, 1, 1, 1, 1, 1}, {2, 4, 2, 33, 65, 16}, {1, 2, 1, 40, 24, 40}, {1, 2, 2, 17, 130, 64},
		} {
			for _, causal := range []bool{false, true} {
				for _, sigma := range []float64{1, 3} {
					what := fmt.Sprintf("%v %+v causal %v sigma %v", d, s, causal, sigma)
					q, k, v, do := s.inputs(r, d, sigma)
					qs, ks, vs, dos := q.Float64s(), k.Float64s(), v.Float64s(), do.Float64s()
					truth := truthtest.TruthFor(t, s.of(op.Forward, d, causal, ""), contract,
						[]tensor.Tensor{q, k, v})
					truthtest.Accepts(t, what+" sim", truthtest.Judged(truth, truthtest.Sims(truth)...))
					kernel := kernel32{
						sizes: s, causal: causal, weight: weight,
						scale: truthtest.F32(1 / math.Sqrt(float64(s.dim))),
					}
					after := kernel
					after.lowAfter = true
					o, lse := kernel.forward(qs, ks, vs)
					truthtest.Accepts(t, what, truthtest.Judged(truth, o, lse))
					oAfter, _ := after.forward(qs, ks, vs)
					truthtest.Accepts(t, what+" normalised first", truthtest.Judged(truth, oAfter, lse))
					os := truthtest.Literal("o", d, truth.Outputs[0].Sim, s.batch, s.headsQ, s.seqQ, s.dim)
					lses := truthtest.Literal("lse", op.FP32, truth.Outputs[1].Sim, s.batch, s.headsQ, s.seqQ)
					given := truthtest.TruthFor(t, s.of(op.Backward, d, causal, "driver"), contract,
						[]tensor.Tensor{q, k, v, os, lses, do})
					simulated := truthtest.Judged(given, truthtest.Sims(given)...)
					truthtest.Accepts(t, what+" driver sim", simulated)
					dq, dk, dv := kernel.backward(qs, ks, vs, os.Float64s(), lses.Float64s(), dos)
					truthtest.Accepts(t, what+" driver", truthtest.Judged(given, dq, dk, dv))
					own := truthtest.TruthFor(t, s.of(op.Backward, d, causal, "own"), contract,
						[]tensor.Tensor{q, k, v, do})
					truthtest.Accepts(t, what+" chained sim", truthtest.Judged(own, truthtest.Sims(own)...))
					dq, dk, dv = kernel.backward(qs, ks, vs, truthtest.RoundedTo(d, o), lse, dos)
					truthtest.Accepts(t, what+" chained", truthtest.Judged(own, dq, dk, dv))
					if s.seqKV < 2 || s.dim == 1 {
						continue
					}
					bugs := plantedBugs{
						what: what, kernel: kernel, truth: truth, given: given,
						q: qs, k: ks, v: vs, o: os.Float64s(), lse: lses.Float64s(), do: dos,
					}
					bugs.areRejected(t)
				}
			}
		}
	}
}

// plantedBugs are changes of a right kernel, with the truths of both passes and its inputs.
type plantedBugs struct {
	what                string
	kernel              kernel32
	truth, given        judge.Truth
	q, k, v, o, lse, do []float64
}

func (p plantedBugs) areRejected(t *testing.T) {
	t.Helper()
	forward := func(bug string, change func(k *kernel32)) {
		wrong := p.kernel
		change(&wrong)
		o, lse := wrong.forward(p.q, p.k, p.v)
		truthtest.Rejects(t, p.what+" "+bug, truthtest.Judged(p.truth, o, lse))
	}
	backward := func(bug string, change func(k *kernel32)) {
		wrong := p.kernel
		change(&wrong)
		dq, dk, dv := wrong.backward(p.q, p.k, p.v, p.o, p.lse, p.do)
		truthtest.Rejects(t, p.what+" "+bug, truthtest.Judged(p.given, dq, dk, dv))
	}
	forward("scale off 1 %", func(k *kernel32) { k.scale *= 1.01 })
	backward("delta missing", func(k *kernel32) { k.noDelta = true })
	backward("dQ unscaled", func(k *kernel32) { k.unscaledQ = true })
	if p.kernel.causal {
		forward("aligned top-left", func(k *kernel32) { k.topLeft = true })
	}
	if p.kernel.headsQ > p.kernel.headsKV {
		backward("group not summed", func(k *kernel32) { k.lastHeadOnly = true })
	}
}

// TestContracts: fp32 inputs through tf32, and weights stored in bf16, pass where they are declared and only
// there.
func TestContracts(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 6))
	s := sizes{1, 2, 2, 33, 65, 64}
	q, k, v, do := s.inputs(r, op.FP32, 1)
	in := []tensor.Tensor{q, k, v}
	forward := s.of(op.Forward, op.FP32, false, "")
	own := truthtest.TruthFor(t, s.of(op.Backward, op.FP32, false, "own"), "tf32", append(in, do))
	rounded := tensor.Format{P: 11, EMin: -126, Max: math.MaxFloat32, Infinity: true}
	for how, one := range map[string]func(float64) float64{
		"rounded": func(x float64) float64 { return rounded.Round(x, false) },
		"dropped": truth.TF32, // as a tensor core reads fp32
	} {
		tf32 := func(x tensor.Tensor) []float64 {
			y := x.Float64s()
			for i := range y {
				y[i] = one(y[i])
			}
			return y
		}
		kernel := kernel32{sizes: s, weight: one, scale: 0.125}
		o, lse := kernel.forward(tf32(q), tf32(k), tf32(v))
		truthtest.Rejects(t, how+" tf32 under fp32",
			truthtest.Judged(truthtest.TruthFor(t, forward, "fp32", in), o, lse))
		declared := truthtest.TruthFor(t, forward, "tf32", in)
		truthtest.Accepts(t, how+" tf32", truthtest.Judged(declared, o, lse))
		dq, dk, dv := kernel.backward(tf32(q), tf32(k), tf32(v), o, lse, tf32(do))
		truthtest.Accepts(t, how+" tf32 backward", truthtest.Judged(own, dq, dk, dv))
	}
	low := func(x float64) float64 { return tensor.Round(op.BF16, x, false) }
	right := kernel32{sizes: s, weight: low, scale: 0.125}
	bf16, lse := right.forward(q.Float64s(), k.Float64s(), v.Float64s())
	truthtest.Rejects(t, "P in bf16 for fp32",
		truthtest.Judged(truthtest.TruthFor(t, forward, "fp32", in), bf16, lse))
}

// eagerComposition computes the written composition: every intermediate stored in the dtype, forward and by
// autograd's rules backward.
func eagerComposition(s sizes, scale float64, low func(float64) float64, q, k, v, do []float64) (o, dq, dk,
	dv []float64,
) {
	a := kernel32{sizes: s}
	dq, dk, dv = make([]float64, len(q)), make([]float64, len(k)), make([]float64, len(v))
	for head := range s.batch * s.headsQ {
		for i := range s.seqQ {
			qi, g := a.row(q, head, i, s.seqQ), a.row(do, head, i, s.seqQ)
			x := make([]float64, s.seqKV)
			for j := range x {
				x[j] = low(scale * low(dot32(qi, a.row(k, a.kv(head), int64(j), s.seqKV))))
			}
			p := truthtest.Softmax32(0, x)
			products, total := make([]float64, len(p)), 0.0
			for j := range p {
				p[j] = low(p[j])
				products[j] = low(p[j] * low(dot32(g, a.row(v, a.kv(head), int64(j), s.seqKV))))
				total = truthtest.F32(total + products[j])
			}
			for c := range s.dim {
				o = append(o, truthtest.Sum32(0, len(p),
					func(j int) float64 { return p[j] * a.row(v, a.kv(head), int64(j), s.seqKV)[c] }))
			}
			for j := range p {
				ds := low(scale * low(products[j]-p[j]*total))
				for c := range s.dim {
					at := (a.kv(head)*s.seqKV+int64(j))*s.dim + c
					dq[(head*s.seqQ+i)*s.dim+c] += ds * k[at]
					dk[at] += ds * qi[c]
					dv[at] += p[j] * g[c]
				}
			}
		}
	}
	return o, dq, dk, dv
}

func TestEager(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 6))
	s := sizes{1, 2, 2, 33, 65, 32}
	for _, d := range []op.DType{op.FP16, op.BF16} {
		for _, sigma := range []float64{0.3, 1, 2} {
			q, k, v, do := s.inputs(r, d, sigma)
			low := func(x float64) float64 { return tensor.Round(d, x, false) }
			o, dq, dk, dv := eagerComposition(s, truthtest.F32(1/math.Sqrt(32)), low, q.Float64s(),
				k.Float64s(), v.Float64s(), do.Float64s())
			in := []tensor.Tensor{q, k, v}
			what := fmt.Sprintf("%v sigma %v", d, sigma)
			eager := truthtest.TruthFor(t, s.of(op.Forward, d, false, ""), "eager", in)
			truthtest.Accepts(t, what, truthtest.Judged(eager, o, eager.Outputs[1].Sim))
			truthtest.Accepts(t, what+" sim", truthtest.Judged(eager, truthtest.Sims(eager)...))
			if sigma > 0.5 {
				strict := truthtest.TruthFor(t, s.of(op.Forward, d, false, ""), "p16", in)
				truthtest.Rejects(t, what+" under p16", truthtest.Judged(strict, o, eager.Outputs[1].Sim))
			}
			own := truthtest.TruthFor(t, s.of(op.Backward, d, false, "own"), "eager", append(in, do))
			truthtest.Accepts(t, what+" backward", truthtest.Judged(own, dq, dk, dv))
			truthtest.Accepts(t, what+" backward sim", truthtest.Judged(own, truthtest.Sims(own)...))
			truthtest.Rejects(t, what+" zeros", truthtest.Judged(eager, make([]float64, len(o)),
				eager.Outputs[1].Sim))
		}
	}
}

// TestEagerDecidedByRounding: scores of 10^5 are stored 512 apart in bf16, so that a key whose exact weight
// is 0 in fp64 may have the largest one.
func TestEagerDecidedByRounding(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 6))
	s, d := sizes{1, 2, 2, 33, 65, 32}, op.BF16
	low := func(x float64) float64 { return tensor.Round(d, x, false) }
	for round := range 4 {
		q, k, v, do := s.inputs(r, d, 300)
		o, dq, dk, dv := eagerComposition(s, truthtest.F32(1/math.Sqrt(32)), low, q.Float64s(), k.Float64s(),
			v.Float64s(), do.Float64s())
		in := []tensor.Tensor{q, k, v}
		what := fmt.Sprintf("round %d", round)
		eager := truthtest.TruthFor(t, s.of(op.Forward, d, false, ""), "eager", in)
		truthtest.Accepts(t, what, truthtest.Judged(eager, o, eager.Outputs[1].Sim))
		own := truthtest.TruthFor(t, s.of(op.Backward, d, false, "own"), "eager", append(in, do))
		truthtest.Accepts(t, what+" backward", truthtest.Judged(own, dq, dk, dv))
	}
}

// TestTF32DecidedByRounding: the same where products read operands as tf32.
func TestTF32DecidedByRounding(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 6))
	s := sizes{1, 2, 2, 33, 65, 32}
	dropped := func(x tensor.Tensor) []float64 {
		values := x.Float64s()
		for i, v := range values {
			values[i] = truth.TF32(v)
		}
		return values
	}
	for round := range 20 {
		q, k, v, do := s.inputs(r, op.FP32, 3000)
		_, dq, dk, dv := eagerComposition(s, truthtest.F32(1/math.Sqrt(32)), truthtest.F32, dropped(q),
			dropped(k), dropped(v), dropped(do))
		own := truthtest.TruthFor(t, s.of(op.Backward, op.FP32, false, "own"), "tf32",
			[]tensor.Tensor{q, k, v, do})
		truthtest.Accepts(t, fmt.Sprintf("round %d", round), truthtest.Judged(own, dq, dk, dv))
	}
}

// TestUnseen: rows that see no key are exactly 0 and -inf, and their gradients are 0 with T = 0.
func TestUnseen(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 6))
	s := sizes{1, 1, 1, 5, 3, 8}
	q, k, v, do := s.inputs(r, op.BF16, 1)
	truth := truthtest.TruthFor(t, s.of(op.Forward, op.BF16, true, ""), "p16", []tensor.Tensor{q, k, v})
	for i := range 16 {
		if truth.Outputs[0].R[i] != 0 || truth.Outputs[0].T[i] != 0 {
			t.Errorf("o[%d]: R = %v, T = %v, want 0", i, truth.Outputs[0].R[i], truth.Outputs[0].T[i])
		}
	}
	if !math.IsInf(truth.Outputs[1].R[1], -1) || math.IsInf(truth.Outputs[1].R[2], 0) {
		t.Errorf("lse = %v", truth.Outputs[1].R)
	}
	own := truthtest.TruthFor(t, s.of(op.Backward, op.BF16, true, "own"), "p16", []tensor.Tensor{q, k, v, do})
	for i := range 16 {
		if own.Outputs[0].R[i] != 0 || own.Outputs[0].T[i] != 0 {
			t.Errorf("grad_q[%d]: R = %v, T = %v, want 0", i, own.Outputs[0].R[i], own.Outputs[0].T[i])
		}
	}
	empty := sizes{1, 1, 1, 2, 0, 8}
	q, k, v, _ = empty.inputs(r, op.BF16, 1)
	truth = truthtest.TruthFor(t, empty.of(op.Forward, op.BF16, false, ""), "p16", []tensor.Tensor{q, k, v})
	truthtest.Accepts(t, "no key", truthtest.Judged(truth, make([]float64, 16),
		[]float64{math.Inf(-1), math.Inf(-1)}))
}

// TestGradient compares the closed form with the complex step of an independent naive attention, grouped
// heads and causal.
func TestGradient(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	s := sizes{1, 4, 2, 5, 7, 6}
	for _, causal := range []bool{false, true} {
		q, k, v, do := s.inputs(r, op.FP32, 1)
		c := s.of(op.Backward, op.FP32, causal, "own")
		truth := truthtest.TruthFor(t, c, "fp32", []tensor.Tensor{q, k, v, do})
		nq, nk := int(q.Elements()), int(k.Elements())
		dos := do.Float64s()
		loss := func(z []complex128) complex128 {
			q, k, v := z[:nq], z[nq:nq+nk], z[nq+nk:]
			total := complex128(0)
			for h := range int(s.headsQ) {
				for i := range int(s.seqQ) {
					sum, dot := complex128(0), complex128(0)
					for j := range int(s.seqKV) {
						if causal && j > i+int(s.seqKV-s.seqQ) {
							continue
						}
						x, w := complex128(0), complex128(0)
						for e := range int(s.dim) {
							row, col := (h*int(s.seqQ)+i)*int(s.dim)+e, (h/2*int(s.seqKV)+j)*int(s.dim)+e
							x += q[row] * k[col]
							w += complex(dos[row], 0) * v[col]
						}
						weight := cmplx.Exp(x * complex(c.Attrs.Number("scale"), 0))
						sum += weight
						dot += weight * w
					}
					total += dot / sum
				}
			}
			return total
		}
		x := append(append(q.Float64s(), k.Float64s()...), v.Float64s()...)
		gradient := append(append(append([]float64(nil), truth.Outputs[0].R...), truth.Outputs[1].R...),
			truth.Outputs[2].R...)
		truthtest.CheckGradient(t, fmt.Sprintf("attention causal %v", causal), r, loss, x, gradient)
	}
}

// TestWeightsBelowFP16: a weight that is divided by l before it is stored may vanish where one that is
// divided afterwards does not. Two keys with v = 0 make l 2; 148 others have weights just above what fp16
// keeps, half of them just below, and o consists of these alone. Both are accepted.
func TestWeightsBelowFP16(t *testing.T) {
	s := sizes{1, 1, 1, 1, 150, 1}
	k, v := make([]float64, s.seqKV), make([]float64, s.seqKV)
	for j := 2; j < len(k); j++ {
		k[j], v[j] = -4.16015625, 100
	}
	q := truthtest.Literal("q", op.FP16, []float64{4}, 1, 1, 1, 1)
	in := []tensor.Tensor{
		q, truthtest.Literal("k", op.FP16, k, 1, 1, s.seqKV, 1),
		truthtest.Literal("v", op.FP16, v, 1, 1, s.seqKV, 1),
	}
	truth := truthtest.TruthFor(t, s.of(op.Forward, op.FP16, false, ""), "p16", in)
	kernel := kernel32{
		sizes:  s,
		weight: func(x float64) float64 { return tensor.Round(op.FP16, x, false) }, scale: 1,
	}
	o, lse := kernel.forward(q.Float64s(), k, v)
	truthtest.Accepts(t, "normalised last", truthtest.Judged(truth, o, lse))
	kernel.lowAfter = true
	after, _ := kernel.forward(q.Float64s(), k, v)
	if after[0] != 0 || !(o[0] > 4e-4) {
		t.Fatalf("o is %v and %v: want a number, and nothing of it where its weights vanish", o[0], after[0])
	}
	truthtest.Accepts(t, "normalised first", truthtest.Judged(truth, after, lse))
}
