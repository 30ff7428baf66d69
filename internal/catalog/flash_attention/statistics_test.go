package flashattention

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"triad/internal/op"
	"triad/internal/truth"
	"triad/internal/truth/attention"
	"triad/internal/truth/truthtest"
)

// TestStatisticsNeedPairs measures the basis of fewPairs, fewKeys and fewQueries: how near right kernels come
// to the limit of G4 on normal data with so many queries and keys. Where they are not few, none may be
// rejected. TRIAD_STATISTICS_SEEDS=n takes n seeds.
func TestStatisticsNeedPairs(t *testing.T) {
	seeds := statisticsSeeds(t)
	var few, enough g4
	for _, pass := range []op.Pass{op.Forward, op.Backward} {
		for _, queries := range []int64{1, 3, 16, 40, 128} {
			for _, keys := range []int64{2, 4, 8, 16, 32, 128, 300} {
				for _, causal := range []string{"false", "true"} {
					found := askedAnyway(t, pass, "normal", map[string]string{"causal": causal},
						map[string]int64{
							"batch": 1, "heads_q": 1, "heads_kv": 1, "seq_q": queries, "seq_kv": keys,
							"head_dim": 64,
						}, seeds)
					if attention.Few(pass, 1, queries, keys, causal == "true") {
						few.join(found)
						continue
					}
					enough.join(found)
				}
			}
		}
	}
	t.Logf("few pairs or keys: %v", few)
	t.Logf("enough of them: %v", enough)
	if enough.rejected > 0 || enough.asked == 0 {
		t.Errorf("where pairs and keys are enough: %v: want none rejected", enough)
	}
}

// TestStatisticsNeedPlainLogits measures the same for the distributions that G4 leaves out where logits are
// products: some right kernels are rejected on these, and none comes near the limit on normal data.
func TestStatisticsNeedPlainLogits(t *testing.T) {
	seeds := statisticsSeeds(t)
	for _, distribution := range []string{"normal", "scaled", "late_max", "row_offsets"} {
		var found g4
		for _, pass := range []op.Pass{op.Forward, op.Backward} {
			for _, causal := range []string{"false", "true"} {
				found.join(askedAnyway(t, pass, distribution, map[string]string{"causal": causal},
					map[string]int64{
						"batch": 1, "heads_q": 2, "heads_kv": 1, "seq_q": 33, "seq_kv": 65, "head_dim": 32,
					}, seeds))
				found.join(askedAnyway(t, pass, distribution, map[string]string{"causal": causal},
					map[string]int64{
						"batch": 2, "heads_q": 4, "heads_kv": 2, "seq_q": 32, "seq_kv": 32, "head_dim": 64,
					}, seeds))
			}
		}
		t.Logf("%s: %v", distribution, found)
		if distribution == "normal" && found.rejected > 0 {
			t.Errorf("normal data: %v: want none rejected", found)
		}
	}
}

// g4 counts the results of gate G4 for right kernels.
type g4 struct {
	asked, rejected int
	furthest        float64 // largest root mean square error as a share of its limit
}

func (g *g4) join(o g4) {
	g.asked, g.rejected, g.furthest = g.asked+o.asked, g.rejected+o.rejected, math.Max(g.furthest, o.furthest)
}

func (g g4) String() string {
	return fmt.Sprintf("%d of %d outputs of right kernels are rejected, the largest error is %.3f of its "+
		"limit", g.rejected, g.asked, g.furthest)
}

func statisticsSeeds(t *testing.T) int {
	text := os.Getenv("TRIAD_STATISTICS_SEEDS")
	if text == "" {
		return 1
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("TRIAD_STATISTICS_SEEDS=%q: want a number of seeds", text)
	}
	return n
}

// askedAnyway applies G4 to the outputs of right attention kernels, whether or not it applies to such data.
func askedAnyway(t *testing.T, pass op.Pass, distribution string, attributes map[string]string,
	dims map[string]int64, seeds int,
) (found g4) {
	t.Helper()
	o, err := truth.Get("flash_attention")
	if err != nil {
		t.Fatal(err)
	}
	s := suites[slices.IndexFunc(suites, func(s truthtest.Suite) bool { return s.Pass == pass })]
	saved := []string{""}
	if pass == op.Backward {
		saved = []string{"driver", "own"}
	}
	for seed := range uint64(seeds) {
		for _, dtype := range []string{"bf16", "fp16"} {
			for _, from := range saved {
				c, err := o.Spec.NewCase(op.Case{
					Pass: pass, DType: dtype, Saved: from,
					Distribution: distribution,
				}, dims, attributes)
				if err != nil {
					t.Fatal(err)
				}
				p := truthtest.PrepareCase(t, s, o.Spec, c, 1000+seed)
				for i := range p.Truth.Outputs {
					p.Truth.Outputs[i].Independent = true
				}
				for _, a := range s.Right {
					verdicts, _ := p.Judged(s.Kernel(a, p))
					for _, v := range verdicts {
						if v.RMS.Blocks == 0 || v.RMS.Error == 0 {
							continue
						}
						one := g4{asked: 1, furthest: v.RMS.Error / v.RMS.Limit}
						if !v.RMS.Accepted() {
							one.rejected = 1
						}
						found.join(one)
					}
				}
			}
		}
	}
	return found
}
