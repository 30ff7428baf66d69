package nsa_compressed

import (
	"math"
	"slices"
	"testing"

	"triad/internal/op"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

// plainly returns o, lse, grad_q, grad_k and grad_v by the definition in fp64, pair after pair; without
// grad_o the first two alone.
func plainly(c op.Case, in truth.Inputs) (out [5][]float64) {
	value := func(name string) []float64 { return in.Get(name).Float64s() }
	dim := func(name string) int { return int(c.Dims.Get(name)) }
	q, k, v, do := value("q"), value("k"), value("v"), []float64{}
	if t := in.Get("grad_o"); t.Data != nil {
		do = t.Float64s()
	}
	seq, heads, n, nV := dim("seq"), dim("heads"), dim("head_dim"), dim("head_dim_v")
	size, scale := int(c.Attrs.Number("block_size")), c.Attrs.Number("scale")
	rows, blocks := dim("batch")*seq*heads, int(in.Get("k").Shape[1])
	for i, length := range []int{rows * nV, rows, len(q), len(k), len(v)} {
		out[i] = make([]float64, length)
	}
	dot := func(x, y []float64) (sum float64) {
		for i, a := range x {
			sum += a * y[i]
		}
		return sum
	}
	for row := range rows {
		b, t, h := row/heads/seq, row/heads%seq, row%heads/(heads/dim("heads_kv"))
		key := func(block int) int { return (b*blocks+block)*dim("heads_kv") + h }
		var weights []float64
		total := 0.0
		for block := range blocks {
			if (block+1)*size-1 > t {
				continue
			}
			weights = append(weights, math.Exp(scale*dot(q[row*n:][:n], k[key(block)*n:])))
			total += weights[block]
		}
		out[1][row] = math.Log(total)
		if total == 0 && c.Attrs.Text("empty_lse") == "zero" {
			out[1][row] = 0
		}
		o := out[0][row*nV:][:nV]
		for block, w := range weights {
			truth.Axpy(o, w/total, v[key(block)*nV:][:nV])
		}
		if len(do) == 0 {
			continue
		}
		g := do[row*nV:][:nV]
		delta := dot(g, o)
		for block, w := range weights {
			p, at := w/total, key(block)
			ds := scale * p * (dot(g, v[at*nV:]) - delta)
			truth.Axpy(out[2][row*n:][:n], ds, k[at*n:][:n])
			truth.Axpy(out[3][at*n:][:n], ds, q[row*n:][:n])
			truth.Axpy(out[4][at*nV:][:nV], p, g)
		}
	}
	return out
}

func caseOf(t *testing.T, pass op.Pass, size, empty string) (op.Case, truth.Inputs) {
	t.Helper()
	o, err := truth.Get("nsa_compressed")
	if err != nil {
		t.Fatal(err)
	}
	c, err := o.Spec.NewCase(op.Case{
		Pass: pass, DType: "bf16", Distribution: "normal",
		Saved: map[op.Pass]string{op.Backward: "own"}[pass],
	}, map[string]int64{
		"batch": 2, "seq": 43, "heads": 6, "heads_kv": 2, "head_dim": 12, "head_dim_v": 7,
	}, map[string]string{"block_size": size, "scale": "-0.4", "empty_lse": empty})
	if err != nil {
		t.Fatal(err)
	}
	return c, truthtest.CaseInputs(t, o.Spec, c, 5)
}

// TestTruthIsTheFormula: R is what the definition says, pair by pair, of whole outputs and of a sample.
func TestTruthIsTheFormula(t *testing.T) {
	empties := map[string]string{"1": "zero", "5": "neg_inf", "6": "zero", "43": "neg_inf", "64": "zero"}
	for size, empty := range empties {
		for _, pass := range []op.Pass{op.Forward, op.Backward} {
			c, in := caseOf(t, pass, size, empty)
			want := plainly(c, in)
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
						if r != v && !(math.Abs(r-v) <= 1e-12*(1+math.Abs(v))) {
							t.Fatalf("blocks of %s: %s[%d] is %v, want %v", size, target.Name, at, r, v)
						}
					}
				}
			}
		}
	}
}

// TestNothingToSee: queries before the end of the first block have rows of 0 and the attribute's lse,
// exactly, and no gradient; the block that is not whole has none either. The others have an error bound.
func TestNothingToSee(t *testing.T) {
	for _, empty := range []string{"neg_inf", "zero"} {
		for _, pass := range []op.Pass{op.Forward, op.Backward} {
			c, in := caseOf(t, pass, "5", empty)
			found := truthtest.TruthFor(t, c, "p16", in).Outputs
			for _, target := range found {
				each := int(target.Elements() / (2 * target.Shape[1]))
				blind, last := each*4, each*int(target.Shape[1]) // of the first sequence
				switch target.Name {
				case "lse":
					want := map[string]float64{"neg_inf": math.Inf(-1), "zero": 0}[empty]
					if target.R[blind-1] != want || target.T[blind-1] != 0 || target.Sim[blind-1] != want {
						t.Errorf("lse of nothing is %v +- %v", target.R[blind-1], target.T[blind-1])
					}
				case "o", "grad_q":
					for at := range blind {
						truthtest.ExactlyZero(t, target.Name, target, at)
					}
				default:
					for at := range each {
						truthtest.ExactlyZero(t, target.Name, target, last-each+at)
					}
					blind = 0
				}
				if target.T[blind] == 0 && target.T[blind+each] == 0 {
					t.Errorf("%s has no error bound", target.Name)
				}
			}
		}
	}
}
