package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"triad/internal/backend"
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/panics"
	"triad/internal/record"
	"triad/internal/stats"
)

// Bench judges and times every wanted implementation on the bench points of the operators.
func (r *Runner) Bench(ctx context.Context, request Request) (result Result, err error) {
	err = result.unlessStopped(ctx, r.bench(ctx, request, &result))
	return result, err
}

func (r *Runner) bench(ctx context.Context, request Request, result *Result) (err error) {
	defer panics.Caught(&err, func() string { return "timing " + names(request) })
	if request.Timing == nil {
		return errors.New("bench: the request has no plan of timing")
	}
	if err := r.timingKept(request); err != nil {
		return err
	}
	backends, err := r.wanted(request.Impls)
	if err != nil {
		return err
	}
	began := time.Now()
	together(backends) // what is timed was judged in the process that times it
	planned, versions, err := r.plan(ctx, request, benchCases, backends, result)
	if err != nil {
		return err
	}
	result.spend("loading", began)
	result.Versions = versions
	if err := r.Recorder.Plan(items(planned, request.Seed), versions); err != nil {
		return err
	}
	x := &execution{Runner: r, request: request, result: result, cases: len(planned), began: time.Now()}
	x.resumed()
	if err := x.measureRulers(ctx, backends, planned); err != nil {
		return err
	}
	for i, w := range planned {
		if x.Stop.Err() != nil || ctx.Err() != nil {
			result.Interrupted = true
			break
		}
		x.progress(Progress{Case: i, Cases: len(planned), Elapsed: time.Since(x.began)})
		if err := x.benchCase(ctx, w, planned[i+1:]); err != nil {
			return err
		}
	}
	return nil
}

// benchCase judges every implementation of a case and times those that passed: all of them, where a resumed session
// lacks anything of the case, since only what was timed in the same rounds can be compared.
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
	slices.SortStableFunc(x.result.Records[from:], func(a, b record.Record) int { return at(a) - at(b) }) // not as they came in
	if x.leaves(c) {
		x.cutShort()
		return nil
	}
	x.ahead.wait()
	x.result.spend("running and judging", began)
	return x.time(ctx, c, x.result.Records[from:])
}

// complete says whether all there is to find of a case is recorded, or known beforehand.
func (x *execution) complete(w work) bool {
	return !slices.ContainsFunc(x.missing(w), func(e entry) bool { return e.verdict == nil }) && x.timedBefore(x.before(w))
}

// before is what a resumed session has recorded of a case.
func (x *execution) before(w work) []record.Record {
	var all []record.Record
	for _, r := range x.request.Before {
		if r.Case.Key() == w.Key() {
			all = append(all, r)
		}
	}
	return all
}

// timedBefore says whether every record that could be timed was, in every regime of the plan.
func (x *execution) timedBefore(before []record.Record) bool {
	for _, r := range before {
		for _, regime := range x.request.Timing.Regimes {
			if timeable(r) && !slices.ContainsFunc(r.Timings, func(t record.Timing) bool { return t.Regime == regime.String() }) {
				return false
			}
		}
	}
	return true
}

// timeable says whether a record's implementation may be timed.
func timeable(r record.Record) bool {
	return r.Device == "gpu" && (r.Status.Weight() == op.Good || r.Status == op.StatusDifferentContract)
}

// time times what passed on a case, in every regime of the plan.
func (x *execution) time(ctx context.Context, c *prepared, records []record.Record) (err error) {
	defer panics.Caught(&err, func() string { return "timing what passed on " + describe(c.Case) })
	for _, regime := range x.request.Timing.Regimes {
		if x.leaves(c) {
			x.cutShort()
			return nil
		}
		if err := x.inRegime(ctx, regime, c, records); err != nil && !errors.Is(err, errLeft) {
			return err
		}
	}
	return nil
}

// inRegime times what passed on a case in one regime. Where the fastest turns out to be wrong or impossible, the others are timed again
// without it: how many rounds each got followed from a time that is none.
func (x *execution) inRegime(ctx context.Context, regime Regime, c *prepared, records []record.Record) error {
	out := map[*record.Record]bool{}
	for {
		h := &heat{execution: x, regime: regime, plan: *x.request.Timing, out: out}
		if err := x.oneHeat(ctx, h, c, records); err != nil || len(h.contenders) == 0 {
			return err
		}
		timings, err := x.timingsOf(h, c)
		if err != nil {
			return err
		}
		wrong := h.badLeader(timings)
		if wrong == nil {
			return x.recordHeat(h, timings)
		}
		if err := x.recordTiming(wrong, timings[wrong]); err != nil {
			return err
		}
		out[wrong.record] = true
	}
}

