package run

import (
	"slices"
	"strings"

	"triad/internal/backend"
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/record"
)

// candidates returns the findings that cover an entry on a case. For a user's file that may call a library
// they include those of the library's rows, if the call shows that it was used; see called.
func (u rules) candidates(c *prepared, e entry) []op.Finding {
	var all []op.Finding
	for _, f := range c.operator.Findings {
		calls := e.implementation.Calls
		if slices.ContainsFunc(f.Implementations, func(name string) bool {
			return (name == e.implementation.Name || calls != "" && strings.HasPrefix(name, calls+"/")) &&
				f.Covers(c.Case, name, e.implementation.Device, u.versions)
		}) {
			all = append(all, f)
		}
	}
	return all
}

// explaining returns the findings that explain everything that is wrong in an outcome, and none if anything
// is left: a finding must name each output that is not accepted, the gate that rejected it, and the kind of
// each wrong element.
func (u rules) explaining(c *prepared, e entry, outcome backend.Outcome,
	verdicts []judge.Verdict,
) []op.Finding {
	var used []op.Finding
	use := func(explains func(op.Finding) bool) bool {
		candidates := u.candidates(c, e)
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
