package run

import (
	"context"
	"slices"
	"strings"

	"triad/internal/backend"
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/record"
)

// FindingSeen is the outcome of a documented finding in a run: how many of the judged cases it covers, and in
// how many of them it showed.
type FindingSeen struct {
	op.Finding
	Op           string
	Covered      int // judged cases that it covers
	Shown, Wrong int // those that are KNOWN by it; those that are bad for another reason
}

// Gone reports whether the finding no longer happens: enough cases that it covers were judged, and all are as
// they should be.
func (f FindingSeen) Gone() bool { return f.Covered >= f.Enough && f.Shown == 0 && f.Wrong == 0 }

// candidates returns the findings that cover an entry on a case. For a user's file that may call a library
// they include those of the library's rows, if the call shows that it was used; see called.
func (x *execution) candidates(c *prepared, e entry) []op.Finding {
	var all []op.Finding
	for _, f := range c.operator.Findings {
		calls := e.implementation.Calls
		if slices.ContainsFunc(f.Implementations, func(name string) bool {
			return (name == e.implementation.Name || calls != "" && strings.HasPrefix(name, calls+"/")) &&
				f.Covers(c.Case, name, e.implementation.Device, x.result.Versions)
		}) {
			all = append(all, f)
		}
	}
	return all
}

// explaining returns the findings that explain everything that is wrong in an outcome, and none if anything
// is left: a finding must name each output that is not accepted, the gate that rejected it, and the kind of
// each wrong element.
func (x *execution) explaining(c *prepared, e entry, outcome backend.Outcome,
	verdicts []judge.Verdict,
) []op.Finding {
	var used []op.Finding
	use := func(explains func(op.Finding) bool) bool {
		candidates := x.candidates(c, e)
		at := slices.IndexFunc(candidates, explains)
		if at >= 0 &&
			!slices.ContainsFunc(used, func(f op.Finding) bool { return f.ID == candidates[at].ID }) {
			used = append(used, candidates[at])
		}
		return at >= 0
	}
	if outcome.Status == op.StatusCrash {
		use(func(f op.Finding) bool { return f.Raises != "" && strings.Contains(outcome.Sentence, f.Raises) })
		return used
	}
	for i, v := range verdicts {
		if v.Status.Weight() != op.Bad {
			continue
		}
		looks := func(f op.Finding) bool { return c.looks(f, v, e, outcome, i) }
		if v.Status != op.StatusFail || !use(looks) {
			return nil
		}
	}
	return used
}

// called reduces the findings that explain a user's file to those whose operation it called: the call is
// repeated and recorded. What else the file holds, or calls elsewhere, excuses nothing.
func (x *execution) called(ctx context.Context, c *prepared, e entry, found []op.Finding) ([]op.Finding,
	error,
) {
	if e.implementation.Calls == "" || len(found) == 0 {
		return found, nil
	}
	job, err := x.job(ctx, c, e)
	if err != nil {
		return nil, err
	}
	job.Launches = []backend.LaunchPlan{{Poison: "a", Order: backend.OrderRecorded}}
	outcome, err := x.attempt(ctx, e, job)
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		if !slices.ContainsFunc(f.Calls, func(name string) bool {
			return slices.Contains(outcome.Calls, name)
		}) {
			return nil, nil // what it explains stays unexplained
		}
	}
	return found, nil
}

// known marks a record that findings explain as KNOWN, and counts the outcome of those that cover it.
func (x *execution) known(c *prepared, e entry, found []op.Finding, r *record.Record) {
	if (r.Status == op.StatusFail || r.Status == op.StatusCrash) && len(found) > 0 {
		var words []string
		for _, f := range found {
			words = append(words, f.ID+": "+f.Happens)
		}
		r.Status, r.Message = op.StatusKnown, strings.Join(words, "; ")
	}
	if e.implementation.Calls != "" { // it says nothing about whether the library still has the fault
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, f := range x.candidates(c, e) {
		seen := x.result.seen(c.Op, f)
		switch {
		case slices.ContainsFunc(found, func(o op.Finding) bool { return o.ID == f.ID }) &&
			r.Status == op.StatusKnown:
			seen.Covered++
			seen.Shown++
		case r.Status.Weight() == op.Good, r.Status == op.StatusDifferentContract:
			seen.Covered++
		case r.Status.Weight() == op.Bad, r.Status == op.StatusKnown:
			seen.Covered++
			seen.Wrong++
		}
	}
}

// seen returns the counts of a finding.
func (r *Result) seen(operator string, f op.Finding) *FindingSeen {
	at := slices.IndexFunc(r.Findings, func(s FindingSeen) bool { return s.Op == operator && s.ID == f.ID })
	if at < 0 {
		at = len(r.Findings)
		r.Findings = append(r.Findings, FindingSeen{Finding: f, Op: operator})
	}
	return &r.Findings[at]
}

// doubted ends a bad record as NOT_UNDERSTOOD if the function was read with a guess that may be to blame.
func (e entry) doubted(r *record.Record) {
	if r.Status.Weight() != op.Bad || r.Status == op.StatusInconclusive {
		return
	}
	var why []string
	for _, d := range e.implementation.Doubts {
		race := d.Races && r.Status == op.StatusRace && r.Where != nil // its lines are known
		if !race && d.About(r.Case) && (d.Output == "" || isAlone(d.Output, r.Outputs)) {
			why = append(why, d.Why)
		}
	}
	if len(why) > 0 && r.Status == op.StatusHang { // no reading has a function return that never does
		r.Message += ". It was read with a guess: " + strings.Join(why, ". ")
		return
	}
	if len(why) > 0 {
		r.Message = strings.Join(why, ". ") + ". As it is read: " +
			strings.TrimSuffix(r.Status.String()+": "+r.Message, ": ")
		r.Status = op.StatusNotUnderstood
	}
}

// isAlone reports whether an output is the only one that is wrong.
func isAlone(output string, verdicts []record.Verdict) bool {
	var wrong []string
	for _, v := range verdicts {
		if v.Status.Weight() == op.Bad {
			wrong = append(wrong, v.Name)
		}
	}
	return slices.Equal(wrong, []string{output})
}
