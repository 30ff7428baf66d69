package resultdiff

import (
	"slices"
	"time"

	"triad/internal/op"
	"triad/internal/record"
)

// Visit summarises the records of one session about one implementation of an operator.
type Visit struct {
	Session            string // ULID
	Started            time.Time
	Impl               string
	Source             string // content hash; "" if it could not be loaded
	Flags              string // of a user's file
	Conditions         *Conditions
	Good, Neutral, Bad int
	// against the newest earlier run of the implementation on the same case
	BecameWrong, BecameRight int
	ErrorMargin              *record.Float // the least of all outputs; nil if none was judged
	Times                    []TimeOfCase
}

// TimeOfCase is the time of a case.
type TimeOfCase struct {
	Case    op.Case
	CaseKey string
	Time    Time
}

// Step is a visit with its differences from the one before it.
type Step struct {
	Visit
	First   bool     // there is none before it
	Changed []string // "source", "flags none -> --grid=4", "torch 2.10.0 -> 2.11.0", ...
	Ratios  []RatioOfCase
	Alike   int // sessions after it in which nothing changed and nothing became of anything
}

// RatioOfCase compares the time of a case with the newest earlier one in the same regime: above 1 it takes
// longer now.
type RatioOfCase struct {
	Case op.Case
	Ratio
}

func (r RatioOfCase) different() bool { return r.SpeedVerdict == Slower || r.SpeedVerdict == Faster }

// Histories returns each implementation's sessions, oldest first, as steps: those without news are counted at
// the step before them, except the newest. visits are in the order of time.
func Histories(visits []Visit) map[string][]Step {
	all := map[string][]Step{}
	last := map[string]*Visit{}
	type timed struct{ impl, caseKey, regime string }
	times := map[timed]timedIn{}
	for i := range visits {
		v := &visits[i]
		step := Step{Visit: *v, First: last[v.Impl] == nil}
		if before := last[v.Impl]; before != nil {
			step.Changed = changed(before, v)
		}
		for _, t := range v.Times {
			key := timed{v.Impl, t.CaseKey, t.Time.Regime}
			if old, known := times[key]; known {
				a, b := &Entry{Conditions: old.visit.Conditions}, &Entry{Conditions: v.Conditions}
				step.Ratios = append(step.Ratios, RatioOfCase{t.Case, ratio(a, b, old.time, t.Time)})
			}
			times[key] = timedIn{v, t.Time}
		}
		last[v.Impl] = v
		all[v.Impl] = append(all[v.Impl], step)
	}
	for impl, steps := range all {
		decide(steps)
		all[impl] = folded(steps)
	}
	return all
}

type timedIn struct {
	visit *Visit
	time  Time
}

// decide sets the speed verdicts of the ratios of one implementation.
func decide(steps []Step) {
	var judged []*Ratio
	for i := range steps {
		for j := range steps[i].Ratios {
			if r := &steps[i].Ratios[j].Ratio; r.Why == "" {
				judged = append(judged, r)
			}
		}
	}
	adjust(judged)
}

// changed lists the differences of a visit from the one before.
func changed(a, b *Visit) []string {
	var all []string
	if a.Source != b.Source {
		all = append(all, "source")
	}
	if a.Flags != b.Flags {
		all = appendCause(all, "flags", []string{a.Flags}, []string{b.Flags})
	}
	one := func(v *Visit) Side { return Side{Entries: []Entry{{Conditions: v.Conditions}}} }
	return append(all, Causes(one(a), one(b))...)
}

// folded counts steps without news at the step before them. The newest step is kept: it is the present state.
func folded(steps []Step) []Step {
	var kept []Step
	for i, s := range steps {
		news := s.First || len(s.Changed) > 0 || s.BecameWrong > 0 || s.BecameRight > 0 ||
			i == len(steps)-1 ||
			slices.ContainsFunc(s.Ratios, RatioOfCase.different)
		if news {
			kept = append(kept, s)
		} else {
			kept[len(kept)-1].Alike++
		}
	}
	return kept
}
