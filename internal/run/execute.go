package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/panics"
	"triad/internal/record"
	"triad/internal/tensor"
	"triad/internal/timing"
	"triad/internal/truth"
)

// Compare runs a request: every wanted implementation on every case, judged and recorded one by one.
func (r *Runner) Compare(ctx context.Context, request Request) (result Result, err error) {
	err = result.unlessStopped(ctx, r.compare(ctx, request, &result))
	return result, err
}

// unlessStopped clears the error of a stopped run, wherever the run was: it may have no plan yet. An internal
// error also ends the run before its plan is done, but stays an error.
func (r *Result) unlessStopped(ctx context.Context, err error) error {
	if panics.In(err) != nil {
		r.Interrupted = true
		return err
	}
	if err != nil && ctx.Err() != nil || errors.Is(err, ErrStopped) {
		r.Interrupted = true
		return nil
	}
	return err
}

func (r *Runner) compare(ctx context.Context, request Request, result *Result) (err error) {
	defer panics.Caught(&err, func() string { return "comparing " + names(request) })
	p, err := r.begin(ctx, request, (*Runner).PlanCompare, result)
	if err != nil {
		return err
	}
	if request.Gradients {
		if result.Steps, err = r.checkSteps(ctx, p.judged, request.Seed); err != nil {
			return err
		}
	}
	x := &execution{
		Runner: r, request: request, result: result, cases: len(p.judged), began: time.Now(),
		lanes: lanesOf(p.backends),
	}
	x.resumed()
	planned := p.judged
	if x.lanes > 0 {
		planned = interleaved(planned)
	}
	err = x.all(ctx, planned)
	for _, s := range x.twinCounts.seen {
		result.TwinVerdicts = append(result.TwinVerdicts, *s)
	}
	result.inOrder(p.judged)
	result.spend("running and judging", x.began)
	if err != nil || result.Interrupted || request.Timing == nil {
		return err
	}
	together(p.backends)
	return x.timeWhatPassed(ctx, p.judged, p.timed, p.backends)
}

// begin makes the plan of a run and records it: after that everything that will run is known.
func (r *Runner) begin(ctx context.Context, request Request,
	plan func(*Runner, context.Context, Request) (*Plan, error), result *Result,
) (*Plan, error) {
	if err := r.timingKept(request); err != nil {
		return nil, err
	}
	began := time.Now()
	p, err := plan(r, ctx, request)
	if err != nil {
		return nil, err
	}
	result.spend("loading", began)
	result.Versions, result.Unavailable, result.Smaller = p.Versions, p.Unavailable, p.Smaller
	return p, r.Recorder.Plan(p.items(), p.Versions)
}

// execution is a request under way.
type execution struct {
	*Runner
	request Request
	cases   int
	began   time.Time
	lanes   int           // number of jobs that are judged side by side
	timer   *timing.Timer // of what passed; nil before anything is timed
	// what an interrupted session had recorded, by the key of the case
	recorded map[string][]record.Record

	ahead      ahead
	company    company
	twinCounts twinCounts
	mu         sync.Mutex // guards what follows, and the order of records
	result     *Result
	finished   int
	byCase     recordIndex
	previous   previousOutputs
	lost       map[string]*losses       // by operator, pass and implementation
	took       intervals                // of the cases of each implementation
	choices    map[string]choice        // by description
	families   map[string]chan struct{} // the jobs that run, by family
	failure    error
}

// rules returns what the verdicts of this run depend on.
func (x *execution) rules() rules { return rules{x.request.Explain, x.result.Versions} }

