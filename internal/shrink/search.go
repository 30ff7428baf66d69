// Package shrink searches for the smallest case on which a function is wrong, and runs neighbouring cases to
// learn about the fault: sizes that must be a multiple of a block, sizes taken for each other, a matrix read
// in column-major order, special numbers. It is pure: its caller runs the cases (Search.Run) and decides when
// to stop (Search.Stop).
package shrink

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"triad/internal/advice"
	"triad/internal/op"
	"triad/internal/record"
)

// maxRuns is the maximum number of cases that a search runs, not counting those of Assumed.
const maxRuns = 60

// Sizes maps the dims of a case without a default to their sizes.
type Sizes map[string]int64

// Probe is a case to run. Whatever it does not name is as in the record that the search began with.
type Probe struct {
	Sizes            Sizes
	Distribution     string
	Upstream         string // "" for a forward
	Relations        bool   // test the relations between calls too, which add calls of other sizes
	Attribute, Value string // an attribute with another value; "" if none is changed
}

// Finding is the smallest case found, and the usual cause of such a fault.
type Finding struct {
	Record record.Record
	Facts  advice.Facts
}

// Advice returns the usual causes of what was found.
func (f Finding) Advice() string { return advice.For(f.Facts) }

// Brief returns the usual cause of what was found, in half a line.
func (f Finding) Brief() advice.Brief { return advice.BriefOf(f.Facts) }

// Diagnosed is a finding with the diagnosis that is kept of it.
type Diagnosed struct {
	Finding
	Run       string // the ID of the record that the search began with
	Diagnosis record.Diagnosis
}

// Search is the search for one wrong record.
type Search struct {
	Spec    *op.Spec
	Suspect Suspect
	// Run judges a case; nil if it cannot be run.
	Run func(Probe) *record.Record
	// Stop reports whether the search must stop.
	Stop func() bool

	Fixed     map[string]int64         // sizes that the user fixed
	Equal     [][]string               // dims of one parameter: they follow the first of the group
	Assumed   map[string][]string      // attributes with an assumed value, and their other values
	Shares    bool                     // the file shares memory between threads
	NoBarrier bool                     // ... and has no barrier
	Python    bool                     // it is a Python function
	Masks     []advice.MaskedLoad      // of a Triton file
	Divided   []advice.IntegerDivision // of a CUDA file

	NoSum bool // it is Python, and its backward adds nothing up

	sizes []string // the dims that may change
	known map[string]judged
	runs  int
}

// judged is a probe and its result, nil if it could not be run.
type judged struct {
	probe  Probe
	record *record.Record
}

// Find shrinks the case of the suspect and runs its neighbours.
func (s *Search) Find() Finding {
	s.known = map[string]judged{}
	s.toOrdinary()
	first := s.Suspect.Record
	facts := advice.Facts{
		SpecialNumbers: s.Spec.Advice.SpecialNumbers, Unwritten: s.Spec.Advice.Unwritten,
		Usual: s.Spec.Advice.Usual, Shares: s.Shares, Largest: farthest(first),
		Pass: first.Case.Pass, DType: first.Case.DType,
		Distribution: first.Case.Distribution, Race: s.Suspect.Race,
		Formula: s.Spec.FormulaOf(first.Case.Pass),
		Exact:   s.Spec.DefaultContract(first.Case.DType) == "exact",
		Layout:  layoutOf(s.Spec, first.Case.Pass), NoBarrier: s.NoBarrier, Python: s.Python,
		Masks: s.Masks, Divided: s.Divided, NoSum: s.NoSum,
	}
	if first.Status == op.StatusFail {
		if facts.Otherwise = s.rightAttribute(); facts.Otherwise != "" {
			name, _, _ := strings.Cut(facts.Otherwise, "=")
			facts.JudgedWith = first.Case.Attrs.Text(name)
		}
	}
	at := s.baseSizes()
	for _, d := range s.Spec.Dims {
		if _, fixed := s.Fixed[d.Name]; d.Default == "" && !fixed && !s.follows(d.Name) {
			s.sizes = append(s.sizes, d.Name)
		}
	}
	smallest := first
	if first.Status == op.StatusHang { // each further run would cost a deadline
		facts.Status, facts.Message = first.Status, sentenceOf(first)
		return Finding{first, facts}
	}
	lastRight := Sizes{} // the largest right value below the smallest wrong one
	for range 2 {
		for _, name := range s.sizes {
			value, right, found := s.bisect(at, name)
			if found != nil {
				smallest = *found
				at = s.with(at, size(name, value))
			}
			if found != nil || right > lastRight[name] { // smaller others may show nothing of what was right
				lastRight[name] = right
			}
		}
	}
	facts.Status, facts.Message, facts.ULP = smallest.Status, sentenceOf(smallest), farthest(smallest)
	facts.Log = smallest.LogTail
	larger := func(name string) bool { return at[name] > s.Spec.StepOf(name) }
	facts.Smallest = !slices.ContainsFunc(s.sizes, larger)
	s.askNeighbours(&facts, at, lastRight)
	return Finding{smallest, facts}
}

