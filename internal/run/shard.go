package run

import (
	"cmp"
	"fmt"
	"slices"

	"triad/internal/op"
)

// cut reduces a plan to the cases of one shard, in their order; a shard without a case is a usage error. The
// costliest remaining case goes to the shard with the least work, so that all take about equally long. Every
// case is judged and timed in exactly one shard, which follows from the plan alone.
func (p *Plan) cut(s Shard) error {
	if s.Of <= 1 {
		return nil
	}
	cases, err := p.Cases()
	if err != nil {
		return err
	}
	shards := shardsOf(cases, s.Of)
	elsewhere := func(w work) bool { return shards[w.Key()] != s.Index }
	p.judged = slices.DeleteFunc(p.judged, elsewhere)
	p.timed = slices.DeleteFunc(p.timed, func(w timedWork) bool { return elsewhere(w.work) })
	if len(p.judged)+len(p.timed) == 0 {
		return &EmptyShard{s, len(shards)}
	}
	return nil
}

// EmptyShard is the usage error of a shard without a case.
type EmptyShard struct {
	Shard
	Cases int // of the whole plan
}

// Error returns the message.
func (e *EmptyShard) Error() string {
	return fmt.Sprintf("shard %d/%d has no case: the plan has %d; want at most so many shards", e.Index, e.Of,
		e.Cases)
}

// Unwrap returns the error as a usage error.
func (e *EmptyShard) Unwrap() error { return &op.UsageError{Message: e.Error()} }

// shardsOf returns the shard, from 1, of each case by its key.
func shardsOf(cases []PlannedCase, n int) map[string]int {
	work, shards := map[string]float64{}, map[string]int{}
	for _, c := range cases { // one may be in the plan twice: as one that runs, and as one that is skipped
		work[c.Key()] += c.Work()
	}
	keys := make([]string, 0, len(work))
	for key := range work {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(work[b], work[a]), cmp.Compare(a, b))
	})
	load, count := make([]float64, n), make([]int, n)
	for _, key := range keys {
		least := 0
		for i := range n {
			if cmp.Or(cmp.Compare(load[i], load[least]), cmp.Compare(count[i], count[least])) < 0 {
				least = i
			}
		}
		load[least] += work[key]
		count[least]++
		shards[key] = least + 1
	}
	return shards
}
