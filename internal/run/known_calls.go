package run

import (
	"context"
	"slices"
	"strings"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
)

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
	for _, f := range x.rules().candidates(c, e) {
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
