// Package candidates summarises many added files that are each judged alone: one row per function.
package candidates

import (
	"cmp"

	"triad/internal/op"
)

// Row is the result of one function of one file.
type Row struct {
	File, Impl         string
	Verdict            op.Status // StatusUnknown: nothing was recorded
	Reason             string    // of the run that decides
	Run                string    // its ULID
	Good, Neutral, Bad int       // runs
	Seconds            float64   // wall time from reading the file to its last record; 0: judged earlier
	rank               int
}

// Add counts one run, in the order of the plan. What decides is the first bad run; else the first of a
// function that was read with a guess and is wrong; else one that passes a looser contract alone; else a
// warning; else a pass; else whatever keeps the others from being judged.
func (r *Row) Add(status op.Status, message, run string) {
	switch status.Weight() {
	case op.Good:
		r.Good++
	case op.Neutral:
		r.Neutral++
	default:
		r.Bad++
	}
	if rank := rankOf(status); rank > r.rank {
		r.Verdict, r.Reason, r.Run, r.rank = status, message, run, rank
	}
}

// rankOf returns the rank of a status: the highest one decides.
func rankOf(s op.Status) int {
	ranks := map[op.Status]int{
		op.StatusNotUnderstood: 6, op.StatusDifferentContract: 5, op.StatusWarn: 4, op.StatusPass: 3,
		op.StatusSkipped: 1, op.StatusMissing: 1, op.StatusEmptyOK: 1, op.StatusNoPower: 1,
	}
	if s.Weight() == op.Bad {
		return 7
	}
	return cmp.Or(ranks[s], 2)
}

// Accepted reports whether the function is right: at least one run passes and no run outranks it.
func (r *Row) Accepted() bool { return r.Verdict.Weight() == op.Good }

// Count counts rows by verdict.
type Count struct {
	Accepted, Bad, Open int // Open: neither
	ByVerdict           map[op.Status]int
}

// CountOf counts rows.
func CountOf(rows []*Row) Count {
	c := Count{ByVerdict: map[op.Status]int{}}
	for _, r := range rows {
		c.ByVerdict[r.Verdict]++
		switch {
		case r.Bad > 0:
			c.Bad++
		case r.Accepted():
			c.Accepted++
		default:
			c.Open++
		}
	}
	return c
}
