package attention

import (
	"testing"

	"triad/internal/op"
	"triad/internal/truth"
)

// TestSampledKeysOfFewHeads: where every query of a head has to be computed for one key's gradient, keys come
// from as many heads as that allows, from at least one, and always from the last.
func TestSampledKeysOfFewHeads(t *testing.T) {
	const heads, seq = 16, 300
	for most := int64(1); most <= heads; most++ {
		keys := (&truth.Sample{Rows: 20, Seed: 77}).Within(heads, seq, most)
		found := map[int64]bool{}
		last := int64(-1)
		for _, k := range keys {
			if k <= last {
				t.Fatalf("keys %v do not rise", keys)
			}
			last = k
			found[k/seq] = true
		}
		if int64(len(found)) > most || !found[heads-1] || last != heads*seq-1 || len(keys) < truth.TailRows {
			t.Errorf("%d keys of %d heads, want at most %d and the last", len(keys), len(found), most)
		}
	}
	if keys := (&truth.Sample{Rows: 20, Seed: 77}).Within(heads, 10, 2); len(keys) != 20 {
		t.Errorf("%d keys of two heads of 10", len(keys))
	}
	b := &gradients{attention: &attention{
		batch: 1, headsQ: 16, headsKV: 16, seqQ: 1 << 14, seqKV: 1 << 14,
		n: 128, nV: 128, d: op.BF16,
	}}
	k := &truth.Request{Sample: &truth.Sample{Rows: 20, Seed: 1}}
	if b.choose(k); len(b.columns) != 1 {
		t.Errorf("chained: keys of %d heads, want one", len(b.columns))
	}
	b.given = true
	if b.choose(k); len(b.columns) < 4 {
		t.Errorf("given o and lse: keys of %d heads, want most of them", len(b.columns))
	}
}

// TestSampledKeysOfALargeHead: where one head is too large, keys that few queries see are judged, and no
// query that sees none of them is looked at.
func TestSampledKeysOfALargeHead(t *testing.T) {
	for batch := int64(1); batch < 3; batch++ {
		b := &gradients{attention: &attention{
			batch: batch, headsQ: 128, headsKV: 1, seqQ: 4096, seqKV: 4096, n: 576, nV: 512, d: op.BF16,
			causal: true,
		}}
		b.choose(&truth.Request{Sample: &truth.Sample{Rows: 20, Seed: 1}})
		rows := b.columns[batch-1].rows
		if len(b.columns) != 1 || len(rows) < truth.TailRows || rows[len(rows)-1] != 4095 {
			t.Fatalf("keys %v of %d heads, want a tail of the last", rows, len(b.columns))
		}
		first := b.firstSeeing(rows[0])
		if pairs := b.headsQ * (b.seqQ - first) * b.seqKV * b.n; first == 0 || pairs > mostOfOne {
			t.Errorf("queries from %d on: %d pairs, want at most %d", first, pairs, mostOfOne)
		}
	}
	for _, c := range []struct {
		queries, keys int64
		causal        bool
	}{{7, 7, true}, {9, 4, true}, {4, 9, true}, {5, 6, false}} {
		b := &gradients{attention: &attention{seqQ: c.queries, seqKV: c.keys, causal: c.causal}}
		for j := range c.keys {
			for i := range c.queries {
				if sees := b.visible(i) > j; sees != (i >= b.firstSeeing(j)) {
					t.Errorf("%+v: query %d sees key %d: %v, first is %d", c, i, j, sees, b.firstSeeing(j))
				}
			}
		}
	}
}

// TestFewQueriesAreNoStatisticOfGradients: one query over many keys has enough pairs, but its gradients share
// one delta: G4 does not apply to them. It rejected torch/eager there.
func TestFewQueriesAreNoStatisticOfGradients(t *testing.T) {
	for _, c := range []struct {
		group, queries, keys int64
		forward, gradients   bool
	}{
		{1, 1, 300, false, true},
		{16, 1, 300, false, false},
		{1, 16, 16, false, false},
		{4, 128, 8, true, true},
	} {
		forward := Few(op.Forward, c.group, c.queries, c.keys, false)
		gradients := Few(op.Backward, c.group, c.queries, c.keys, false)
		if forward != c.forward || gradients != c.gradients {
			t.Errorf("%+v: few %v, for gradients %v", c, forward, gradients)
		}
	}
}
