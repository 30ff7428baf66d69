package shrink

import (
	"math"
	"slices"

	"triad/internal/op"
	"triad/internal/record"
)

// Suspect is a wrong record that is worth a search.
type Suspect struct {
	Record record.Record
	Race   bool // some case of the same function ended as a RACE
}

// Suspects picks from the records of a backend the wrong ones that show most plainly what is wrong: one for
// each implementation and pass, and one more if a dtype fails only on special numbers, which is a separate
// fault.
func Suspects(records []record.Record, backend string) []Suspect {
	byDType, races := map[string]record.Record{}, map[string]bool{}
	var order []string
	for _, r := range records {
		searchable := r.Status != op.StatusBuildFail && r.Device != ""
		if r.Backend != backend || r.Status.Weight() != op.Bad || !searchable {
			continue
		}
		races[functionOf(r)] = races[functionOf(r)] || r.Status == op.StatusRace
		key := functionOf(r) + " " + r.Case.DType
		old, there := byDType[key]
		if !there {
			order = append(order, key)
		}
		if !there || simpler(r, old) {
			byDType[key] = r
		}
	}
	var all []Suspect
	for _, key := range order {
		r := byDType[key]
		same := func(s Suspect) bool { return functionOf(s.Record) == functionOf(r) }
		first := slices.IndexFunc(all, same)
		switch {
		case first < 0:
			all = append(all, Suspect{r, races[functionOf(r)]})
		case ordinary(r) != ordinary(all[first].Record):
			if !slices.ContainsFunc(all[first+1:], same) {
				all = append(all, Suspect{r, races[functionOf(r)]})
			}
		case simpler(r, all[first].Record):
			all[first].Record = r
		}
	}
	return all
}

func functionOf(r record.Record) string { return r.Impl + " " + r.Case.Pass.String() }

// ordinaryNumbers is the distribution without special values.
const ordinaryNumbers = "normal"

func ordinary(r record.Record) bool { return r.Case.Distribution == ordinaryNumbers }

// simpler reports whether record a shows more plainly than b what is wrong: ordinary numbers before others,
// also in an upstream gradient, then few elements before many.
func simpler(a, b record.Record) bool {
	for _, plain := range []func(record.Record) bool{ordinary, ordinaryUpstream} {
		if plain(a) != plain(b) {
			return plain(a)
		}
	}
	return elements(a.Case.Dims) < elements(b.Case.Dims)
}

// ordinaryUpstream reports whether the upstream gradients are ordinary numbers, or there are none.
func ordinaryUpstream(r record.Record) bool {
	return r.Case.Upstream == "" || r.Case.Upstream == ordinaryNumbers
}

// elements ranks a case by its size. An empty one, which shows the least, comes last.
func elements(dims op.Dims) float64 {
	n := 1.0
	for _, d := range dims {
		n *= float64(d.Value)
	}
	if n == 0 {
		return math.Inf(1)
	}
	return n
}
