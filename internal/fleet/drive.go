package fleet

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"
)

// Engine starts tasks on machines. A task is `triad part FOLDER SHARD`.
type Engine interface {
	// Submit submits shards, each to a task of its own.
	Submit(ctx context.Context, folder Folder, shards []int) error
	// Gone lists the submitted shards whose task is neither waiting nor running now, each with the engine's
	// word on its end.
	Gone(ctx context.Context, shards []int) (map[int]string, error)
	// Log is the log of the newest task of a shard.
	Log(folder Folder, shard int) string
	// Cancel asks all tasks to end: after their current case, or at once.
	Cancel(ctx context.Context, atOnce bool) error
}

// Driver runs a plan on an engine.
type Driver struct {
	Folder Folder
	Plan   Plan
	Engine Engine
	Stop   context.Context // done: cancel the tasks, keep what they bring
	// Merge adds a part to the union; it may be called again for the same part.
	Merge func(ctx context.Context, part string) error
	// Progress gets the shards that are done, and all; Tell a sentence.
	Progress func(done, all int)
	Tell     func(sentence string)
	Every    time.Duration // between two looks at the tasks at most; 0: 4 s
	Grace    time.Duration // how long cancelled tasks may take to end; 0: 40 s
	Settle   time.Duration // how long the outcome of a task that is gone may take to be seen; 0: 3 s
}

// Failure is a shard that failed twice.
type Failure struct {
	Shard   int
	Outcome Outcome
	Log     string
}

// Ended is the result of a run on a fleet.
type Ended struct {
	Complete map[int]Outcome // by shard
	Failed   []Failure
	Stopped  bool
}

// tries is the number of attempts of a shard: a failed task is queued again once.
const tries = 2

// drive is the state of a run.
type drive struct {
	*Driver
	open    []int // shards that are with the engine
	begun   map[int]int
	missing map[int]time.Time // since when a task is gone without an outcome
	ended   Ended
	silence time.Time // when the engine's silence was last reported
}

// Run submits the shards that are not complete, merges parts as they arrive, and returns when all have ended,
// or when Stop is done. A shard whose task fails or is lost is queued again once.
func (d *Driver) Run(ctx context.Context) (ended Ended, err error) {
	if d.Every == 0 {
		d.Every = 4 * time.Second
	}
	if d.Grace == 0 {
		d.Grace = 40 * time.Second
	}
	if d.Settle == 0 {
		d.Settle = 3 * time.Second
	}
	r := &drive{
		Driver: d, begun: map[int]int{}, missing: map[int]time.Time{},
		ended: Ended{Complete: map[int]Outcome{}},
	}
	defer func() {
		if err != nil && len(r.begun) > 0 { // what the tasks leave is for --resume
			r.cancel(context.WithoutCancel(ctx), false)
		}
	}()
	if err := r.begin(ctx); err != nil {
		return r.ended, err
	}
	for wait := d.Every / 20; len(r.open) > 0; wait = min(d.Every, wait*5/4) {
		select {
		case <-d.Stop.Done():
			return r.stop(ctx)
		case <-time.After(wait): // short runs are not kept waiting, long ones do not ask too often
		}
		if err := r.look(ctx); err != nil {
			return r.ended, err
		}
	}
	return r.ended, nil
}

// begin merges what an earlier run left and submits the rest.
func (r *drive) begin(ctx context.Context) error {
	for shard := 1; shard <= r.Plan.Shards; shard++ {
		o, found, err := r.Folder.Outcome(shard)
		if err != nil {
			return err
		}
		if found && o.Part {
			if err := r.Merge(ctx, r.Folder.Part(shard)); err != nil {
				return err
			}
		}
		if found && o.Complete {
			r.ended.Complete[shard] = o
			continue
		}
		r.open = append(r.open, shard)
	}
	r.Progress(len(r.ended.Complete), r.Plan.Shards)
	return r.submit(ctx, slices.Clone(r.open))
}

func (r *drive) submit(ctx context.Context, shards []int) error {
	if len(shards) == 0 {
		return nil
	}
	for _, shard := range shards {
		if err := r.Folder.forget(shard); err != nil {
			return err
		}
		r.begun[shard]++
		delete(r.missing, shard)
	}
	if err := r.Engine.Submit(ctx, r.Folder, shards); err != nil {
		return &EngineError{err}
	}
	return nil
}

