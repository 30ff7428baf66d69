package run

import (
	"slices"

	"triad/internal/op"
	"triad/internal/timing"
	"triad/internal/truth"
)

// compareCases returns the expansion of a comparison: the cases of its options and, if it times, one case of
// each pass and dtype to time.
func compareCases(request Request) expansion {
	if request.Timing == nil {
		return justJudged
	}
	return func(spec *op.Spec, o op.Options) (op.Plan, op.Plan, error) {
		plan, err := spec.Expand(o)
		if err != nil {
			return op.Plan{}, op.Plan{}, err
		}
		return plan, timing.CompareCases(spec, o), nil
	}
}

// assignTimed returns the timed cases with their entries. What an implementation lacks is recorded only for
// the judged cases.
func assignTimed(operator *truth.Operator, timed op.Plan, all []loaded, request Request) []work {
	planned := assign(operator, timed, all, request)
	for i, w := range planned {
		planned[i].timed = true
		planned[i].entries = slices.DeleteFunc(w.entries, func(e entry) bool { return e.verdict != nil })
	}
	return slices.DeleteFunc(planned, func(w work) bool { return len(w.entries) == 0 })
}

// timedWork is a case that a comparison times.
type timedWork struct {
	work
	judged bool // it is among the cases that are judged first
}

// splitTimed separates the cases that a comparison times from the others.
func splitTimed(planned []work) (judged []work, timed []timedWork) {
	at := map[string]work{}
	for _, w := range planned {
		if !w.timed {
			judged = append(judged, w)
			at[w.Key()] = w
		}
	}
	for _, w := range planned {
		if !w.timed {
			continue
		}
		same, is := at[w.Key()]
		if is {
			w = same
		}
		w.bySample = !is
		timed = append(timed, timedWork{w, is})
	}
	return judged, timed
}

// unjudged returns the cases that are judged only when they are timed.
func unjudged(timed []timedWork) []work {
	var all []work
	for _, w := range timed {
		if !w.judged {
			all = append(all, w.work)
		}
	}
	return all
}

// benchCases is the expansion of a bench: each case is timed as soon as it is judged.
func benchCases(spec *op.Spec, o op.Options) (op.Plan, op.Plan, error) {
	plan, err := timing.BenchCases(spec, o)
	return plan, op.Plan{}, err
}