// all works through the plan, a few cases at once: while the workers run one case, the truth of the next is
// computed.
func (x *execution) all(ctx context.Context, planned []work) error {
	places := make(chan struct{}, x.places())
	var group panics.Group
	var broken []work
	for i, w := range planned {
		taken := x.placesOf(w, cap(places))
		for range taken {
			select {
			case places <- struct{}{}:
			case <-x.Stop.Done():
			case <-ctx.Done():
			}
		}
		if x.Stop.Err() != nil || ctx.Err() != nil || x.failed() {
			x.result.Interrupted = i < len(planned)
			broken = planned[i:]
			break
		}
		free := func() {
			for range taken {
				<-places
			}
		}
		// Cases are prepared one after the other: "the previous output" of the power check is then that of
		// the plan, independent of timing.
		c, mine, err := x.prepareMine(w)
		if err == nil && !mine {
			free()
			continue
		}
		x.begin(w)
		group.Go(func() {
			defer free()
			if err == nil {
				err = x.oneCase(ctx, w, c)
			}
			x.mu.Lock()
			defer x.mu.Unlock()
			x.finished++
			if err != nil && (x.failure == nil || errors.Is(x.failure, errLeft)) {
				x.failure = err
			}
			x.progress(Progress{Case: x.finished, Cases: x.cases, Elapsed: time.Since(x.began)})
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if errors.Is(x.failure, errLeft) {
		x.result.Interrupted, x.failure = true, nil
	}
	if ctx.Err() == nil && x.failure == nil {
		x.failure = x.recordBroken(broken)
	}
	if panics.In(x.failure) == nil && (ctx.Err() != nil || errors.Is(x.failure, context.Canceled)) {
		x.result.Interrupted = true
		return nil
	}
	return x.failure
}

func (x *execution) failed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.failure != nil
}

// prepareMissing makes the inputs and the truth of a case, if any of it has to run.
func (x *execution) prepareMissing(w work) (c *prepared, err error) {
	defer panics.Caught(&err, func() string { return "preparing " + describe(w.Case) })
	planned := w.entries
	w.entries = x.missing(w)
	if !slices.ContainsFunc(w.entries, func(e entry) bool { return e.verdict == nil }) {
		x.mu.Lock()
		x.result.Power.addRecorded(w, x.before(w))
		x.mu.Unlock()
		return nil, nil // a case that the device cannot hold is not made either
	}
	c, err = x.prepare(w)
	if w.operator.Reference != nil && skipUndefined(planned, err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", describe(w.Case), err)
	}
	x.mu.Lock()
	x.result.Power.add(w, c.powers)
	x.mu.Unlock()
	return c, nil
}

// skipUndefined rules that a case is skipped whose truth is not finite, and reports whether it is: a user's
// own reference may have no answer to some data or at some size, and the other cases judge what they can.
func skipUndefined(entries []entry, err error) bool {
	undefined := (*truth.UndefinedError)(nil)
	if !errors.As(err, &undefined) {
		return false
	}
	for i := range entries {
		if entries[i].verdict == nil {
			entries[i].verdict = &ruling{
				status:   op.StatusSkipped,
				sentence: "the truth of this case is not finite: " + undefined.Message,
			}
		}
	}
	return true
}

// missing returns the entries that a resumed session has not recorded yet; all of them in a new one. What was
// given up is not run.
func (x *execution) missing(w work) []entry {
	left := slices.DeleteFunc(slices.Clone(w.entries), func(e entry) bool {
		return x.Recorder.Done(record.Item{Case: w.Case, Impl: e.implementation.Name, Seed: x.request.Seed})
	})
	for i, e := range left {
		if e.verdict == nil {
			left[i].verdict = x.lossesOf(e, w.DType).ruling(w.DType)
		}
		if left[i].verdict == nil {
			left[i].verdict = x.tooLong(e)
		}
	}
	return left
}

// oneCase runs the plan of a case that is ready, and compares the implementations with each other. Without a
// prepared case it records only what is known beforehand.
func (x *execution) oneCase(ctx context.Context, w work, c *prepared) (err error) {
	defer panics.Caught(&err, func() string { return "working on " + describe(w.Case) })
	defer x.end(w)
	w.entries = x.missing(w)
	if c == nil {
		return x.recordRulings(w)
	}
	return x.allEntries(ctx, c, w.entries)
}

// allEntries runs entries on a case and compares the implementations with each other. Those of different
// workers run side by side; the adapters keep those of one worker apart.
func (x *execution) allEntries(ctx context.Context, c *prepared, entries []entry) error {
	var group panics.Group
	failures := make([]error, len(entries))
	for _, lane := range lanes(entries) {
		group.Go(func() {
			for n, i := range lane {
				left := n+1 < len(lane)
				if failures[i] = x.oneEntry(ctx, c, entries[i]); errors.Is(failures[i], errLeft) {
					failures[i], left = nil, true
				}
				if left && x.leaves(c) {
					x.cutShort()
				}
				if failures[i] != nil || x.leaves(c) {
					return
				}
			}
		})
	}
	if err := errors.Join(group.Wait(), errors.Join(failures...)); err != nil {
		return err
	}
	if x.leaves(c) { // its pairs are not compared
		x.cutShort()
		return nil
	}
	return x.compareEntries(c)
}

// recordBroken records which of the remaining implementations of a stopped run could not be built or
// imported: that may be why it was stopped, and a later run would find the same.
func (x *execution) recordBroken(left []work) error {
	for _, w := range left {
		w.entries = slices.DeleteFunc(x.missing(w),
			func(e entry) bool { return e.verdict == nil || e.verdict.status.Weight() != op.Bad })
		if err := x.recordRulings(w); err != nil {
			return err
		}
	}
	return nil
}

// recordRulings records a case whose results are all known beforehand.
func (x *execution) recordRulings(w work) error {
	for _, e := range w.entries {
		if err := x.oneEntry(context.Background(), &prepared{work: w}, e); err != nil {
			return err
		}
	}
	return nil
}

// oneEntry runs, judges and records one implementation on a case.
func (x *execution) oneEntry(ctx context.Context, c *prepared, e entry) (err error) {
	defer panics.Caught(&err, func() string { return e.on("running and judging", c.Case) })
	began := time.Now()
	r := newRecord(c, e, x.request.Seed, began)
	var outcome backend.Outcome
	if e.verdict == nil {
		outcome, e.verdict, err = x.inTurn(ctx, c, e)
	}
	if err == nil && e.verdict == nil {
		outcome, err = x.declined(ctx, c, e, outcome)
	}
	var trouble *backend.HostTrouble
	if errors.As(err, &trouble) {
		e.verdict, err = &ruling{status: op.StatusInterrupted, sentence: trouble.Sentence}, nil
	}
	if err != nil {
		return err
	}
	if e.verdict != nil && e.verdict.status == op.StatusInterrupted {
		x.leaveOpen(e, c.DType)
		return nil
	}
	if e.verdict != nil {
		r.Status, r.Message, r.LogTail = e.verdict.status, e.verdict.sentence, e.verdict.log
		return x.append(&r)
	}
	found := x.rules().ruleOn(c, e, outcome, &r)
	if err := x.inMemory(ctx, c, e, &r); err != nil {
		return err
	}
	if err := x.callAgain(ctx, c, e, outcome, &r, &found); err != nil {
		return err
	}
	if c.large() && x.stopRequested() {
		return errLeft // what was judged meanwhile may be judged in part
	}
	if found, err = x.called(ctx, c, e, found); err != nil {
		return err
	}
	x.known(c, e, found, &r)
	e.doubted(&r)
	if err := x.judgeTwin(ctx, c, e, &r); err != nil {
		return err
	}
	l := x.lossesOf(e, c.DType)
	l.judged(e, &r)
	l.ended(c.Key())
	r.Wall = time.Since(began)
	if err := x.append(&r); err != nil {
		return err
	}
	c.keep(e.implementation.Name, r.ID, outcome)
	return x.dump(c, e.implementation.Name, outcome)
}

// callAgain makes the further calls of an implementation on a case, and records what is wrong in them. It
// sets found to the findings that explain that.
func (x *execution) callAgain(ctx context.Context, c *prepared, e entry, outcome backend.Outcome,
	r *record.Record, found *[]op.Finding,
) error {
	if err := x.relate(ctx, c, e, outcome, r, found); err != nil {
		return err
	}
	if err := x.oneByOne(ctx, c, e, r, found); err != nil {
		return err
	}
	if err := x.eachConfiguration(ctx, c, e, outcome, r, found); err != nil {
		return err
	}
	return x.callAltered(ctx, c, e, r, found)
}

// placeRace finds the lines of a race.
func (x *execution) placeRace(ctx context.Context, c *prepared, e entry, r *record.Record) error {
	if x.Races == nil || r.Status != op.StatusRace {
		return nil
	}
	job, err := x.job(ctx, c, e)
	if err != nil {
		return err
	}
	if race := x.Races(ctx, e.backend, job); race != nil {
		r.Where = (*record.Where)(&race.Where)
		r.Message += "; " + race.Sentence
		for i := range r.Outputs {
			if r.Outputs[i].Status == op.StatusRace {
				r.Outputs[i].Message += "; " + race.Sentence
			}
		}
	}
	return nil
}

// dump passes on the outputs of the first launch.
func (x *execution) dump(c *prepared, implementation string, outcome backend.Outcome) error {
	if x.Dumper == nil || len(outcome.Launches) == 0 {
		return nil
	}
	var outputs []tensor.Tensor
	for _, o := range outcome.Launches[0].Outputs {
		if o.Present {
			outputs = append(outputs, o.Tensor)
		}
	}
	return x.Dumper.Outputs(c.Case, implementation, outputs)
}

// append records one result and keeps it for the report.
func (x *execution) append(r *record.Record) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if r.Device == "gpu" {
		r.GPU = x.GPU
	}
	if err := x.Recorder.Append(r); err != nil {
		return err
	}
	x.result.Records = append(x.result.Records, *r)
	return nil
}

// recordIndex finds the records of a case. A session has thousands of both, so none is searched for.
type recordIndex struct {
	known int              // records in the index: the first ones of the result
	at    map[string][]int // positions in the result, by the key of the case
}

// recordsOf returns what this run recorded of a case, in the order of the result. No record may run or change
// its place meanwhile.
func (x *execution) recordsOf(w work) []*record.Record {
	if x.byCase.at == nil {
		x.byCase.at = map[string][]int{}
	}
	for ; x.byCase.known < len(x.result.Records); x.byCase.known++ {
		key := x.result.Records[x.byCase.known].Case.Key()
		x.byCase.at[key] = append(x.byCase.at[key], x.byCase.known)
	}
	var of []*record.Record
	for _, i := range x.byCase.at[w.Key()] {
		of = append(of, &x.result.Records[i])
	}
	return of
}

// on describes work of an implementation on a case, in internal errors.
func (e entry) on(doing string, c op.Case) string {
	return fmt.Sprintf("%s %s on %s", doing, e.implementation.Name, describe(c))
}