// toOrdinary begins the search for a wrong gradient with ordinary numbers and an ordinary upstream gradient,
// if that is wrong too.
func (s *Search) toOrdinary() {
	first := s.Suspect.Record
	if first.Case.Pass != op.Backward || first.Status == op.StatusHang {
		return
	}
	for _, distribution := range []string{ordinaryNumbers, first.Case.Distribution} {
		if distribution == first.Case.Distribution && ordinaryUpstream(first) {
			return // nothing smaller was found
		}
		s.runs++
		r := s.Run(Probe{
			Sizes: s.baseSizes(), Distribution: distribution, Upstream: ordinaryNumbers,
			Relations: s.relations(),
		})
		if r != nil && r.Status.Weight() == op.Bad {
			s.Suspect.Record = *r
			return
		}
		if s.Stop() {
			return
		}
	}
}

// baseSizes returns the sizes of the suspect's case.
func (s *Search) baseSizes() Sizes {
	all := Sizes{}
	for _, d := range s.Spec.Dims {
		if d.Default == "" {
			all[d.Name] = s.Suspect.Record.Case.Dims.Get(d.Name)
		}
	}
	return all
}

// rightAttribute searches for another value of an assumed attribute with which the function is right:
// "interleaved=true", or "" if there is none.
func (s *Search) rightAttribute() string {
	for _, name := range slices.Sorted(maps.Keys(s.Assumed)) {
		for _, value := range s.Assumed[name] {
			// a case of one element has no power: nothing can be right there
			for _, sizes := range []Sizes{s.baseSizes(), s.roomySizes()} {
				if s.Stop() {
					return ""
				}
				r := s.Run(Probe{
					Sizes: sizes, Distribution: ordinaryNumbers, Upstream: s.Suspect.Record.Case.Upstream,
					Relations: s.relations(),
					Attribute: name, Value: value,
				})
				if r != nil && r.Status.Weight() == op.Good {
					return name + "=" + value
				}
				if r == nil || r.Status != op.StatusNoPower {
					break
				}
			}
		}
	}
	return ""
}

// roomySizes returns the sizes of the suspect's case, with each free size at least 64.
func (s *Search) roomySizes() Sizes {
	all := s.baseSizes()
	for name, n := range all {
		if _, fixed := s.Fixed[name]; !fixed {
			all[name] = max(n, 64)
		}
	}
	return all
}

// relations reports whether the suspect is a broken relation between calls: only then are relations tested
// again.
func (s *Search) relations() bool { return brokenRelation(s.Suspect.Record) }

// bisect finds the smallest wrong value of a size, the others being unchanged. found is nil if no smaller one
// is wrong. right is the largest right value below it, 0 if there is none.
func (s *Search) bisect(at Sizes, name string) (wrong, right int64, found *record.Record) {
	wrong = at[name]
	low, step := int64(0), s.Spec.StepOf(name)
	for low+step < wrong {
		middle := (low + wrong) / 2 / step * step
		if low == 0 {
			middle = step
		}
		r := s.judge(at, size(name, middle))
		if r != nil && r.Status.Weight() == op.Bad {
			wrong, found = middle, r
			continue
		}
		if r == nil && s.spent() {
			break
		}
		low = middle
		if r != nil && r.Status.Weight() != op.Neutral { // a size that cannot be judged is not right either
			right = middle
		}
	}
	return wrong, right, found
}

func size(name string, value int64) op.Dim { return op.Dim{Name: name, Value: value} }

// with returns other sizes: some changed, and those that share their parameters.
func (s *Search) with(at Sizes, changes ...op.Dim) Sizes {
	all := maps.Clone(at)
	for _, c := range changes {
		all[c.Name] = c.Value
		for _, group := range s.Equal {
			if group[0] == c.Name {
				for _, other := range group[1:] {
					all[other] = c.Value
				}
			}
		}
	}
	return all
}

// follows reports whether a size changes with another one.
func (s *Search) follows(name string) bool {
	return slices.ContainsFunc(s.Equal, func(group []string) bool { return slices.Contains(group[1:], name) })
}

func (s *Search) spent() bool { return s.runs >= maxRuns || s.Stop() }

// judge runs the suspect's case with other sizes. It returns nil if that is impossible or enough was run.
func (s *Search) judge(at Sizes, changes ...op.Dim) *record.Record {
	return s.judgeOn(s.Suspect.Record.Case.Distribution, s.with(at, changes...))
}

func (s *Search) judgeOn(distribution string, at Sizes) *record.Record {
	key := fmt.Sprint(at, distribution)
	if k, ok := s.known[key]; ok {
		return k.record
	}
	if s.spent() {
		return nil
	}
	s.runs++
	probe := Probe{
		Sizes: at, Distribution: distribution, Upstream: s.Suspect.Record.Case.Upstream,
		Relations: s.relations(),
	}
	s.known[key] = judged{probe, s.Run(probe)}
	return s.known[key].record
}

// is reports whether the case with other sizes has this weight.
func (s *Search) is(want op.Weight, at Sizes, changes ...op.Dim) bool {
	r := s.judge(at, changes...)
	return r != nil && r.Status.Weight() == want
}
