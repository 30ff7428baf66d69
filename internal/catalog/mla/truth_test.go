package mla

import (
	"math"
	"slices"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

// plainly is the definition in fp64 by loops, query after query and key after key.
type plainly struct {
	q, kv, do             []float64
	o, lse                []float64 // given to a backward
	batch, queries, heads int
	keys, n, nV           int
	scale                 float64
	causal                bool
}

func plainlyOf(c op.Case, in truth.Inputs) plainly {
	p := plainly{
		q: in.Get("q").Float64s(), kv: in.Get("kv").Float64s(), batch: int(c.Dims.Get("batch")),
		queries: int(c.Dims.Get("seq_q")), heads: int(c.Dims.Get("heads")), keys: int(c.Dims.Get("seq_kv")),
		n: int(c.Dims.Get("head_dim")), nV: int(c.Attrs.Number("head_dim_v")),
		scale: c.Attrs.Number("scale"), causal: c.Attrs.Number("causal") != 0,
	}
	if t := in.Get("grad_o"); t.Data != nil {
		p.do = t.Float64s()
	}
	if t := in.Get("o"); t.Data != nil {
		p.o, p.lse = t.Float64s(), in.Get("lse").Float64s()
	}
	return p
}

func dot(x, y []float64) (sum float64) {
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}

// results returns o, lse, grad_q, grad_kv, and the part of grad_kv that belongs to the values.
func (p plainly) results() [5][]float64 {
	rows := p.batch * p.queries * p.heads
	o, lse := make([]float64, rows*p.nV), make([]float64, rows)
	dq, dkv, dv := make([]float64, len(p.q)), make([]float64, len(p.kv)), make([]float64, len(p.kv))
	for row := range rows {
		b, i, h := row/p.heads/p.queries, row/p.heads%p.queries, row%p.heads
		q, out := p.q[row*p.n:][:p.n], o[row*p.nV:][:p.nV]
		var weights []float64
		total := 0.0
		for j := 0; j < p.keys && (!p.causal || j <= i+p.keys-p.queries); j++ {
			weights = append(weights, math.Exp(p.scale*dot(q, p.kv[(b*p.keys+j)*p.n:][:p.n])))
			total += weights[j]
		}
		lse[(b*p.heads+h)*p.queries+i] = math.Log(total)
		for j, w := range weights {
			truth.Axpy(out, w/total, p.kv[(b*p.keys+j)*p.n:][:p.nV])
		}
		if p.do == nil {
			continue
		}
		if p.o != nil {
			out, total = p.o[row*p.nV:][:p.nV], math.Exp(p.lse[(b*p.heads+h)*p.queries+i])
		}
		do := p.do[row*p.nV:][:p.nV]
		delta := dot(do, out)
		for j, w := range weights {
			at := (b*p.keys + j) * p.n
			ds := p.scale * w / total * (dot(do, p.kv[at:][:p.nV]) - delta)
			truth.Axpy(dq[row*p.n:][:p.n], ds, p.kv[at:][:p.n])
			truth.Axpy(dkv[at:][:p.n], ds, q)
			truth.Axpy(dkv[at:][:p.nV], w/total, do)
			truth.Axpy(dv[at:][:p.nV], w/total, do)
		}
	}
	return [5][]float64{o, lse, dq, dkv, dv}
}

// own names what each pass is given besides the operator's inputs: a backward has its own forward.
var own = map[op.Pass]string{op.Backward: "own"}

// TestTruthIsTheFormula: R is what the definition says, by plain loops, of whole outputs and of a sample.
func TestTruthIsTheFormula(t *testing.T) {
	o, err := truth.Get("mla")
	if err != nil {
		t.Fatal(err)
	}
	dims := map[string]int64{"batch": 2, "seq_q": 19, "heads": 3, "head_dim": 12, "seq_kv": 40}
	for _, attributes := range []map[string]string{
		{"causal": "true", "head_dim_v": "7"}, {"causal": "false", "head_dim_v": "12", "scale": "-0.4"},
	} {
		for _, pass := range []op.Pass{op.Forward, op.Backward} {
			c, err := o.Spec.NewCase(op.Case{
				Pass: pass, DType: "bf16", Distribution: "normal", Saved: own[pass],
			}, dims, attributes)
			if err != nil {
				t.Fatal(err)
			}
			in := truthtest.CaseInputs(t, o.Spec, c, 5)
			want := plainlyOf(c, in).results()
			for _, sample := range []*truth.Sample{nil, {Rows: 7, Seed: 3}} {
				found, err := truth.Of(c, "p16", in, sample)
				if err != nil {
					t.Fatal(err)
				}
				for i, target := range found.Outputs {
					if sample == nil && target.Index != nil || !slices.IsSorted(target.Index) {
						t.Errorf("%s: sample %v, index %v", target.Name, sample, target.Index)
					}
					for x, r := range target.R {
						at := truth.PlaceOf(target.Index, int64(x))
						v := want[map[op.Pass]int{op.Forward: 0, op.Backward: 2}[pass]+i][at]
						if !(math.Abs(r-v) <= 1e-12*(1+math.Abs(v))) {
							t.Fatalf("%v %s[%d] is %v, want %v", attributes, target.Name, at, r, v)
						}
					}
				}
			}
		}
	}
}

// TestNothingToSee: rows of queries before the first key are 0 and -inf, exactly, and have no gradient; a key
// that no query sees has none either.
func TestNothingToSee(t *testing.T) {
	o, err := truth.Get("mla")
	if err != nil {
		t.Fatal(err)
	}
	dims := map[string]int64{"batch": 1, "seq_q": 5, "heads": 2, "head_dim": 6, "seq_kv": 3}
	for _, pass := range []op.Pass{op.Forward, op.Backward} {
		c, err := o.Spec.NewCase(op.Case{
			Pass: pass, DType: "bf16", Distribution: "normal", Saved: own[pass],
		}, dims, map[string]string{"causal": "true", "head_dim_v": "4"})
		if err != nil {
			t.Fatal(err)
		}
		found := truthtest.TruthFor(t, c, "p16", truthtest.CaseInputs(t, o.Spec, c, 2))
		first := map[op.Pass]int{op.Forward: 2 * 2 * 4, op.Backward: 2 * 2 * 6}[pass] // of the third query
		for at := range first {
			truthtest.ExactlyZero(t, "a query that sees no key", found.Outputs[0], at)
		}
		if pass == op.Forward && found.Outputs[0].T[first] == 0 {
			t.Error("the first query with a key has no error bound")
		}
		if lse := found.Outputs[1]; pass == op.Forward && !(math.IsInf(lse.R[1], -1) && lse.T[1] == 0) {
			t.Errorf("lse of a query that sees no key is %v +- %v", lse.R[1], lse.T[1])
		}
	}
}

// TestRoundedOnce: the gradient of a latent row is rounded after both of its parts have been added: where
// each is rounded before, it is rejected.
func TestRoundedOnce(t *testing.T) {
	o, err := truth.Get("mla")
	if err != nil {
		t.Fatal(err)
	}
	c, err := o.Spec.NewCase(op.Case{
		Pass: op.Backward, DType: "bf16", Distribution: "normal", Saved: "driver",
	}, map[string]int64{"batch": 1, "seq_q": 33, "heads": 2, "head_dim": 32, "seq_kv": 65},
		map[string]string{"causal": "false", "head_dim_v": "24"})
	if err != nil {
		t.Fatal(err)
	}
	in := truthtest.CaseInputs(t, o.Spec, c, 2)
	known, all := truthtest.TruthFor(t, c, "fp32", in), plainlyOf(c, in).results()
	low := func(x float64) float64 { return tensor.Round(op.BF16, x, false) }
	dq, once, thrice := all[2], truthtest.RoundedTo(op.BF16, all[3]), make([]float64, len(all[3]))
	for i, v := range all[4] {
		thrice[i] = low(low(all[3][i]-v) + low(v))
	}
	truthtest.Accepts(t, "rounded once", truthtest.Judged(known, truthtest.RoundedTo(op.BF16, dq), once))
	truthtest.Rejects(t, "rounded thrice",
		truthtest.Judged(known, truthtest.RoundedTo(op.BF16, dq), thrice))
}
