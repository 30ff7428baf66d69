package lanes

import (
	"reflect"
	"testing"

	"triad/internal/judgeloop"
	"triad/internal/op"
	"triad/internal/opfolder"
	"triad/internal/problem"
)

// TestGivenSizes: a candidate that is meant for the problem's own sizes is judged at each of them, and at
// nothing else. A folder of an earlier triad names only those that are timed.
func TestGivenSizes(t *testing.T) {
	timed, other := map[string]int64{"m": 7}, map[string]int64{"m": 9}
	spec := &op.Spec{Bench: []op.BenchSpec{{Dims: timed}}}
	chosen := &judged{plan: &problem.Plan{}, folder: &opfolder.Folder{Spec: spec}}
	if got := chosen.sizes(judgeloop.Candidate{Job: &judgeloop.Job{Sizes: []map[string]int64{other}}}); len(
		got) != 1 || got[0]["m"] != 9 {
		t.Errorf("sizes of the job: %v", got)
	}
	for _, c := range []struct {
		given bool
		plan  problem.Plan
		want  []map[string]int64
	}{
		{false, problem.Plan{Sizes: []map[string]int64{timed}}, []map[string]int64{nil}},
		{true, problem.Plan{Sizes: []map[string]int64{timed, other}}, []map[string]int64{timed, other}},
		{true, problem.Plan{}, []map[string]int64{timed}},
	} {
		p := &judged{plan: &c.plan, folder: &opfolder.Folder{Spec: spec}}
		got := p.sizes(judgeloop.Candidate{Job: &judgeloop.Job{GivenSizes: c.given}})
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("given %v of %v: %v, want %v", c.given, c.plan.Sizes, got, c.want)
		}
	}
}
