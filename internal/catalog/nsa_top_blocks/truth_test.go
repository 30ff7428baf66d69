package nsa_top_blocks

import (
	"math"
	"slices"
	"testing"

	"triad/internal/op"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

// plainly returns the scores of the blocks that a query may choose by the definition in fp64: -1 of the
// others.
func plainly(c op.Case, in truth.Inputs) (score [][]float64) {
	dim := func(name string) int { return int(c.Dims.Get(name)) }
	q, k := in.Get("q").Float64s(), in.Get("k").Float64s()
	seq, n := dim("seq"), dim("head_dim")
	size, scale := int(c.Attrs.Number("block_size")), c.Attrs.Number("scale")
	headsKV, group, blocks := dim("heads_kv"), dim("heads")/dim("heads_kv"), int(in.Get("k").Shape[1])
	for row := range dim("batch") * seq * headsKV {
		b, t, h := row/headsKV/seq, row/headsKV%seq, row%headsKV
		sum := make([]float64, blocks)
		for g := range group {
			weights := make([]float64, blocks)
			total := 0.0
			for block := range blocks {
				if (block+1)*size-1 > t {
					continue
				}
				dot := 0.0
				for x := range n {
					dot += q[((b*seq+t)*dim("heads")+h*group+g)*n+x] * k[((b*blocks+block)*headsKV+h)*n+x]
				}
				weights[block] = math.Exp(scale * dot)
				total += weights[block]
			}
			for block, w := range weights {
				if w > 0 {
					sum[block] += w / total / float64(group)
				}
			}
		}
		own := t / size
		for block := range sum {
			near := c.Attrs.Text("forced") != "own" && (block == 0 || block == own-1)
			switch {
			case block > own:
				sum[block] = -1
			case block == own || near:
				sum[block] = 1
			}
		}
		score = append(score, sum)
	}
	return score
}

// TestTruthIsTheFormula: scores are those of the definition, within narrow bounds, and the best blocks have
// the largest; of whole outputs and of a sample.
func TestTruthIsTheFormula(t *testing.T) {
	o, err := truth.Get("nsa_top_blocks")
	if err != nil {
		t.Fatal(err)
	}
	for _, attributes := range []map[string]string{
		{"block_size": "1", "selected": "50"},
		{"block_size": "5", "selected": "3", "forced": "own", "scale": "-0.4"},
		{"block_size": "43", "selected": "2"},
		{"block_size": "64", "selected": "1"},
	} {
		c, err := o.Spec.NewCase(op.Case{Pass: op.Forward, DType: "bf16", Distribution: "normal"},
			map[string]int64{"batch": 2, "seq": 43, "heads": 6, "heads_kv": 2, "head_dim": 12}, attributes)
		if err != nil {
			t.Fatal(err)
		}
		in := truthtest.CaseInputs(t, o.Spec, c, 5)
		want, places := plainly(c, in), int(c.Attrs.Number("selected"))
		for _, sample := range []*truth.Sample{nil, {Rows: 7, Seed: 3}} {
			found, err := truth.Of(c, "fp32", in, sample)
			if err != nil {
				t.Fatal(err)
			}
			target := found.Outputs[0]
			for i := range len(target.R) / places {
				row := truth.PlaceOf(target.Index, int64(i*places)) / int64(places)
				score, bounds := target.Choice.Scores(row), target.Choice.Bounds(row)
				for block, w := range want[row] {
					low, high := bounds(int64(block))
					if r := score(int64(block)); !(math.Abs(r-w) <= 1e-12) || !(low <= w && w <= high) ||
						!(high-low <= 1e-4) {
						t.Fatalf("%v: score %d of row %d is %v in [%v, %v], want %v", attributes, block, row,
							r, low, high, w)
					}
				}
				sorted := slices.Sorted(slices.Values(want[row]))
				for p, block := range target.R[i*places:][:places] {
					best := -1.0
					if p < len(sorted) {
						best = sorted[len(sorted)-1-p]
					}
					if best < 0 && block != -1 || best >= 0 && want[row][int(block)] < best-1e-12 {
						t.Fatalf("%v: place %d of row %d is %v", attributes, p, row, block)
					}
				}
			}
		}
	}
}
