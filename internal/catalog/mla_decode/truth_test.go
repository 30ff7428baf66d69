package mla_decode

import (
	"math"
	"testing"

	"triad/internal/op"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

// TestTruthIsTheFormula: R is what the definition says, by plain loops, token after token.
func TestTruthIsTheFormula(t *testing.T) {
	o, err := truth.Get("mla_decode")
	if err != nil {
		t.Fatal(err)
	}
	dims := map[string]int64{"batch": 5, "seq_q": 3, "heads": 2, "head_dim": 12, "seq_kv": 130}
	for _, attributes := range []map[string]string{
		{"causal": "true", "head_dim_v": "7"}, {"causal": "false", "scale": "-0.4", "empty_lse": "neg_inf"},
	} {
		c, err := o.Spec.NewCase(op.Case{Pass: op.Forward, DType: "bf16", Distribution: "normal"}, dims,
			attributes)
		if err != nil {
			t.Fatal(err)
		}
		in := truthtest.CaseInputs(t, o.Spec, c, 5)
		found, err := truth.Of(c, "p16", in, nil)
		if err != nil {
			t.Fatal(err)
		}
		y, lse := definition(c, truth.Inputs(in))
		for i, want := range [][]float64{y, lse} {
			for j, v := range want {
				got := found.Outputs[i].R[j]
				if !(got == v || math.Abs(got-v) <= 1e-13*(1+math.Abs(v))) {
					t.Fatalf("%v: output %d, element %d is %v, want %v", attributes, i, j, got, v)
				}
			}
		}
	}
}

func definition(c op.Case, in truth.Inputs) (o, lse []float64) {
	q, cache := in.Get("q").Float64s(), in.Get("cache").Float64s()
	table, lengths := in.Get("block_table").Float64s(), in.Get("lengths").Float64s()
	queries, heads, n := int(c.Dims.Get("seq_q")), int(c.Dims.Get("heads")), int(c.Dims.Get("head_dim"))
	nV := int(c.Attrs.Number("head_dim_v"))
	o, lse = make([]float64, len(lengths)*queries*heads*nV), make([]float64, len(lengths)*heads*queries)
	for b, length := range lengths {
		for i := range queries {
			for h := range heads {
				row, sum, sums := ((b*queries+i)*heads + h), 0.0, make([]float64, nV)
				for j := range int(length) {
					if c.Attrs.Number("causal") != 0 && j > i+int(length)-queries {
						continue
					}
					block := int(table[b*len(table)/len(lengths)+j/64])
					latent, s := cache[(block*64+j%64)*n:][:n], 0.0
					for x, v := range latent {
						s += q[row*n+x] * v
					}
					w := math.Exp(s * c.Attrs.Number("scale"))
					sum += w
					for x := range sums {
						sums[x] += w * latent[x]
					}
				}
				at := &lse[(b*heads+h)*queries+i]
				if sum == 0 {
					*at = math.Inf(1 - 2*int(c.Attrs.Number("empty_lse")))
					continue
				}
				*at = math.Log(sum)
				for x, v := range sums {
					o[row*nV+x] = v / sum
				}
			}
		}
	}
	return o, lse
}
