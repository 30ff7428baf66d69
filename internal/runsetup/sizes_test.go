package runsetup

import (
	"reflect"
	"testing"

	"triad/internal/judgeloop"
	"triad/internal/op"
	"triad/internal/opfolder"
	"triad/internal/ownfile/added"
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

// TestSandboxOf: a session says in what a stranger's files ran.
func TestSandboxOf(t *testing.T) {
	ofProblem := &OwnFiles{Folder: &opfolder.Folder{Problem: "problem.json"}}
	for _, c := range []struct {
		flags added.Flags
		mine  *OwnFiles
		want  string
	}{
		{added.Flags{}, nil, ""},
		{added.Flags{Add: []string{"a.cu"}}, &OwnFiles{}, ""},
		{added.Flags{Sandbox: true}, nil, "bubblewrap"},
		{added.Flags{Many: true}, nil, "bubblewrap"},
		{added.Flags{Many: true, NoSandbox: true}, nil, "none (--no-sandbox)"},
		{added.Flags{}, ofProblem, "bubblewrap"},
		{added.Flags{NoSandbox: true}, ofProblem, "none (--no-sandbox)"},
	} {
		if got := sandboxOf(&c.flags, c.mine); got != c.want {
			t.Errorf("%+v: %q, want %q", c.flags, got, c.want)
		}
	}
}
