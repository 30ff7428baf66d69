package run

import (
	"slices"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/panics"
	"triad/internal/truth"
)

// TestAhead: a case prepared ahead is taken if it comes next; another one is prepared when it is asked for. A
// panic is an error of the caller that takes the case, not of one that waits.
func TestAhead(t *testing.T) {
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := o.Spec.Expand(op.Options{Level: op.LevelQuick, Passes: []op.Pass{op.Forward}})
	if err != nil || len(plan.Cases) < 2 {
		t.Fatalf("%d cases, %v", len(plan.Cases), err)
	}
	one, two := work{operator: o, Case: plan.Cases[0]}, work{operator: o, Case: plan.Cases[1]}
	x := &execution{Runner: &Runner{}, request: Request{Seed: 1}, result: &Result{}}
	x.ahead.begin(x, one)
	x.ahead.wait()
	begun, err := x.ahead.prepare()
	if err != nil {
		t.Fatal(err)
	}
	if c, err := x.ahead.take(x, one); err != nil || c != begun {
		t.Errorf("%p, %v, want what was begun, %p", c, err, begun)
	}
	if c, err := x.ahead.take(x, one); err != nil || c == begun || c.Key() != one.Key() {
		t.Errorf("taken twice: %v", err)
	}
	x.ahead.begin(x, one)
	if c, err := x.ahead.take(x, two); err != nil || c.Key() != two.Key() {
		t.Errorf("another case than the one that was begun: %v", err)
	}
	x.HostBytes = aheadShare * one.hostBytes()
	if x.ahead.begin(x, one); x.ahead.prepare == nil {
		t.Errorf("a case of %d bytes is not begun where %d are there", one.hostBytes(), x.HostBytes)
	}
	x.ahead = ahead{}
	x.HostBytes--
	if x.ahead.begin(x, one); x.ahead.prepare != nil {
		t.Errorf("a case of %d bytes is begun where %d are there", one.hostBytes(), x.HostBytes)
	}
	x.ahead.begin(x, work{Case: plan.Cases[0]}) // without an operator
	x.ahead.wait()                              // whoever works on another case
	_, err = x.ahead.take(x, work{Case: plan.Cases[0]})
	e := panics.In(err)
	doing := []string{"preparing " + describe(one.Case)}
	if e == nil || !strings.Contains(err.Error(), "nil pointer") || !slices.Equal(e.Doing, doing) {
		t.Errorf("%v", err)
	}
}
