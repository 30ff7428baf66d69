package check

import (
	"fmt"
	"path/filepath"
	"slices"
)

// takeSkipped takes what is told in notes at most out of the findings: barriers that threads skipped by
// ending, and lanes that count on going in step.
func (r *run) takeSkipped() {
	r.findings = slices.DeleteFunc(r.findings, func(f Finding) bool {
		switch f.Kind {
		case BarrierSkipped:
			r.skipped = append(r.skipped, f)
		case Lockstep:
			r.lockstep = append(r.lockstep, f)
		default:
			return false
		}
		return true
	})
}

// noteLockstep notes code for the last warp as it was written before Volta, in memory of the device: once a
// kernel. In shared memory it is a race like any other.
func (r *Report) noteLockstep(one *run) {
	a := Lockstep.about()
	for _, f := range one.lockstep {
		if !f.Place.known() || !f.Other.known() || r.stepping[f.Kernel] {
			continue
		}
		if r.stepping == nil {
			r.stepping = map[string]bool{}
		}
		r.stepping[f.Kernel] = true
		lines := fmt.Sprintf("%s:%d", filepath.Base(f.Place.File), f.Place.Line)
		if *f.Place != *f.Other {
			lines += fmt.Sprintf(" and %s:%d", filepath.Base(f.Other.File), f.Other.Line)
		}
		r.Notes = append(r.Notes,
			fmt.Sprintf("%s, kernel %s: %s. %s %s", lines, f.Kernel, a.title, a.means, a.mend))
	}
}

// noteSkipped notes barriers of which CUDA's programming guide says that they are used wrongly, and which a
// GPU passes: a condition kept threads away that have ended since. A barrier waits for those alone that
// have not ended, so that a thread which returned before is right; where the kernel may return early,
// nothing is said.
func (r *Report) noteSkipped(q Request, one *run) {
	for _, f := range one.skipped {
		if !f.Place.known() || q.ReturnsEarly == nil || q.ReturnsEarly(f.Kernel) {
			continue
		}
		a := BarrierSkipped.about()
		note := fmt.Sprintf("%s:%d, kernel %s: %s. %s %s", filepath.Base(f.Place.File), f.Place.Line,
			f.Kernel, a.title, a.means, a.mend)
		if !slices.Contains(r.Notes, note) {
			r.Notes = append(r.Notes, note)
		}
	}
}
