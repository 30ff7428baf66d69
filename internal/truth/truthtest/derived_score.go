package truthtest

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"triad/internal/casegaps"
	"triad/internal/need"
)

// DerivedScore counts derived mutants, each once for every dtype.
type DerivedScore struct {
	Planted, Killed, Quick int // all, and those that the default level and --quick kill
	Permitted              int // the contract permits their results
	NoCase                 int // no case tests them
}

// Add adds the score of another operator.
func (s *DerivedScore) Add(o DerivedScore) {
	s.Planted, s.Killed, s.Quick = s.Planted+o.Planted, s.Killed+o.Killed, s.Quick+o.Quick
	s.Permitted, s.NoCase = s.Permitted+o.Permitted, s.NoCase+o.NoCase
}

// String returns the score in one line.
func (s DerivedScore) String() string {
	percent := func(n int) float64 { return 100 * float64(n) / float64(max(s.Planted-s.Permitted, 1)) }
	return fmt.Sprintf("derived from the specs: %d mutants, %d of them permitted by the contract; of the "+
		"others the default level kills %d (%.1f %%), --quick %d (%.1f %%); no case asks %d", s.Planted,
		s.Permitted, s.Killed, percent(s.Killed), s.Quick, percent(s.Quick), s.NoCase)
}

// A Survivor is a line of an operator's survivors.txt, which lists the derived mutants that the judge does
// not kill: pass, mutant and the reason, between bars. A reason begins with
//
//	permitted:   the contract permits it
//	no case:     no case shows it
//	some seeds:  the cases show it only under some seeds
//
// A line holds for every dtype.
type Survivor struct{ Name, Reason string }

const (
	permitted = "permitted: "
	noCase    = "no case: "
	someSeeds = "some seeds: "
)

// SurvivorsIn reads a list. Empty lines and lines that begin with # are ignored.
func SurvivorsIn(text string) ([]Survivor, error) {
	var list []Survivor
	kinds := []string{permitted, noCase, someSeeds}
	for i, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		parts := strings.Split(line, " | ")
		if len(parts) != 3 || !slices.ContainsFunc(kinds, func(kind string) bool {
			return len(parts[2]) > len(kind) && strings.HasPrefix(parts[2], kind)
		}) {
			return nil, fmt.Errorf("line %d: %q: want pass | mutant | reason, which begins with one of %q",
				i+1, line, kinds)
		}
		s := Survivor{Name: parts[0] + " | " + parts[1], Reason: parts[2]}
		if slices.ContainsFunc(list, s.isNamed) {
			return nil, fmt.Errorf("line %d: %s is listed twice", i+1, s.Name)
		}
		list = append(list, s)
	}
	return list, nil
}

func (s Survivor) isNamed(other Survivor) bool { return s.Name == other.Name }

// Text returns a list as its file has it.
func Text(list []Survivor) string {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Survivor) int { return cmp.Compare(a.Name, b.Name) })
	text := "# Derived mutants that no case kills: docs/judge.md, \"Mutants that specs lead to\".\n"
	for _, s := range list {
		text += s.Name + " | " + s.Reason + "\n"
	}
	return text
}

// Derived judges the derived mutants of an operator on the seeds of the run. It returns the corrected list,
// and complains where a survivor is missing from the list, and where one of the list is killed in every dtype
// under every seed.
func Derived(t *testing.T, name string, list []Survivor) (total DerivedScore, right []Survivor,
	complaints []string,
) {
	t.Helper()
	seeds, score, judged := Seeds(t), Score{}, map[string]*fates{}
	for _, seed := range seeds {
		for _, m := range DerivedMutants(t, name, seed, &score) {
			key := fmt.Sprintf("%v | %v", m.Pass, m.Question)
			if judged[key] == nil {
				judged[key] = &fates{survivedIn: map[uint64]bool{}}
			}
			judged[key].add(m, seed)
			total.count(m, list, key)
		}
	}
	right, complaints = compared(list, judged, len(seeds), allDTypes())
	t.Logf("%v; %d right results judged, %d accused", total, score.Judgements, score.Accused)
	return total, right, complaints
}

// manySeeds is the number of seeds after which no other seed is expected to let a mutant live.
const manySeeds = 4

// compared returns the list corrected after a run, and the complaints about it. A killed mutant stays in the
// list where the run did not cover every dtype.
func compared(list []Survivor, judged map[string]*fates, seeds int, everyDType bool) (right []Survivor,
	complaints []string,
) {
	for _, s := range list {
		alive := 0
		if f := judged[s.Name]; f != nil {
			alive = len(f.survivedIn)
		}
		rarely := strings.HasPrefix(s.Reason, someSeeds)
		switch reason, unasked := strings.CutPrefix(s.Reason, noCase); {
		case !everyDType, rarely && (alive > 0 || seeds < manySeeds), !rarely && alive == seeds:
			right = append(right, s)
		case rarely: // a seed of another run may let it live: no complaint
		case alive == 0:
			complaints = append(complaints, s.Name+": it is killed, or no mutant: strike it off "+
				"survivors.txt (-update does)")
		case unasked:
			right = append(right, Survivor{s.Name, someSeeds + reason})
		default:
			right = append(right, s)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(judged)) {
		f, s := judged[key], Survivor{Name: key}
		if len(f.survivedIn) == 0 || slices.ContainsFunc(list, s.isNamed) {
			continue
		}
		if s.Reason = noCase + f.why; len(f.survivedIn) < seeds {
			s.Reason = someSeeds + f.why
		}
		right = append(right, s)
		complaints = append(complaints, s.Name+" | "+s.Reason+": it survives")
	}
	return right, complaints
}

// fates records the outcome of a mutant in every dtype.
type fates struct {
	survivedIn map[uint64]bool // seeds under which some dtype lets it live
	why        string
}

func (f *fates) add(m *DerivedMutant, seed uint64) {
	if m.Killed {
		return
	}
	f.survivedIn[seed] = true
	switch {
	case !m.Shown:
		f.why = neverShown(m.Question)
	case !m.Differs:
		f.why = "on every case the answer is right all the same"
	default:
		f.why = "no output that is always given leaves its error bound"
	}
}

// neverShown returns what the cases lack.
func neverShown(q casegaps.Question) string {
	switch q.Kind {
	case casegaps.Attribute:
		return "the attribute is never anything else"
	case casegaps.Strides, casegaps.Offset:
		return "no layout gives it any"
	case casegaps.Numbers:
		return "the input never holds it"
	case casegaps.Above16:
		return "no output is so large on a CPU"
	case casegaps.Index16:
		return "the size is never so large on a CPU"
	}
	return "such sizes do not occur"
}

// count adds a mutant under one seed.
func (s *DerivedScore) count(m *DerivedMutant, list []Survivor, key string) {
	s.Planted++
	if m.Quick {
		s.Quick++
	}
	at := slices.IndexFunc(list, func(l Survivor) bool { return l.Name == key })
	switch {
	case m.Killed:
		s.Killed++
	case at >= 0 && strings.HasPrefix(list[at].Reason, permitted):
		s.Permitted++
	default:
		s.NoCase++
	}
}

// Keep leaves the score for the whole of make mutation.
func (s DerivedScore) Keep(t *testing.T) {
	t.Helper()
	keep(t, "derived", Score{Derived: s})
}

// allDTypes reports whether the run judges derived mutants in every dtype.
func allDTypes() bool { return need.IsLongTier() || os.Getenv(seedsVariable) != "" }