// oneHeat times what passed on a case in one regime and judges what the timed calls wrote.
func (x *execution) oneHeat(ctx context.Context, h *heat, c *prepared, records []record.Record) error {
	began := time.Now()
	if err := x.enter(ctx, h, c, records); err != nil || len(h.contenders) == 0 {
		return err
	}
	x.result.spend("preparing timed calls", began)
	began = time.Now()
	if err := h.run(ctx); err != nil {
		return err
	}
	x.result.spend("timing", began)
	began = time.Now()
	err := h.finish(ctx, c)
	x.result.spend("judging what they wrote", began)
	if err == nil && x.leaves(c) {
		x.cutShort()
		return errLeft
	}
	return err
}

// enter prepares an arm for each implementation that passed, and a second one of that which seems fastest.
func (x *execution) enter(ctx context.Context, h *heat, c *prepared, records []record.Record) error {
	var fastest *contender
	for i := range records {
		r := &records[i]
		at := slices.IndexFunc(c.entries, func(e entry) bool { return e.verdict == nil && e.implementation.Name == r.Impl })
		if r.Case.Key() != c.Key() || !timeable(*r) || h.out[r] || at < 0 {
			continue
		}
		k := &contender{entry: c.entries[at], record: r}
		var err error
		var stopped *stoppedBefore
		if k.job, err = x.job(ctx, c, k.entry); errors.As(err, &stopped) { // its own forward, which it had run before
			k.fail(stopped.outcome)
			h.contenders = append(h.contenders, k)
			continue
		}
		if err != nil {
			return err
		}
		if err := x.ready(ctx, h.regime, k); err != nil {
			return err
		}
		if k.failed == op.StatusUnsupported {
			continue
		}
		h.contenders = append(h.contenders, k)
		if k.arm != nil && (fastest == nil || k.arm.Facts().EstimateNS < fastest.arm.Facts().EstimateNS) {
			fastest = k
		}
	}
	if fastest == nil {
		return nil
	}
	twin := &contender{entry: fastest.entry, record: fastest.record, job: fastest.job, shadow: true}
	if err := x.ready(ctx, h.regime, twin); err != nil || twin.arm == nil {
		return err
	}
	h.contenders = append(h.contenders, twin)
	return nil
}

// ready prepares a contender's arm.
func (x *execution) ready(ctx context.Context, regime Regime, k *contender) (err error) {
	defer panics.Caught(&err, func() string { return "preparing the timed calls of " + k.implementation.Name })
	arm, outcome, err := k.backend.Measure(ctx, backend.MeasureJob{Job: k.job, Cold: regime.Cold, GraphNS: graphNS})
	if err != nil {
		return err
	}
	if outcome.Status != op.StatusUnknown && ctx.Err() != nil {
		return ctx.Err()
	}
	if outcome.Status != op.StatusUnknown {
		k.fail(outcome)
		return nil
	}
	k.arm, k.note = arm, arm.Facts().Note
	if k.implementation.Pass == op.Backward {
		k.backward = backwardOf(arm.Facts())
	}
	x.notePhysics(arm.Facts().Device)
	return nil
}

// backwardOf is what a timed backward starts from. The word is the worker's own: one that is not known is none.
func backwardOf(f backend.PrepareReply) string {
	switch f.Backward {
	case "":
		return record.SavedTensors
	case record.SavedTensors, record.RetainedGraph, record.ForwardBackward:
		return f.Backward
	}
	return ""
}

// notePhysics keeps what any worker could read from the device.
func (x *execution) notePhysics(p backend.DevicePhysics) {
	old := &x.physics
	old.L2Bytes, old.Multiprocessors = max(old.L2Bytes, p.L2Bytes), max(old.Multiprocessors, p.Multiprocessors)
	old.BytesPerSecond, old.ClockMHz = max(old.BytesPerSecond, p.BytesPerSecond), max(old.ClockMHz, p.ClockMHz)
	if p.Major > 0 {
		old.Major, old.Minor = p.Major, p.Minor
	}
}

// timingsOf describes what every contender of a case did in one regime.
func (x *execution) timingsOf(h *heat, c *prepared) (map[*contender]*record.Timing, error) {
	w, err := workOf(c)
	if err != nil {
		return nil, err
	}
	timings := map[*contender]*record.Timing{}
	for _, k := range h.contenders {
		t := k.summarise(h.regime, x.rulers, x.limits(c), w)
		if h.regime.Cold && t.Sets > 0 && t.RotatedBytes < x.physics.L2Bytes && backend.CacheMatters(t.MedianNS, w.BytesRead+w.BytesWritten) {
			t.Message = strings.TrimPrefix(t.Message+fmt.Sprintf("; %d sets fit into the L2 cache: not cold", t.Sets), "; ")
		}
		timings[k] = &t
	}
	return timings, nil
}

