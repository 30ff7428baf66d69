package run

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"triad/internal/backend"
	"triad/internal/op"
)

// launch runs an entry's job. After a crash it is run once more in a fresh worker: if it then passes, it is
// FLAKY, not good.
func (x *execution) launch(ctx context.Context, c *prepared, e entry) (backend.Outcome, error) {
	job, err := x.job(ctx, c, e)
	if err != nil {
		var stopped *stoppedBefore
		if errors.As(err, &stopped) {
			return stopped.outcome, nil
		}
		return backend.Outcome{}, err
	}
	outcome, err := x.attempt(ctx, e, job)
	if err != nil || outcome.Status != op.StatusCrash {
		return outcome, err
	}
	again, err := x.attempt(ctx, e, job)
	if err != nil {
		return again, err
	}
	if again.Status == op.StatusUnavailable { // a fresh worker finds a device that the crash left broken
		outcome.Sentence += "; then " + again.Sentence
		return outcome, nil
	}
	if again.Status == op.StatusUnknown {
		again.Status = op.StatusFlaky
		again.Sentence = "bad once, good when repeated alone; the first time: " + outcome.Sentence
		again.Log = outcome.Log
	}
	return again, nil
}

// attempt runs a job. If it ran out of memory while others held some, or its worker was killed, it is run
// again alone: an implementation is to blame only for what it does then.
func (x *execution) attempt(ctx context.Context, e entry, job backend.Job) (backend.Outcome, error) {
	outcome, shared, err := x.inCompany(ctx, e, job)
	if err != nil || outcome.Status != op.StatusOOM || !shared && !outcome.Ended {
		return outcome, err
	}
	defer x.company.alone()()
	return x.inParts(ctx, e, job)
}

// inCompany runs a job and reports whether others ran at the same time. A panic leaves nothing locked.
func (x *execution) inCompany(ctx context.Context, e entry, job backend.Job) (
	outcome backend.Outcome, shared bool, err error,
) {
	left := x.company.join()
	defer func() { shared = left() }()
	outcome, err = x.inParts(ctx, e, job)
	return outcome, shared, err
}

// company is the jobs that run at the same time. The zero value is ready.
type company struct {
	running sync.RWMutex
	now     atomic.Int64
	begun   atomic.Int64
}

// join waits for a job that runs alone. left ends the part of the job that joined, and reports whether others
// ran at the same time.
func (c *company) join() (left func() (shared bool)) {
	c.running.RLock()
	before, begun := c.now.Add(1), c.begun.Add(1)
	return func() bool {
		c.now.Add(-1)
		c.running.RUnlock()
		return before > 1 || c.begun.Load() > begun
	}
}

// alone waits until no job runs, and keeps others from it until over is called.
func (c *company) alone() (over func()) {
	c.running.Lock()
	return c.running.Unlock
}

// inParts runs a job, splitting a long one into parts.
func (x *execution) inParts(ctx context.Context, e entry, job backend.Job) (backend.Outcome, error) {
	var whole backend.Outcome
	var launches []backend.LaunchOutcome
	for part := range slices.Chunk(job.Launches, launchesPerJob) {
		job.Launches = part
		outcome, err := x.runJob(ctx, e, job)
		if len(launches) > 0 {
			outcome.ChangedItsMind()
		}
		if err != nil || outcome.Status != op.StatusUnknown {
			return outcome, err
		}
		launches = append(launches, outcome.Launches...)
		outcome.Wall += whole.Wall
		outcome.PeakBytes = max(outcome.PeakBytes, whole.PeakBytes)
		whole = outcome
	}
	whole.Launches = launches
	return whole, nil
}

// runJob runs a job. If a library no longer loads in a fresh worker, that is the outcome of this entry, not
// the end of the run.
func (x *execution) runJob(ctx context.Context, e entry, job backend.Job) (backend.Outcome, error) {
	over := x.abreast(e)
	defer over()
	outcome, err := e.backend.Run(ctx, job)
	if ctx.Err() != nil && (err != nil || outcome.Status != op.StatusUnknown) {
		// it was cancelled: that is nobody's fault
		return backend.Outcome{}, ctx.Err()
	}
	var missing *backend.Unavailable
	var broken *backend.BuildFailure
	switch {
	case errors.As(err, &missing):
		return backend.Outcome{Status: op.StatusUnavailable, Sentence: missing.Sentence}, nil
	case errors.As(err, &broken):
		return backend.Outcome{Status: broken.Verdict(), Sentence: broken.Sentence, Log: broken.Log}, nil
	}
	return outcome, err
}
