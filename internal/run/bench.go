package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"triad/internal/panics"
	"triad/internal/record"
)

// Bench judges and times every wanted implementation on the bench points of the operators. Without a plan of
// timing it only judges, for tools that watch the kernels.
func (r *Runner) Bench(ctx context.Context, request Request) (result Result, err error) {
	err = result.unlessStopped(ctx, r.bench(ctx, request, &result))
	return result, err
}

func (r *Runner) bench(ctx context.Context, request Request, result *Result) (err error) {
	defer panics.Caught(&err, func() string { return "timing " + names(request) })
	together(r.Backends) // an implementation is timed in the process that judged it
	p, err := r.begin(ctx, request, (*Runner).PlanBench, result)
	if err != nil {
		return err
	}
	backends, planned := p.backends, p.judged
	x := &execution{Runner: r, request: request, result: result, cases: len(planned), began: time.Now()}
	x.resumed()
	if request.Timing == nil {
		err := x.all(ctx, planned)
		result.inOrder(planned)
		return err
	}
	if err := x.measureCeilings(ctx, backends, planned); err != nil {
		return err
	}
	w, more, err := take(x, &planned)
	for i := 0; more; i++ {
		if x.Stop.Err() != nil || ctx.Err() != nil {
			result.Interrupted = true
			break
		}
		var next work
		if next, more, err = take(x, &planned); err != nil {
			return err
		}
		x.progress(Progress{Case: i, Cases: x.cases, Elapsed: time.Since(x.began)})
		if err := x.benchCase(ctx, w, whereTaken(next, more)); err != nil {
			return err
		}
		w = next
	}
	return err
}

// whereTaken returns the case after the timed one, to be prepared meanwhile; nil if there is none.
func whereTaken(next work, taken bool) []work {
	if !taken {
		return nil
	}
	return []work{next}
}

// benchCase judges every implementation of a case and times those that passed: all of them, even if a resumed
// session lacks only one, since only what was timed in the same rounds can be compared.
func (x *execution) benchCase(ctx context.Context, w work, after []work) (err error) {
	defer panics.Caught(&err, func() string { return "working on " + describe(w.Case) })
	before := x.before(w)
	missing := x.missing(w)
	if x.complete(w) {
		return x.recordRulings(work{operator: w.operator, Case: w.Case, entries: missing})
	}
	began := time.Now()
	c, err := x.ahead.take(x, w)
	if errors.Is(err, errLeft) {
		x.cutShort()
		return nil
	}
	if err != nil {
		return fmt.Errorf("prepare %s: %w", describe(w.Case), err)
	}
	c.sizesAlone = true
	if len(after) > 0 && !x.complete(after[0]) {
		x.ahead.begin(x, after[0])
	}
	from := len(x.result.Records)
	x.result.Records = append(x.result.Records, before...)
	if err := x.allEntries(ctx, c, missing); err != nil {
		return err
	}
	at := func(r record.Record) int {
		return slices.IndexFunc(w.entries, func(e entry) bool { return e.implementation.Name == r.Impl })
	}
	// in the order of the plan
	slices.SortStableFunc(x.result.Records[from:], func(a, b record.Record) int { return at(a) - at(b) })
	if x.leaves(c) {
		x.cutShort()
		return nil
	}
	x.ahead.wait()
	x.result.spend("running and judging", began)
	return x.time(ctx, c, x.recordsOf(w))
}

// complete reports whether everything about a case is recorded, or known beforehand.
func (x *execution) complete(w work) bool {
	return !slices.ContainsFunc(x.missing(w), func(e entry) bool { return e.verdict == nil }) &&
		x.timedBefore(x.before(w))
}

// before returns a resumed session's records of a case.
func (x *execution) before(w work) []record.Record { return x.recorded[w.Key()] }

// timedBefore reports whether every record that could be timed was, in every regime of the plan.
func (x *execution) timedBefore(before []record.Record) bool {
	for _, r := range before {
		for _, regime := range x.request.Timing.Regimes {
			if timeable(&r) &&
				!slices.ContainsFunc(r.Timings,
					func(t record.Timing) bool { return t.Regime == regime.String() }) {
				return false
			}
		}
	}
	return true
}
