package run

import (
	"context"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
)

// Unrecorded judges a request on one backend and records nothing. It stops at the first wrong case if enough
// is set, and finishes the current case when stop ends.
func Unrecorded(ctx, stop context.Context, b backend.Backend, request Request, enough bool) (Result, error) {
	// The contexts of the run end with it: a loop judges thousands of candidates in one context.
	ctx, over := context.WithCancel(ctx)
	defer over()
	stop, cancel := context.WithCancel(stop)
	defer cancel()
	runner := &Runner{Backends: []backend.Backend{b}, Recorder: Discard{}, Stop: stop}
	if enough {
		runner.Recorder = untilWrong{stop: cancel}
	}
	return runner.Compare(ctx, request)
}

// Discard is the recorder of runs that are not recorded.
type Discard struct{}

func (Discard) Plan([]record.Item, record.Toolchain) error { return nil }

func (Discard) Done(record.Item) bool { return false }

func (Discard) Append(*record.Record) error { return nil }

func (Discard) AppendDifferences([]record.Difference) error { return nil }

// untilWrong ends a run with its first record that is wrong.
type untilWrong struct {
	Discard
	stop context.CancelFunc
}

func (u untilWrong) Append(r *record.Record) error {
	if r.Status.Weight() == op.Bad {
		u.stop()
	}
	return nil
}
