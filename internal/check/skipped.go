package check

import (
	"fmt"
	"path/filepath"
	"slices"
)

// takeSkipped takes the barriers that threads skipped by ending out of the findings.
func (r *run) takeSkipped() {
	r.findings = slices.DeleteFunc(r.findings, func(f Finding) bool {
		if f.Kind == BarrierSkipped {
			r.skipped = append(r.skipped, f)
		}
		return f.Kind == BarrierSkipped
	})
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
