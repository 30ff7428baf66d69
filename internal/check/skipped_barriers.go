package check

import (
	"fmt"
	"path/filepath"
	"slices"
)

// takeSkipped moves findings that become notes at most out of the list: barriers that threads skipped by
// ending, and lanes that rely on lockstep.
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

// noteLockstep notes pre-Volta code for the last warp that works in device memory, once for each kernel. In
// shared memory such code is an ordinary race.
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

// noteSkipped notes barriers that a GPU passes although CUDA's programming guide calls their use wrong: a
// condition kept threads away that have since ended. A barrier waits only for threads that have not ended, so
// a thread that returned before is right; nothing is noted for a kernel that may return early.
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
