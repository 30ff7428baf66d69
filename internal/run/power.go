package run

import (
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/record"
)

// add counts a case by the power of its outputs.
func (p *Power) add(w work, powers []judge.Power) {
	switch {
	case len(powers) == 0:
	case w.operator.Spec.Trivial(w.Case) != "":
		p.Trivial = append(p.Trivial, w.Case)
	default:
		p.Cases++
		if slices.ContainsFunc(powers, func(x judge.Power) bool { return x.None }) {
			p.Powerless = append(p.Powerless, w.Case)
		}
	}
}

// addRecorded counts a case that an interrupted session had finished, by its records. A powerless case is
// recognised by an implementation that passed: its record is NO_POWER.
func (p *Power) addRecorded(w work, records []record.Record) {
	compared, powerless := false, false
	for _, r := range records {
		for _, v := range r.Outputs {
			compared = compared || v.NCompared > 0
			powerless = powerless || v.Status == op.StatusNoPower
		}
	}
	if compared {
		p.add(w, []judge.Power{{None: powerless}})
	}
}