// EngineError is the error of an engine that accepted no tasks.
type EngineError struct{ Err error }

// Error returns the engine's message.
func (e *EngineError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *EngineError) Unwrap() error { return e.Err }

// look handles the tasks that have ended since the last look.
func (r *drive) look(ctx context.Context) error {
	gone, err := r.Engine.Gone(ctx, r.open) // asked first: an outcome is written before its task is gone
	if err != nil && time.Since(r.silence) > time.Minute {
		r.silence = time.Now()
		r.Tell(fmt.Sprintf("the tasks cannot be asked for, which is tried again: %v", err))
	}
	if err := r.gather(ctx); err != nil {
		return err
	}
	for _, shard := range slices.Clone(r.open) {
		why, isGone := gone[shard]
		if !isGone {
			delete(r.missing, shard)
			continue
		}
		if r.lost(shard) {
			o := Outcome{Reason: "its task ended without a result: " + why}
			if err := r.failed(ctx, shard, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// lost reports whether a shard whose task is gone has had no outcome for r.Settle. Until then one may still
// come: a shared folder may show files late.
func (r *drive) lost(shard int) bool {
	if _, noted := r.missing[shard]; !noted {
		r.missing[shard] = time.Now()
	}
	return time.Since(r.missing[shard]) >= r.Settle
}

// gather merges the parts that have arrived.
func (r *drive) gather(ctx context.Context) error {
	// Reading the folder makes NFS refresh it.
	if _, err := os.ReadDir(string(r.Folder)); err != nil {
		return fmt.Errorf("look into the shared folder: %w", err)
	}
	for _, shard := range slices.Clone(r.open) {
		o, found, err := r.Folder.Outcome(shard)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		if o.Part {
			if err := r.Merge(ctx, r.Folder.Part(shard)); err != nil {
				return err
			}
		}
		switch {
		case o.Complete:
			r.ended.Complete[shard] = o
			r.close(shard)
		case r.ended.Stopped:
			r.close(shard)
		default:
			if err := r.failed(ctx, shard, o); err != nil {
				return err
			}
		}
	}
	r.Progress(len(r.ended.Complete), r.Plan.Shards)
	return nil
}

func (r *drive) close(shard int) {
	r.open = slices.DeleteFunc(r.open, func(s int) bool { return s == shard })
}

// failed queues a shard again, or gives it up. A refused command line would be refused again.
func (r *drive) failed(ctx context.Context, shard int, o Outcome) error {
	log, on := r.Engine.Log(r.Folder, shard), ""
	if o.Host != "" {
		on = " on " + o.Host
	}
	const usage = 2
	if r.begun[shard] < tries && o.Exit != usage {
		r.Tell(fmt.Sprintf("shard %d/%d failed%s and is queued again: %s (log: %s)", shard, r.Plan.Shards, on,
			o.Reason, log))
		return r.submit(ctx, []int{shard})
	}
	r.Tell(fmt.Sprintf("shard %d/%d failed%s: %s (log: %s)", shard, r.Plan.Shards, on, o.Reason, log))
	r.ended.Failed = append(r.ended.Failed, Failure{shard, o, log})
	r.close(shard)
	return nil
}

func (r *drive) cancel(ctx context.Context, atOnce bool) {
	if err := r.Engine.Cancel(ctx, atOnce); err != nil {
		r.Tell(fmt.Sprintf("the tasks could not be cancelled: %v", err))
	}
}

// stop cancels the tasks and gathers their parts until the grace period is over.
func (r *drive) stop(ctx context.Context) (Ended, error) {
	r.ended.Stopped = true
	r.cancel(ctx, false)
	defer func() {
		if len(r.open) > 0 {
			r.cancel(context.WithoutCancel(ctx), true)
		}
	}()
	end := time.NewTimer(r.Grace)
	defer end.Stop()
	tick := time.NewTicker(r.Every)
	defer tick.Stop()
	for len(r.open) > 0 {
		gone, err := r.Engine.Gone(ctx, r.open)
		if err := r.gather(ctx); err != nil {
			return r.ended, err
		}
		if err == nil {
			for _, shard := range slices.Clone(r.open) {
				if _, isGone := gone[shard]; isGone && r.lost(shard) {
					r.close(shard)
				}
			}
		}
		select {
		case <-ctx.Done():
			return r.ended, nil
		case <-end.C:
			return r.ended, nil
		case <-tick.C:
		}
	}
	return r.ended, nil
}
