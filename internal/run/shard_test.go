package run

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/truth"
)

// TestShardsPartAPlan: every case is in exactly one shard, for any number of shards, and the same one each
// time. The work of two shards differs by at most the costliest case.
func TestShardsPartAPlan(t *testing.T) {
	o := faked(t)
	f := fakes(map[string]way{"fake/right": right, "fake/zeros": zeros})
	r := &Runner{Backends: []backend.Backend{f}, Stop: context.Background()}
	plan := func(s Shard) []PlannedCase {
		p, err := r.PlanCompare(t.Context(), Request{
			Operators: []*truth.Operator{o}, Seed: 1, Shard: s, OnlyPlan: true,
			Options: op.Options{Level: op.LevelQuick, DTypes: []string{"fp32", "bf16"}},
		})
		var empty *op.UsageError
		if errors.As(err, &empty) && s.Of > 20 && strings.Contains(err.Error(), "has no case: the plan has") {
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		return casesOf(t, p)
	}
	whole := plan(Shard{})
	lines := planned(t, whole)
	slices.Sort(lines)
	costliest := 0.0
	for _, c := range whole {
		costliest = max(costliest, c.Work())
	}
	for _, n := range []int{1, 2, 3, 7, len(whole), len(whole) + 5} {
		var union []string
		most, least := 0.0, -1.0
		for i := 1; i <= n; i++ {
			part := plan(Shard{i, n})
			work := 0.0
			for _, c := range part {
				work += c.Work()
			}
			most = max(most, work)
			if least < 0 || work < least {
				least = work
			}
			union = append(union, planned(t, part)...)
			if again := planned(t, plan(Shard{i, n})); !slices.Equal(again, planned(t, part)) {
				t.Errorf("shard %d of %d is another the second time", i, n)
			}
		}
		slices.Sort(union)
		if !slices.Equal(union, lines) {
			t.Errorf("%d shards run %d of %d", n, len(union), len(lines))
		}
		if most-least > costliest {
			t.Errorf("%d shards: work from %g to %g, the costliest case has %g", n, least, most, costliest)
		}
	}
}

// TestAShardAsksWhatTheWholeAsks: which cases are launched more often is decided on the whole plan: a shard
// asks the same.
func TestAShardAsksWhatTheWholeAsks(t *testing.T) {
	o := faked(t)
	f := fakes(map[string]way{"fake/right": right})
	r := &Runner{Backends: []backend.Backend{f}, Stop: context.Background()}
	request := Request{
		Operators: []*truth.Operator{o}, Seed: 1, Gradients: true, OnlyPlan: true,
		Options: op.Options{Level: op.LevelQuick, DTypes: []string{"fp32"}},
	}
	asks := func(cases []PlannedCase) map[string][]string {
		all := map[string][]string{}
		for _, c := range cases {
			if all[c.Key()] = c.Relations; c.Moderate {
				all[c.Key()] = append(slices.Clone(c.Relations), "moderate")
			}
		}
		return all
	}
	whole, err := r.PlanCompare(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	want, asked := asks(casesOf(t, whole)), 0
	for i := range 4 {
		request.Shard = Shard{i + 1, 4}
		part, err := r.PlanCompare(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		for key, relations := range asks(casesOf(t, part)) {
			asked += len(relations)
			if !slices.Equal(relations, want[key]) {
				t.Errorf("case %s: %v, in the whole plan %v", key, relations, want[key])
			}
		}
	}
	if asked == 0 {
		t.Error("nothing is asked of any case: nothing is proven")
	}
}
