package run

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/truth"
)

// Plan is a request turned into work: every case in order, who runs on it, and what is known of that
// beforehand. It is made once, before anything is run or recorded, and then executed.
type Plan struct {
	Versions    record.Toolchain
	Unavailable []string // what was asked for by name and is missing: a sentence each
	Smaller     []string // which timed points are smaller than the spec has them: a sentence each

	seed     uint64
	level    op.Level
	backends []backend.Backend
	judged   []work
	timed    []timedWork // after everything is judged
	timesAll bool        // each case after it is judged
}

// PlannedCase is one case of a plan. Elements counts those of all its tensors; a launch must move at least
// Bytes and compute at least FLOPs.
type PlannedCase struct {
	op.Case
	Judged bool // else it is judged only when it is timed
	Timed  bool // once it is judged, where it passes
	// Moderate: the case of its operator and dtype that a gradcheck launches more often
	Moderate               bool
	Relations              []string // between calls that are evaluated here: each needs further launches
	Elements, Bytes, FLOPs int64
	Runs                   []PlannedRun
}

// PlannedRun is one implementation on a case. Status is unknown if it is run; else it is recorded with
// Message, and nothing is launched.
type PlannedRun struct {
	Impl, Contract, Device, Source string
	Launches                       int
	Status                         op.Status
	Message                        string
}

// Work estimates the cost of a case, to split a plan into parts that take equally long: the larger of bytes
// and FLOPs, over all launches. It has no unit.
func (c PlannedCase) Work() float64 {
	launches := 0
	for _, r := range c.Runs {
		launches += r.Launches
	}
	return float64(launches) * math.Max(float64(c.Bytes), float64(c.FLOPs))
}

