package candidates

import (
	"testing"

	"triad/internal/op"
)

// The run that decides is the first of the worst kind, whatever comes before and after it.
func TestVerdictOfARow(t *testing.T) {
	const (
		pass, warn, looser = op.StatusPass, op.StatusWarn, op.StatusDifferentContract
		fail, race         = op.StatusFail, op.StatusRace
		guessed, empty     = op.StatusNotUnderstood, op.StatusEmptyOK
		declined, gone     = op.StatusUnsupported, op.StatusUnavailable
	)
	for _, c := range []struct {
		runs     []op.Status
		want     op.Status
		decides  int
		accepted bool
	}{
		{[]op.Status{pass, pass}, pass, 0, true},
		{[]op.Status{empty, declined, pass, warn, pass}, warn, 3, true},
		{[]op.Status{pass, looser}, looser, 1, false},
		{[]op.Status{looser, guessed, pass}, guessed, 1, false},
		{[]op.Status{guessed, race, fail}, race, 1, false},
		{[]op.Status{declined, empty}, declined, 0, false},
		{[]op.Status{empty, gone}, gone, 1, false},
		{[]op.Status{pass, op.StatusUnknown}, op.StatusUnknown, 1, false}, // an unclassified status is bad
		{nil, op.StatusUnknown, -1, false},
	} {
		var r Row
		for i, status := range c.runs {
			r.Add(status, status.String(), string(rune('a'+i)))
		}
		run := ""
		if c.decides >= 0 {
			run = string(rune('a' + c.decides))
		}
		if r.Verdict != c.want || r.Run != run || r.Accepted() != c.accepted ||
			r.Good+r.Neutral+r.Bad != len(c.runs) {
			t.Errorf("%v: %+v, want %v by %q", c.runs, r, c.want, run)
		}
	}
}

func TestCountOf(t *testing.T) {
	var rows []*Row
	for _, status := range []op.Status{
		op.StatusPass, op.StatusWarn, op.StatusFail, op.StatusNotUnderstood, op.StatusDifferentContract,
	} {
		r := &Row{}
		r.Add(status, "", "")
		rows = append(rows, r)
	}
	if c := CountOf(rows); c.Accepted != 2 || c.Bad != 1 || c.Open != 2 || c.ByVerdict[op.StatusWarn] != 1 {
		t.Errorf("%+v", c)
	}
}
