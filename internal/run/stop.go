package run

import (
	"slices"
)

// stopRequested reports whether the run was stopped.
func (x *execution) stopRequested() bool { return x.Stop != nil && x.Stop.Err() != nil }

// leaves reports whether the parts of a case that have not begun are left for a resumed run. Where many cases
// are judged side by side, a stopped run finishes only the calls that are under way; where a case is large,
// it does not even judge them. Elsewhere it finishes its cases.
func (x *execution) leaves(c *prepared) bool { return (x.lanes > 0 || c.large()) && x.stopRequested() }

// cutShort records that entries of cases under way were left for a resumed run.
func (x *execution) cutShort() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.result.Interrupted = true
}

// leaveOpen records why an entry is left for a resumed run: this machine kept it from running.
func (x *execution) leaveOpen(e entry, dtype string) {
	x.lossesOf(e, dtype).open(e.verdict)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.result.Interrupted = true
	if !slices.Contains(x.result.Open, e.verdict.sentence) {
		x.result.Open = append(x.result.Open, e.verdict.sentence)
	}
}