// PlanCompare returns the plan of Compare.
func (r *Runner) PlanCompare(ctx context.Context, request Request) (*Plan, error) {
	var err error
	if request.Operators, err = withDTypes(request); err != nil {
		return nil, err
	}
	p, err := r.makePlan(ctx, request, compareCases(request))
	if err != nil {
		return nil, err
	}
	if !request.Single {
		if err := markRelations(p.judged, request.Options.Level); err != nil {
			return nil, err
		}
	}
	if request.Gradients {
		if err := markModerate(p.judged); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(markConfigured(p.judged), markAltered(p.judged)); err != nil {
		return nil, err
	}
	return p, p.cut(request.Shard)
}

// PlanBench returns the plan of Bench, which times each case as soon as it is judged.
func (r *Runner) PlanBench(ctx context.Context, request Request) (*Plan, error) {
	p, err := r.makePlan(ctx, request, benchCases)
	if err != nil {
		return nil, err
	}
	p.timesAll = true
	for i, w := range p.judged {
		p.judged[i].bySample = !slices.ContainsFunc(w.entries, func(e entry) bool { return own(e) })
	}
	return p, p.cut(request.Shard)
}

// Cases lists the judged cases, in the order in which they are recorded, and then those that are judged only
// when they are timed.
func (p *Plan) Cases() ([]PlannedCase, error) {
	var all []PlannedCase
	for _, w := range p.judged {
		c, err := p.planned(w)
		if err != nil {
			return nil, err
		}
		c.Judged, c.Timed = true, p.timesAll
		all = append(all, c)
	}
	for _, w := range p.timed {
		if w.judged {
			at := slices.IndexFunc(all, func(c PlannedCase) bool { return c.Key() == w.Key() })
			all[at].Timed = true
			continue
		}
		c, err := p.planned(w.work)
		if err != nil {
			return nil, err
		}
		c.Timed = true
		all = append(all, c)
	}
	return all, nil
}

// planned describes one case.
func (p *Plan) planned(w work) (c PlannedCase, err error) {
	c.Case, c.Moderate = w.Case, w.moderate
	for name := range w.between {
		c.Relations = append(c.Relations, name)
	}
	slices.Sort(c.Relations)
	if c.Elements, _, err = w.operator.Spec.Footprint(w.Case); err != nil {
		return c, err
	}
	if c.Bytes, c.FLOPs, err = w.operator.Spec.Cost(w.Case); err != nil {
		return c, err
	}
	for _, e := range w.entries {
		i := e.implementation
		run := PlannedRun{Impl: i.Name, Contract: i.Contract, Device: i.Device, Source: i.Source}
		if e.verdict != nil {
			run.Status, run.Message = e.verdict.status, e.verdict.sentence
		} else {
			run.Launches = len(w.launches(i.Device, p.level))
		}
		c.Runs = append(c.Runs, run)
	}
	return c, nil
}

// expansion returns the cases of a spec that are judged, and those that are timed after all are judged.
type expansion func(*op.Spec, op.Options) (judged, timed op.Plan, err error)

// justJudged is the expansion of a run that times nothing.
func justJudged(spec *op.Spec, o op.Options) (op.Plan, op.Plan, error) {
	plan, err := spec.Expand(o)
	return plan, op.Plan{}, err
}

// makePlan expands every operator of a request and loads the backends' implementations of it.
func (r *Runner) makePlan(ctx context.Context, request Request, expand expansion) (*Plan, error) {
	backends, err := r.wanted(request.Impls)
	if err != nil {
		return nil, err
	}
	p := &Plan{
		Versions: record.Toolchain{}, seed: request.Seed, level: request.Options.Level, backends: backends,
	}
	plans, timed := make([]op.Plan, len(request.Operators)), make([]op.Plan, len(request.Operators))
	for i, operator := range request.Operators {
		if plans[i], timed[i], err = expand(operator.Spec, request.Options); err != nil {
			return nil, err
		}
		p.Smaller = append(append(p.Smaller, plans[i].Smaller...), timed[i].Smaller...)
	}
	if !request.OnlyPlan {
		expectJobs(backends, request.Impls, plans)
	}
	var planned []work
	var rows []record.Record
	prefixes := slices.Compact(slices.Sorted(slices.Values(request.Impls)))
	lacking := map[string]int{} // by prefix, operators without an implementation that it matches
	for i, operator := range request.Operators {
		r.progress(Progress{Text: "loading the implementations of " + operator.Spec.Name})
		all, err := r.load(ctx, operator.Spec.Name, backends)
		if err != nil {
			return nil, err
		}
		for _, l := range all {
			for name, version := range l.hello.Versions {
				p.Versions[name] = version
			}
		}
		rows = append(rows, rowsOf(all, operator.Spec.Name)...)
		missing := nothingMatches(all, prefixes, operator.Spec.Name)
		for _, prefix := range slices.Sorted(maps.Keys(missing)) {
			if lacking[prefix]++; len(missing) == len(prefixes) || lacking[prefix] == len(request.Operators) {
				return nil, missing[prefix]
			}
		}
		planned = append(planned, assign(operator, plans[i], all, request)...)
		planned = append(planned, assignTimed(operator, timed[i], all, request)...)
	}
	p.Unavailable = Unavailable(request.Impls, rows)
	p.judged, p.timed = splitTimed(request.kept(planned))
	return p, markOrdinary(p.judged)
}

// withDTypes leaves out, of several operators, those with none of the given dtypes: --dtype bf16 means
// whatever has bf16.
func withDTypes(request Request) ([]*truth.Operator, error) {
	if len(request.Operators) == 1 || len(request.Options.DTypes) == 0 {
		return request.Operators, nil
	}
	var kept []*truth.Operator
	for _, o := range request.Operators {
		if slices.ContainsFunc(request.Options.DTypes,
			func(d string) bool { return slices.Contains(o.Spec.DTypes, d) }) {
			kept = append(kept, o)
		}
	}
	if len(kept) == 0 {
		return nil, usagef("no operator has dtype %s: triad ops list shows what each has",
			strings.Join(request.Options.DTypes, ", "))
	}
	return kept, nil
}

// nothingMatches returns the usage errors of prefixes that match no implementation although their families
// are available.
func nothingMatches(all []loaded, impls []string, operator string) map[string]error {
	missing := map[string]error{}
	for _, prefix := range impls {
		var have []string
		family, _, _ := strings.Cut(prefix, "/")
		found := false
		for _, l := range all {
			if !slices.Contains(l.backend.Families(), family) {
				continue
			}
			found = found || l.ruling(family) != nil
			names := l.names()
			for _, f := range l.failed {
				names = append(names, f.Implementation)
			}
			for _, name := range names {
				found = found || matches(name, []string{prefix}, names)
			}
			have = append(have, names...)
		}
		if !found {
			missing[prefix] = usagef("%s has no implementation %q: it has %s", operator, prefix,
				strings.Join(have, ", "))
		}
	}
	return missing
}

// kept returns the part of a plan that is to be run.
func (r Request) kept(planned []work) []work {
	if r.Keep == nil {
		return planned
	}
	for i, w := range planned {
		planned[i].entries = slices.DeleteFunc(w.entries,
			func(e entry) bool { return !r.Keep(w.Case, e.implementation.Name) })
	}
	return slices.DeleteFunc(planned, func(w work) bool { return len(w.entries) == 0 })
}

// items returns what is to be recorded: what a resumed session must have.
func (p *Plan) items() []record.Item {
	var all []record.Item
	for _, w := range slices.Concat(p.judged, unjudged(p.timed)) {
		for _, e := range w.entries {
			all = append(all, record.Item{
				Case: w.Case, Impl: e.implementation.Name, Seed: p.seed, Source: e.implementation.Source,
			})
		}
	}
	return all
}