// recordHeat stores the timings and ratios of one case in one regime.
func (x *execution) recordHeat(h *heat, timings map[*contender]*record.Timing) error {
	comparisons := h.compare(timings)
	for _, k := range h.contenders {
		if k.shadow {
			continue
		}
		if err := x.recordTiming(k, timings[k]); err != nil {
			return err
		}
	}
	x.result.Comparisons = append(x.result.Comparisons, comparisons...)
	return x.Timings.AppendComparisons(comparisons)
}

// recordTiming stores one timing, in place of an older one of its regime.
func (x *execution) recordTiming(k *contender, t *record.Timing) error {
	if k.note != "" {
		t.Message = strings.TrimPrefix(t.Message+"; "+k.note, "; ")
	}
	k.record.Timings = append(slices.DeleteFunc(k.record.Timings, func(o record.Timing) bool { return o.Regime == t.Regime }), *t)
	return x.Timings.AppendTiming(k.record.ID, *t)
}

// workOf is what a case must move and compute.
func workOf(c *prepared) (stats.Work, error) {
	var w stats.Work
	var err error
	if w.Bytes, w.FLOPs, err = c.operator.Spec.Cost(c.Case); err != nil {
		return w, err
	}
	inputs, err := c.operator.Spec.Inputs(c.Case)
	if err != nil {
		return w, err
	}
	for _, t := range inputs {
		w.BytesRead += t.Elements() * t.DType.Size()
	}
	for _, t := range c.outputs {
		w.BytesWritten += t.Elements() * t.DType.Size()
	}
	w.Product = product(c.DType)
	return w, nil
}

// product is the ruler of the matrix products of a dtype.
func product(dtype string) string {
	switch {
	case strings.HasPrefix(dtype, "e4m3"), strings.HasPrefix(dtype, "e5m2"):
		return backend.RulerFP8
	case dtype == "fp32":
		return backend.RulerFP32
	}
	return backend.RulerBF16
}

// limits are what the device cannot exceed on a case. The FLOPs of a multiprocessor and clock are known of compute capability 9.0 alone:
// 4096 in 16 bits, 8192 in fp8, 2048 (TF32, which no contract here allows) in fp32.
func (x *execution) limits(c *prepared) stats.Limits {
	p := x.physics
	l := stats.Limits{Bytes: p.BytesPerSecond}
	if p.Major == 9 && p.Minor == 0 {
		flops := map[string]float64{backend.RulerFP8: 8192, backend.RulerBF16: 4096, backend.RulerFP32: 2048}[product(c.DType)]
		l.FLOPs = flops * float64(p.Multiprocessors) * p.ClockMHz * 1e6
	}
	return l
}

// judgeTimed judges what the timed calls wrote: into the first set of outputs and into the last, which hold different poisons; the sets
// between must hold the same bits.
func (x *execution) judgeTimed(c *prepared, k *contender, outcome backend.Outcome, differing []backend.Differing) (op.Status, string) {
	if outcome.Status != op.StatusUnknown {
		return outcome.Status, "after its calls were timed: " + outcome.Sentence
	}
	for _, d := range differing {
		if slices.Contains(k.implementation.Nondeterministic, d.Output) {
			continue
		}
		text := fmt.Sprintf("the timed calls gave other bits of %s in set %d of the same inputs than in the first: %d bytes differ", d.Output, d.Set+1, d.Bytes)
		if len(d.Inputs) > 0 {
			text += fmt.Sprintf(", and its %s, which a call may not write to, changed", strings.Join(d.Inputs, ", "))
		}
		return op.StatusFail, text
	}
	if k.shadow || c.judgedBefore(k.record.ID, outcome) {
		return op.StatusUnknown, ""
	}
	standard := c.operator.Spec.DefaultContract(c.DType)
	plan := judge.Plan{Outputs: c.outputs, Gives: k.implementation.Outputs, Nondeterministic: k.implementation.Nondeterministic,
		Launches: len(outcome.Launches)}
	verdicts := judge.UnderContracts(plan, answer(outcome), c.truth, standard, k.implementation.Contract)
	status := judge.Row(verdicts)
	if status.Weight() != op.Bad {
		return op.StatusUnknown, ""
	}
	text := "what the timed calls wrote is not accepted"
	if worst := slices.IndexFunc(verdicts, func(v judge.Verdict) bool { return v.Status == status }); worst >= 0 {
		text = "what the timed calls wrote: " + verdicts[worst].Sentence
	}
	return status, text
}
