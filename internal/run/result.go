package run

import (
	"context"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/truth"
)

// FindingSeen is the outcome of a documented finding in a run: how many of the judged cases it covers, and in
// how many of them it showed.
type FindingSeen struct {
	op.Finding
	Op           string
	Covered      int // judged cases that it covers
	Shown, Wrong int // those that are KNOWN by it; those that are bad for another reason
}

// Gone reports whether the finding no longer happens: enough cases that it covers were judged, and all are as
// they should be.
func (f FindingSeen) Gone() bool { return f.Covered >= f.Enough && f.Shown == 0 && f.Wrong == 0 }

// Twins provides implementations of the emulator for those that run on a GPU. The emulator sees what no GPU
// shows: a missing barrier, a read past the end of an input.
type Twins interface {
	// Twin returns the emulator's twin of an implementation and the backend that runs it. If there is none, b
	// is nil and why gives the reason, "" if there is nothing to say.
	Twin(ctx context.Context, i backend.Implementation) (twin backend.Implementation, b backend.Backend,
		why string)
}

// TwinVerdicts counts the emulator's verdicts on an implementation that passed on a GPU.
type TwinVerdicts struct {
	Impl   string
	Judged int            // cases
	Wrong  map[string]int // of these: by the status
	Left   int            // quick cases that it did not judge
	Why    string         // and why not, a sentence
}

// Step is the agreement of the truth of an operator's backward with the complex step of its forward, on one
// of the run's cases.
type Step struct {
	Case op.Case
	truth.Step
}

// Shard is one of several parts of a plan that machines run side by side: number Index, from 1, of Of. The
// zero value is the whole plan.
type Shard struct{ Index, Of int }

// Power counts cases by whether their outputs can tell right from wrong.
type Power struct {
	Cases     int       // with elements to compare, and not trivial by design
	Powerless []op.Case // those of them in which a wrong output would pass
	Trivial   []op.Case // by design: what the spec marks
}
