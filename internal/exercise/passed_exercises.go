package exercise

import (
	"path"
	"strings"
	"time"

	"triad/internal/record"
)

// Pass is the first time that an exercise was passed.
type Pass struct {
	Time    time.Time
	Session string
}

// Done returns the exercises that are done. An exercise is done when a session judged a file of its name in
// its pass, and
//
//   - the session ran its plan to the end, and did not ask for chosen cases alone,
//   - at least one case of the pass is good, none is bad, and none was not understood.
//
// The database knows a file's name and verdicts, not its text: that the file uses the exercise's idea is the
// learner's word. Once done, an exercise stays done, whatever becomes of the file.
func Done(all []Exercise, tallies []record.Tally) map[string]Pass {
	done := map[string]Pass{}
	for _, e := range all {
		for _, t := range tallies {
			before, is := done[e.Name]
			if e.passedBy(t) && (!is || t.Started.Before(before.Time)) {
				done[e.Name] = Pass{Time: t.Started, Session: t.Session}
			}
		}
	}
	return done
}

// passedBy reports whether a tally is that of the exercise's file, and passes it.
func (e Exercise) passedBy(t record.Tally) bool {
	return t.Op == e.Op && t.Pass == e.Pass && FileOf(t.Impl) == e.File && t.Complete && !t.Narrowed() &&
		t.Good > 0 && t.Bad == 0 && t.NotUnderstood == 0
}

// FileOf returns the name of the file of a user's implementation: softmax.cu of "mine/day3/softmax.cu:solve".
func FileOf(impl string) string {
	for _, ending := range []string{".cu", ".py"} {
		if before, _, is := strings.Cut(impl, ending+":"); is {
			return path.Base(before + ending)
		}
	}
	return path.Base(impl)
}
