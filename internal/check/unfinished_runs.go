package check

import (
	"fmt"
	"slices"
	"time"
)

// noteUnfinished notes a run that was stopped while still working.
func (r *Report) noteUnfinished(one *run) {
	a := Unfinished.about()
	if one.working {
		a.means = "Its host code was at work, which the emulator slows down too: whether that ends is not " +
			"known. Only what was done until then was checked."
	}
	if one.waits != "" {
		a.title = "the program was stopped: " + one.waits
		a.means = "Here a launch ends before the host goes on, on a GPU it does not: whether it is " +
			"right is not known. Only what was done until then was checked."
		a.mend = "Check it with what the kernel waits for set before the launch."
	}
	r.Unfinished = append(r.Unfinished, one.order)
	r.Notes = append(r.Notes, fmt.Sprintf("In order %s, after %v, %s. %s %s", one.order,
		one.took.Round(time.Second), a.title, a.means, a.mend))
}

// noteForeign notes that the findings file has lines of another writer.
func (r *Report) noteForeign(one *run) {
	r.Unfinished = append(r.Unfinished, one.order)
	note := fmt.Sprintf("Of the file of findings %d lines are not the emulator's: the program wrote them "+
		"itself, or started another program that is checked. They are not shown, and that nothing else was "+
		"found proves nothing.", one.foreign)
	if !slices.Contains(r.Notes, note) {
		r.Notes = append(r.Notes, note)
	}
}

// takeUnfinished removes from the findings the emulator's note that it stopped the program while still
// working.
func (r *run) takeUnfinished() {
	i := slices.IndexFunc(r.findings, func(f Finding) bool { return f.Kind == Unfinished })
	if i < 0 {
		return
	}
	r.waits = r.findings[i].Message
	r.findings = slices.Delete(r.findings, i, i+1)
	r.unfinished, r.late = true, true
}
