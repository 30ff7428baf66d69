package runsetup

import (
	"context"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/run"
	"triad/internal/session"
)

// Unrecorded judges a request on one backend and records nothing. It stops at the first wrong case if enough
// is set, and finishes the current case when stop ends.
func Unrecorded(ctx, stop context.Context, b backend.Backend, request run.Request, enough bool) (
	run.Result, error,
) {
	stop, cancel := context.WithCancel(stop)
	defer cancel()
	runner := &run.Runner{Backends: []backend.Backend{b}, Recorder: session.Discard{}, Stop: stop}
	if enough {
		runner.Recorder = untilWrong{stop: cancel}
	}
	return runner.Compare(ctx, request)
}

// untilWrong ends a run with its first record that is wrong.
type untilWrong struct {
	session.Discard
	stop context.CancelFunc
}

func (u untilWrong) Append(r *record.Record) error {
	if r.Status.Weight() == op.Bad {
		u.stop()
	}
	return nil
}
