package run

import (
	"context"
	"slices"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
)

// inMemory asks the emulator further questions where memory may be to blame: whether a race is one, where its
// lines are, and whether the function accesses memory next to a buffer.
func (x *execution) inMemory(ctx context.Context, c *prepared, e entry, r *record.Record) error {
	for _, ask := range []func(context.Context, *prepared, entry, *record.Record) error{
		x.memoryOrOrder, x.placeRace, x.edges,
	} {
		if err := ask(ctx, c, e, r); err != nil {
			return err
		}
	}
	return nil
}

// edges launches a user's function with inaccessible memory directly around its buffers, so that an access
// out of bounds faults where it otherwise meets the padding of the alignment. It does so on one small case,
// and where an output depends on memory that nobody wrote. Only an access out of bounds counts: a buffer may
// be less aligned than a caller's is.
func (x *execution) edges(ctx context.Context, c *prepared, e entry, r *record.Record) error {
	i := e.implementation
	asked := c.ordinary && r.Status.Weight() == op.Good || dependsOnMemory(r)
	if !asked || i.Device != "emulator" || !own(e) {
		return nil
	}
	job, err := x.job(ctx, c, e)
	if err != nil {
		return err
	}
	first := job.Launches[0].Order
	job.Launches = []backend.LaunchPlan{
		{Poison: "a", Order: first, Place: backend.PlaceExactBegin},
		{Poison: "b", Order: first, Place: backend.PlaceExactEnd},
	}
	outcome, err := x.attempt(ctx, e, job)
	if err != nil || outcome.Status != op.StatusOutOfBounds {
		return err
	}
	r.Status, r.Message, r.LogTail, r.Outputs = outcome.Status, outcome.Sentence, outcome.Log, nil
	r.Explained, r.Where = nil, (*record.Where)(outcome.Where)
	return nil
}

// memoryOrOrder decides whether a race in the emulator is one: launches differ in their orders and in what
// memory held. If all have the same order, and only those agree whose memory held the same, it is the memory.
func (x *execution) memoryOrOrder(ctx context.Context, c *prepared, e entry, r *record.Record) error {
	if r.Status != op.StatusRace || e.implementation.Device != "emulator" {
		return nil
	}
	job, err := x.job(ctx, c, e)
	if err != nil {
		return err
	}
	for i := range job.Launches {
		job.Launches[i].Order = job.Launches[0].Order
	}
	outcome, err := x.attempt(ctx, e, job)
	if err != nil {
		return err
	}
	alone := newRecord(c, e, r.Seed, r.Started)
	x.rules().ruleOnLaunches(c, e, outcome, &alone, len(job.Launches))
	if dependsOnMemory(&alone) {
		r.Status, r.Message, r.Outputs = alone.Status, alone.Message, alone.Outputs
		r.Explained = alone.Explained
	}
	return nil
}

// dependsOnMemory reports whether an output is wrong because of what memory held before the launch.
func dependsOnMemory(r *record.Record) bool {
	return r.Status == op.StatusFail && slices.ContainsFunc(r.Outputs, func(v record.Verdict) bool {
		return v.Status == op.StatusFail && v.Gate == "G0"
	})
}
