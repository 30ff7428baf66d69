package resultdiff

import (
	"cmp"
	"slices"

	"triad/internal/op"
)

// Outcome is the change of a verdict from the first side to the second.
type Outcome string

// The outcomes. Each has an inverse for swapped sides; Unchanged and Other are their own inverses.
const (
	Unchanged   Outcome = "UNCHANGED"    // the same status
	BecameWrong Outcome = "BECAME_WRONG" // bad now, and was not
	BecameRight Outcome = "BECAME_RIGHT" // was bad, and is not now
	Lost        Outcome = "LOST"         // was good, and is neither good nor bad now
	Gained      Outcome = "GAINED"       // is good, and was neither good nor bad
	OnlyA       Outcome = "ONLY_A"       // the second side has no such run
	OnlyB       Outcome = "ONLY_B"
	Other       Outcome = "OTHER" // another status of the same weight: RACE instead of FAIL
)

// Change is one implementation on one case as the two sides have it.
type Change struct {
	Outcome Outcome
	A, B    *Entry // nil if the side has none
	Times   []Ratio
}

// Of returns the entry that names implementation and case.
func (c Change) Of() *Entry {
	if c.B != nil {
		return c.B
	}
	return c.A
}

// Impl returns the name of the implementation.
func (c Change) Impl() string { return c.Of().Impl }

// Options selects how times are compared.
type Options struct {
	Across bool // give verdicts even if GPU, clock or kind of timing differ
}

// Diff compares two sides. The changes are in the order of the cases of B, followed by those only in A.
func Diff(a, b Side, o Options) []Change {
	var all []Change
	compared, before := map[*Entry]bool{}, match(a, b)
	for i := range b.Entries {
		all = append(all, change(before[i], &b.Entries[i]))
		compared[before[i]] = true
	}
	for i := range a.Entries {
		if e := &a.Entries[i]; !compared[e] {
			all = append(all, change(e, nil))
		}
	}
	slices.SortStableFunc(all, func(x, y Change) int {
		return cmp.Or(
			cmp.Compare(x.Of().Case.Op, y.Of().Case.Op),
			cmp.Compare(x.Of().Case.Pass, y.Of().Case.Pass),
			cmp.Compare(x.Of().Impl, y.Of().Impl),
		)
	})
	compareTimes(all, o)
	return all
}

func change(a, b *Entry) Change {
	c := Change{A: a, B: b}
	switch {
	case a == nil:
		c.Outcome = OnlyB
	case b == nil:
		c.Outcome = OnlyA
	default:
		c.Outcome = outcome(a.Status, b.Status)
	}
	return c
}

func outcome(a, b op.Status) Outcome {
	was, is := a.Weight(), b.Weight()
	switch {
	case a == b:
		return Unchanged
	case is == op.Bad && was != op.Bad:
		return BecameWrong
	case was == op.Bad && is != op.Bad:
		return BecameRight
	case was == op.Good && is == op.Neutral:
		return Lost
	case was == op.Neutral && is == op.Good:
		return Gained
	}
	return Other
}

// Count counts changes by outcome, and ratios by speed verdict.
type Count struct {
	Outcomes      map[Outcome]int
	SpeedVerdicts map[SpeedVerdict]int
}

// Counted returns the counts of changes.
func Counted(all []Change) Count {
	c := Count{Outcomes: map[Outcome]int{}, SpeedVerdicts: map[SpeedVerdict]int{}}
	for _, x := range all {
		c.Outcomes[x.Outcome]++
		for _, r := range x.Times {
			c.SpeedVerdicts[r.SpeedVerdict]++
		}
	}
	return c
}

// Regressed reports whether the second side is worse: something became wrong or slower. strict also counts
// lost ones.
func (c Count) Regressed(strict bool) bool {
	return c.Outcomes[BecameWrong] > 0 || c.SpeedVerdicts[Slower] > 0 || strict && c.Outcomes[Lost] > 0
}
