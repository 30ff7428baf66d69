package nsa_selected

import (
	"math"
	"slices"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

// plainly returns o, grad_q, grad_k, grad_v, grad_g_slc and grad_g_swa by the definition in fp64, pair after
// pair; without grad_o o alone.
func plainly(c op.Case, in truth.Inputs) (out [6][]float64) {
	value := func(name string) []float64 { return in.Get(name).Float64s() }
	dim := func(name string) int { return int(c.Dims.Get(name)) }
	q, k, v, indices, do := value("q"), value("k"), value("v"), value("indices"), []float64{}
	if t := in.Get("grad_o"); t.Data != nil {
		do = t.Float64s()
	}
	gates := [2][]float64{value("g_slc"), value("g_swa")}
	seq, heads, n, nV, blocks := dim("seq"), dim("heads"), dim("head_dim"), dim("head_dim_v"), dim("selected")
	size, window, scale := int(c.Attrs.Number("block_size")), int(c.Attrs.Number("window")),
		c.Attrs.Number("scale")
	rows := dim("batch") * seq * heads
	for i, length := range []int{rows * nV, len(q), len(k), len(v), rows, rows} {
		out[i] = make([]float64, length)
	}
	dot := func(x, y []float64) (sum float64) {
		for i, a := range x {
			sum += a * y[i]
		}
		return sum
	}
	for row := range rows {
		t, at := row/heads%seq, row/heads*dim("heads_kv")+row%heads/(heads/dim("heads_kv"))
		key := func(j int) int { return at + (j-t)*dim("heads_kv") }
		for branch := range 2 {
			var seen []int
			var weights []float64
			total := 0.0
			for j := range t + 1 {
				if branch == 0 && !slices.Contains(indices[at*blocks:][:blocks], float64(j/size)) ||
					branch == 1 && j <= t-window {
					continue
				}
				seen = append(seen, j)
				weights = append(weights, math.Exp(scale*dot(q[row*n:][:n], k[key(j)*n:])))
				total += weights[len(weights)-1]
			}
			o, gate := make([]float64, nV), gates[branch][row]
			for i, j := range seen {
				truth.Axpy(o, weights[i]/total, v[key(j)*nV:][:nV])
			}
			truth.Axpy(out[0][row*nV:][:nV], gate, o)
			if len(do) == 0 {
				continue
			}
			g := do[row*nV:][:nV]
			delta := dot(g, o)
			out[4+branch][row] = delta
			for i, j := range seen {
				p := gate * weights[i] / total
				ds := scale * p * (dot(g, v[key(j)*nV:]) - delta)
				truth.Axpy(out[1][row*n:][:n], ds, k[key(j)*n:][:n])
				truth.Axpy(out[2][key(j)*n:][:n], ds, q[row*n:][:n])
				truth.Axpy(out[3][key(j)*nV:][:nV], p, g)
			}
		}
	}
	return out
}

func caseOf(t *testing.T, pass op.Pass, window string) (op.Case, truth.Inputs) {
	t.Helper()
	o, err := truth.Get("nsa_selected")
	if err != nil {
		t.Fatal(err)
	}
	c, err := o.Spec.NewCase(op.Case{Pass: pass, DType: "bf16", Distribution: "normal"}, map[string]int64{
		"batch": 2, "seq": 43, "heads": 6, "heads_kv": 2, "head_dim": 12, "head_dim_v": 7, "selected": 3,
	}, map[string]string{"block_size": "5", "window": window, "scale": "-0.4"})
	if err != nil {
		t.Fatal(err)
	}
	return c, truthtest.CaseInputs(t, o.Spec, c, 5)
}

// TestTruthIsTheFormula: R is what the definition says, pair by pair, of whole outputs and of a sample.
func TestTruthIsTheFormula(t *testing.T) {
	for _, window := range []string{"0", "6", "100"} {
		for _, pass := range []op.Pass{op.Forward, op.Backward} {
			c, in := caseOf(t, pass, window)
			want := plainly(c, in)
			for _, sample := range []*truth.Sample{nil, {Rows: 7, Seed: 3}} {
				found, err := truth.Of(c, "p16", in, sample)
				if err != nil {
					t.Fatal(err)
				}
				for i, target := range found.Outputs {
					if sample != nil && target.Index == nil || !slices.IsSorted(target.Index) {
						t.Errorf("%s: sample %v, index %v", target.Name, sample, target.Index)
					}
					for x, r := range target.R {
						at := truth.PlaceOf(target.Index, int64(x))
						v := want[map[op.Pass]int{op.Forward: 0, op.Backward: 1}[pass]+i][at]
						if !(math.Abs(r-v) <= 1e-12*(1+math.Abs(v))) {
							t.Fatalf("window %s: %s[%d] is %v, want %v", window, target.Name, at, r, v)
						}
					}
				}
			}
		}
	}
}

// TestNothingToSee: a query whose blocks are none and whose window is empty has o = 0, exactly, and no
// gradient; a key that no query sees has none either. Where it sees a key there is an error bound.
func TestNothingToSee(t *testing.T) {
	for _, pass := range []op.Pass{op.Forward, op.Backward} {
		c, in := caseOf(t, pass, "0")
		indices := truth.Changed(in.Get("indices"), func(i int64, v float64) float64 {
			if i/6 < 20 { // six blocks a token
				return -1
			}
			return v
		})
		in = in.With([]tensor.Tensor{indices})
		for _, target := range truthtest.TruthFor(t, c, "p16", in).Outputs {
			each := target.Elements() / (2 * 43)
			for at := range each * 20 {
				if target.Name != "grad_k" && target.Name != "grad_v" {
					truthtest.ExactlyZero(t, target.Name, target, int(at))
				}
			}
			bounded := slices.ContainsFunc(target.T[each*20:], func(v float64) bool { return v > 0 })
			if target.Name != "grad_g_swa" && !bounded {
				t.Errorf("%s has no error bound", target.Name)
			}
		}
	}
}
