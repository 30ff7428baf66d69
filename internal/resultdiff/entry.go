package resultdiff

import (
	"maps"
	"slices"

	"triad/internal/op"
	"triad/internal/record"
)

// Entry is one implementation on one case as a side has it: its newest run there.
type Entry struct {
	Case       op.Case
	CaseKey    string
	Impl       string
	Run        string // ULID
	Session    string // ULID
	Source     string // content hash of the implementation; "" if it could not be loaded
	Flags      string // of a user's file
	Device     string
	Status     op.Status
	Message    string
	Conditions *Conditions
	Timings    []Time
}

// Conditions describes the machine and software of a session.
type Conditions struct {
	Commit    string // of the source tree, "" if it is not known
	Version   string // of triad
	Machine   record.Machine
	Toolchain record.Toolchain
	CopyRate  float64 // bytes per second of the session's ceiling "copy"; 0 if it was not measured
}

// Time is the time of an implementation on its case in one regime.
type Time struct {
	Regime   string
	Mode     string // "graph" or "events"
	Backward string // what a backward starts from
	MedianNS float64
	RoundsNS []float64 // median of each round
	ClockMHz float64   // 0 if it is not known
	// Noise is that of the session's A/A comparison of this case, as a share; 0 if there was none.
	Noise float64
}

// Side is a set of runs that are compared with another.
type Side struct {
	Name    string // as the user named it
	Words   string // what it is: "session 01K..., started ..."
	Entries []Entry
}

// key matches an entry of one side to one of the other: the same implementation by name on the same case and
// device. The source may differ: that is the question.
type key struct{ caseKey, impl, device string }

func (e *Entry) key() key { return key{e.CaseKey, e.Impl, e.Device} }

// match maps the indices of the entries of b to the entries of a that they are compared with: those of the
// same key. If a case has one entry of an implementation left on each side, these are compared too: the sides
// ran on different devices, or one reached none.
func match(a, b Side) map[int]*Entry {
	byKey, alone := map[key]int{}, map[key][]int{}
	for i := range a.Entries {
		byKey[a.Entries[i].key()] = i
	}
	found, taken := map[int]*Entry{}, map[int]bool{}
	anywhere := func(e *Entry) key { return key{e.CaseKey, e.Impl, ""} }
	left := map[key][]int{}
	for i := range b.Entries {
		e := &b.Entries[i]
		if at, both := byKey[e.key()]; both {
			found[i], taken[at] = &a.Entries[at], true
		} else {
			left[anywhere(e)] = append(left[anywhere(e)], i)
		}
	}
	for i := range a.Entries {
		if e := &a.Entries[i]; !taken[i] {
			alone[anywhere(e)] = append(alone[anywhere(e)], i)
		}
	}
	for k, of := range left {
		if len(of) == 1 && len(alone[k]) == 1 {
			found[of[0]] = &a.Entries[alone[k][0]]
		}
	}
	return found
}

// SourceChange returns what changed in an implementation between two entries: its source, or the flags of a
// user's file; "" for neither.
func SourceChange(a, b *Entry) string {
	switch {
	case a.Source != b.Source:
		return "source changed"
	case a.Flags != b.Flags:
		return "flags changed"
	}
	return ""
}

// Causes lists, in words, the differences between the two sides that may explain a change, except the sources
// of implementations, which Sources lists.
func Causes(a, b Side) []string {
	var all []string
	for _, fact := range []struct {
		name string
		of   func(*Conditions) string
	}{
		{"GPU", func(c *Conditions) string { return c.Machine.GPU }},
		{"driver", func(c *Conditions) string { return c.Machine.GPUDriver }},
		{"CPU", func(c *Conditions) string { return c.Machine.CPU }},
		{"triad", func(c *Conditions) string { return c.Version }},
		{"commit", func(c *Conditions) string { return short(c.Commit) }},
	} {
		all = appendCause(all, fact.name, values(a, fact.of), values(b, fact.of))
	}
	tools := map[string]bool{}
	for _, side := range []Side{a, b} {
		for _, e := range side.Entries {
			for name := range e.Conditions.Toolchain {
				tools[name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		of := func(c *Conditions) string { return c.Toolchain[name] }
		all = appendCause(all, name, values(a, of), values(b, of))
	}
	return all
}

// appendCause adds "name old -> new" if the values of the two sides differ.
func appendCause(all []string, name string, a, b []string) []string {
	if slices.Equal(a, b) {
		return all
	}
	return append(all, name+" "+listed(a)+" -> "+listed(b))
}

// values returns the different values of a fact on one side, sorted.
func values(s Side, of func(*Conditions) string) []string {
	found := map[string]bool{}
	for _, e := range s.Entries {
		found[of(e.Conditions)] = true
	}
	return slices.Sorted(maps.Keys(found))
}

func listed(all []string) string {
	words := ""
	for i, v := range all {
		if i > 0 {
			words += ", "
		}
		if v == "" {
			v = "none"
		}
		words += v
	}
	return words
}

// short returns the beginning of a hash, enough for a person.
func short(hash string) string { return hash[:min(len(hash), 12)] }

// Sources lists the implementations whose sources differ between the sides, each "op/name".
func Sources(a, b Side) []string {
	changed := map[string]bool{}
	for i, old := range match(a, b) {
		if e := &b.Entries[i]; old.Source != e.Source && old.Source != "" && e.Source != "" {
			changed[e.Case.Op+"/"+e.Impl] = true
		}
	}
	return slices.Sorted(maps.Keys(changed))
}
