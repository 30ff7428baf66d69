package run

import (
	"context"
	"fmt"
	"strings"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
)

// mostConfigurations limits the configurations of an autotuned kernel that are judged.
const mostConfigurations = 16

// eachConfiguration judges an autotuned kernel in each of its configurations but the first, which was judged:
// on a GPU any of them may be the fastest. It sets found to the findings that explain a failure.
func (x *execution) eachConfiguration(ctx context.Context, c *prepared, e entry, outcome backend.Outcome,
	r *record.Record, found *[]op.Finding,
) error {
	names := outcome.Configurations
	if len(names) < 2 {
		return nil
	}
	if r.Status.Weight() == op.Bad {
		return x.onceTuned(ctx, c, e, 0, r)
	}
	if !c.configured || len(r.Outputs) == 0 {
		return nil
	}
	for n := 1; n < min(len(names), mostConfigurations); n++ {
		alone, explained, err := x.inConfiguration(ctx, c, e, n, r)
		if err != nil {
			return err
		}
		if alone.Status.Weight() != op.Bad && len(alone.Outputs) > 0 {
			continue
		}
		*found = explained
		endsAs(r, alone, fmt.Sprintf("so it is where autotune takes its configuration %d of %d, %s", n+1,
			len(names), names[n]))
		return x.onceTuned(ctx, c, e, n, r)
	}
	return nil
}

// inConfiguration judges a case as r was judged, with autotune fixed to configuration n.
func (x *execution) inConfiguration(ctx context.Context, c *prepared, e entry, n int, r *record.Record) (
	record.Record, []op.Finding, error,
) {
	alone := newRecord(c, e, r.Seed, r.Started)
	job, err := x.job(ctx, c, e)
	if err != nil {
		return alone, nil, err
	}
	for i := range job.Launches {
		job.Launches[i].Order = fmt.Sprint(backend.OrderConfiguration, n)
	}
	outcome, err := x.further(ctx, c, e, job)
	if err != nil {
		return alone, nil, err
	}
	return alone, x.rules().ruleOnLaunches(c, e, outcome, &alone, len(job.Launches)), nil
}

// onceTuned notes of a wrong answer whether the kernel is right once autotune no longer tries it.
func (x *execution) onceTuned(ctx context.Context, c *prepared, e entry, n int, r *record.Record) error {
	if r.Status != op.StatusFail && r.Status != op.StatusRace { // nothing was compared
		return nil
	}
	later, _, err := x.inConfiguration(ctx, c, e, n, r)
	if err == nil && later.Status.Weight() == op.Good {
		endsAs(r, *r, "only the first call of a size is wrong, in which autotune tries the kernel on the "+
			"same tensors: name those that it adds to in reset_to_zero")
	}
	return err
}

// further runs one more job of an implementation that was judged on a case, when it is its turn.
func (x *execution) further(ctx context.Context, c *prepared, e entry, job backend.Job) (backend.Outcome,
	error,
) {
	l := x.lossesOf(e, c.DType)
	l.turn.Lock()
	defer l.turn.Unlock()
	defer x.begun(e)()
	return x.attempt(ctx, e, job)
}

// endsAs gives a record the outcome of a further call; which names the call in its messages.
func endsAs(r *record.Record, further record.Record, which string) {
	r.Status, r.Outputs, r.Where = further.Status, further.Outputs, further.Where
	r.LogTail, r.Explained = further.LogTail, further.Explained
	with := func(words string) string { return strings.TrimPrefix(words+"; "+which, "; ") }
	r.Message = with(further.Message)
	for i := range r.Outputs {
		if o := &r.Outputs[i]; o.Status.Weight() == op.Bad {
			o.Message, o.Pattern = with(o.Message), with(o.Pattern)
		}
	}
}
