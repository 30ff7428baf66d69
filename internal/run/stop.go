package run

import (
	"context"
	"errors"
	"slices"

	"triad/internal/judge"
)

// errLeft is why an entry was not run, or not judged to its end.
var errLeft = errors.New("left for a resumed run")

// toldToStop says whether the run was told to end.
func (x *execution) toldToStop() bool { return x.Stop != nil && x.Stop.Err() != nil }

// leaves says whether what has not begun of a case is left for a resumed run: where many cases are judged
// side by side, a run that is told to stop finishes the calls that are under way, and no more; where a case
// is large, not even their judging. Elsewhere it finishes its cases.
func (x *execution) leaves(c *prepared) bool { return (x.lanes > 0 || c.large()) && x.toldToStop() }

// large says whether judging a case takes so long that a run that is told to stop does not finish it.
func (c *prepared) large() bool { return c.byRows }

// cutShort notes that entries of cases under way were left for a resumed run.
func (x *execution) cutShort() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.result.Interrupted = true
}

// leaveOpen notes why an entry is left for a resumed run: this machine kept it from being run.
func (x *execution) leaveOpen(e entry, dtype string) {
	x.lossesOf(e, dtype).open(e.verdict)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.result.Interrupted = true
	if !slices.Contains(x.result.Open, e.verdict.sentence) {
		x.result.Open = append(x.result.Open, e.verdict.sentence)
	}
}

// untilStopped has no more rows of a truth computed once the run is told to stop. What is judged of it then
// is judged in part, and is not recorded.
func untilStopped(stop context.Context, t judge.Truth) judge.Truth {
	for _, o := range t.Outputs {
		if o.Rows == nil || o.Rows.Fill == nil || stop == nil {
			continue
		}
		fill := o.Rows.Fill
		o.Rows.Fill = func() func(into judge.Values, first, end int64) error {
			rows := fill()
			return func(into judge.Values, first, end int64) error {
				if stop.Err() != nil {
					return errLeft
				}
				return rows(into, first, end)
			}
		}
	}
	return t
}
