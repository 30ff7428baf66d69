package flashattention

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"triad/internal/catalog"
	"triad/internal/op"
)

// TestPublishedCasesKeepTheirKeys: the cases of the published session, from before values had a size of their
// own, have the same keys.
func TestPublishedCasesKeepTheirKeys(t *testing.T) {
	t.Parallel()
	o, err := catalog.Get("flash_attention")
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open("../../../results/published/h200/attention.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<26)
	compared := 0
	for lines.Scan() {
		var r struct {
			Op, DType, Layout, Distribution, Upstream, Saved, Case string
			Pass                                                   op.Pass
			Dims                                                   map[string]int64
			Attributes                                             map[string]string
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if r.Op != o.Spec.Name {
			continue
		}
		c, err := o.Spec.NewCase(op.Case{
			Pass: r.Pass, DType: r.DType, Layout: r.Layout, Distribution: r.Distribution,
			Upstream: r.Upstream, Saved: r.Saved,
		}, r.Dims, r.Attributes)
		if err != nil || c.Key() != r.Case {
			t.Fatalf("%v: key %s, error %v, want %s", c, c.Key(), err, r.Case)
		}
		compared++
	}
	if err := lines.Err(); err != nil || compared < 10 {
		t.Errorf("%d cases, error %v", compared, err)
	}
}

// TestPlanKeepsItsCases: what was judged before values had a size of their own still is, but for what no
// longer fits into the level.
func TestPlanKeepsItsCases(t *testing.T) {
	t.Parallel()
	o, err := catalog.Get("flash_attention")
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range []op.Level{op.LevelQuick, op.LevelDefault, op.LevelFull} {
		all, err := o.Spec.Expand(op.Options{Level: level})
		before, errBefore := o.Spec.WithoutImplied().Expand(op.Options{Level: level})
		if err != nil || errBefore != nil {
			t.Fatal(err, errBefore)
		}
		keys := map[string]bool{}
		for _, c := range all.Cases {
			keys[c.Key()] = true
		}
		gone := 0
		for _, c := range before.Cases {
			if !keys[c.Key()] {
				gone++
				t.Logf("%v: %v", level, c)
			}
		}
		if gone > 0 {
			t.Errorf("%v: %d of %d cases are gone", level, gone, len(before.Cases))
		}
	}
}
