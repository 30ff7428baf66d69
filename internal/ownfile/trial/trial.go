// Package trial tries an added file on a few cases before a run, to settle how it is read.
package trial

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"triad/internal/advice"
	"triad/internal/backend"
	"triad/internal/declaration"
	"triad/internal/op"
	"triad/internal/ownfile"
	"triad/internal/ownfile/adapters"
	"triad/internal/ownfile/binding"
	"triad/internal/ownkernels"
	"triad/internal/record"
)

// Judge judges the cases of options on a backend, and stops at the first wrong one if enough is set.
type Judge func(b backend.Backend, impl string, o op.Options, enough bool) Judged

// Trials tries added files on cases of one operator.
type Trials struct {
	Spec  *op.Spec
	Asked op.Options
	Limit time.Duration // of all trials, without building
	Judge Judge
	until interpretationTime
}

// Judged holds the results of a trial.
type Judged struct {
	Records []record.Record
	Loading []time.Duration // how long the file was built and loaded
	Fault   error           // an internal error
}

// Settle tries each function of the files that was read with assumptions. It takes another interpretation if
// only that one is right, and notes why a wrong answer is no verdict. What is not tried in time is left open.
func (s *Trials) Settle(files []*ownkernels.File) error {
	s.until = interpretationTime{until: time.Now().Add(s.Limit), builds: mostBuilding}
	for i := range files {
		if err := s.settleFile(&files[i]); err != nil {
			return err
		}
		other, err := s.inStatedAlone(files[i])
		if err != nil {
			return err
		}
		if other == nil {
			continue
		}
		_ = files[i].Close() // the interpretation that is left
		files[i] = other
		if err := s.settleFile(&files[i]); err != nil {
			return err
		}
	}
	return nil
}

// inStatedAlone reads a file again, in only the dtypes that it names, or in fp32, if it is right in fp32 and
// wrong in a dtype that neither it nor the user names: its author need not have meant it for that. It returns
// nil if the file is unchanged.
func (s *Trials) inStatedAlone(file *ownkernels.File) (*ownkernels.File, error) {
	for _, b := range file.Bindings {
		for _, dtype := range b.UnstatedDTypes() {
			t := &interpretationTrial{Trials: s, file: file, pass: b.Pass, dtype: dtype}
			if t.until.over() {
				return nil, nil
			}
			if (t.wrong() || t.wrongSomewhere()) && t.rightIn(b.DTypes()[0]) {
				return file.With(b.InStatedAlone())
			}
			if t.fault != nil {
				return nil, t.fault
			}
		}
	}
	return nil, nil
}

// wrong reports whether the file is wrong in the trial's dtype.
func (t *interpretationTrial) wrong() bool {
	tally := t.answers()
	return tally.Wrong > tally.Raised
}

// answers makes the calls of the trial; if the first one that is not right raised, all of them.
func (t *interpretationTrial) answers() ownfile.Tally {
	tally := t.try(t.file, maps.Clone(t.file.Covers.Dims), true)
	if tally.Wrong > 0 && tally.Wrong == tally.Raised {
		tally = t.try(t.file, maps.Clone(t.file.Covers.Dims), false)
	}
	return tally
}

// wrongSomewhere reports whether the file is wrong in the trial's dtype at the size of one of the quick
// cases, or on numbers of another distribution. A kernel that rounds more often than the operator may be
// right at a small size, and no ordinary case has squares that 16 bits do not hold.
func (t *interpretationTrial) wrongSomewhere() bool {
	defer func() { t.every, t.hard = false, false }()
	for _, t.hard = range []bool{true, false} { // all distributions at a small size, and all sizes
		t.every = !t.hard
		if !t.until.over() && t.wrong() {
			return true
		}
	}
	return false
}

// rightIn reports whether the file is right in a case of another dtype, and wrong only where it raises.
func (t *interpretationTrial) rightIn(dtype string) bool {
	t.dtype = dtype
	tally := t.answers()
	if tally.Right == 0 && tally.Wrong == tally.Raised { // it takes other sizes
		t.every = true
		defer func() { t.every = false }()
		tally = t.answers()
	}
	return tally.Right > 0 && tally.Wrong == tally.Raised
}

// settleFile tries the functions of one of the files.
func (s *Trials) settleFile(file **ownkernels.File) error {
	for n := range (*file).Bindings {
		t := &interpretationTrial{Trials: s, file: *file, pass: (*file).Bindings[n].Pass}
		t.whereItDeclines((*file).Bindings[n])
		settled := ownfile.Settle((*file).Bindings[n], t)
		if t.fault != nil {
			return t.fault
		}
		if settled.Taken != nil {
			read, err := (*file).With(*settled.Taken)
			if err != nil {
				return err
			}
			_ = (*file).Close() // the interpretation that is left
			*file, t.file = read, read
			read.WasRight(t.pass)
		} else {
			t.doubt(settled)
		}
		t.judgeAtWhole()
	}
	return nil
}

// doubt notes what a wrong answer of the file may rest on, and adds what shows already to how it was read.
func (t *interpretationTrial) doubt(s ownfile.Settled) {
	if s.Doubt != "" && s.Line.Operator == "" {
		s.Line.Operator = declaration.Open
	}
	t.file.Propose(t.pass, s.Line)
	if s.Doubt != "" {
		t.file.Matched = append(t.file.Matched, fmt.Sprintf("%v: %s", t.pass, s.Doubt))
		t.file.Doubt(t.pass, backend.Doubt{Why: s.Doubt, Races: s.Races})
		return
	}
	b := t.file.Bindings[slices.IndexFunc(t.file.Bindings, func(b *binding.Binding) bool {
		return b.Pass == t.pass
	})]
	t.file.Doubt(t.pass, backend.Doubt{Why: s.Unshown})
	t.file.Doubt(t.pass, backend.Doubt{Why: s.OtherSizes, Sizes: t.right})
	sure := ""
	if dtypes := b.DTypes(); len(dtypes) > 1 {
		sure = cmp.Or(t.dtype, dtypes[0])
	}
	t.file.Doubt(t.pass, backend.Doubt{Why: s.OtherDTypes, DType: sure, In: b.UnstatedDTypes()})
	for _, distribution := range b.Spec.Own.Halves {
		t.file.Doubt(t.pass, backend.Doubt{Why: s.Halves, Only: distribution})
	}
}

// interpretationTime limits the time for trying interpretations. Building them does not count, up to
// mostBuilding: nvcc takes ten seconds if an interpretation has other template arguments, and a wrong
// function is called wrong only after all have been tried.
type interpretationTime struct {
	until  time.Time
	builds time.Duration // remaining time for building
}

const mostBuilding = 2 * time.Minute

func (r *interpretationTime) over() bool { return time.Now().After(r.until) }

func (r *interpretationTime) built(loading []time.Duration) {
	for _, spent := range loading {
		given := min(spent, r.builds)
		r.until, r.builds = r.until.Add(given), r.builds-given
	}
}

// interpretationTrial runs one function of a file on ordinary numbers. Nothing is recorded.
type interpretationTrial struct {
	*Trials
	file     *ownkernels.File
	pass     op.Pass
	late     bool
	dtype    string           // the dtype of the trial; "": the first that it takes
	every    bool             // try the sizes of all quick cases, of a Python file too
	hard     bool             // try the numbers of all quick distributions
	right    []op.Dims        // the sizes at which the file is right as it was read
	declined bool             // the file declines a case of the last trial
	whole    map[string]int64 // sizes of whole tiles, if it declines those of every quick case
	fault    error            // an internal error of a trial
}

// Read tries the file as it was read, or with another interpretation.
func (t *interpretationTrial) Read(other *binding.Alternative) ownfile.Tally {
	file := t.file
	if other != nil {
		if t.until.over() {
			t.late = true
			return ownfile.Tally{}
		}
		var err error
		if file, err = t.file.With(*other); err != nil { // it does not fit the signature
			return ownfile.Tally{}
		}
		defer file.Close() // its verdict stands
	}
	if t.whole != nil { // it takes no others
		t.every = true
		defer func() { t.every = false }()
		return t.try(file, t.whole, other != nil)
	}
	// Sizes that have a parameter are free here: those of one case say little about an interpretation.
	enough := other != nil // of another interpretation only whether all cases are right matters
	tally := t.read(file, enough)
	if !file.IsPython() || tally != (ownfile.Tally{}) || !t.declined || t.dtype != "" {
		return tally
	}
	for _, dtype := range t.dtypes() { // it may make all its results in another one
		t.dtype = dtype
		if tally = t.read(file, enough); tally.Clean() || other == nil && tally.Right+tally.Wrong > 0 {
			return tally
		}
	}
	t.dtype = ""
	return tally
}

// read tries a file at the sizes that it takes, else at the requested ones.
func (t *interpretationTrial) read(file *ownkernels.File, enough bool) ownfile.Tally {
	tally := t.try(file, maps.Clone(file.Covers.Dims), enough)
	if tally.Right+tally.Wrong == 0 {
		tally = t.try(file, t.Asked.Dims, enough)
	}
	return tally
}

// dtypes returns the dtypes of the pass after its first one.
func (t *interpretationTrial) dtypes() []string {
	for _, b := range t.file.Bindings {
		if all := b.DTypes(); b.Pass == t.pass && len(all) > 1 {
			return all[1:]
		}
	}
	return nil
}

// Late reports whether there was no time left for another interpretation.
func (t *interpretationTrial) Late() bool { return t.late }

// Flat tries the file with size 1 for the dims that decide the memory order of tensors.
func (t *interpretationTrial) Flat() ownfile.Tally {
	dims := map[string]int64{}
	for _, name := range t.Spec.Own.Flat {
		dims[name] = 1
	}
	return t.try(t.file, dims, true)
}

// Whole tries the file at sizes of whole tiles and blocks.
func (t *interpretationTrial) Whole() ownfile.Tally {
	if t.until.over() {
		return ownfile.Tally{}
	}
	t.every = true // its sizes are chosen
	defer func() { t.every = false }()
	return t.try(t.file, t.wholeDims(), true)
}

// wholeDims returns sizes of whole tiles and blocks, for the cases that the file is judged on.
func (t *interpretationTrial) wholeDims() map[string]int64 {
	o := op.Options{
		Level: op.LevelQuick, Dims: maps.Clone(t.file.Covers.Dims), Attributes: t.Asked.Attributes,
		Passes: []op.Pass{t.pass}, Device: t.Asked.Device, Memory: t.Asked.Memory,
	}
	(&ownkernels.Backend{Files: []*ownkernels.File{t.file}}).Narrow(&o)
	for _, b := range t.file.Bindings {
		if b.Pass == t.pass {
			maps.Copy(o.Dims, adapters.AtDefaults(b))
		}
	}
	return wholeTiles(t.Spec, o)
}

// try judges the quick cases of a file on ordinary numbers, with some sizes fixed. If enough is set, it stops
// at the first wrong one.
func (t *interpretationTrial) try(file *ownkernels.File, dims map[string]int64, enough bool) (
	tally ownfile.Tally,
) {
	at := slices.IndexFunc(file.Bindings, func(b *binding.Binding) bool { return b.Pass == t.pass })
	if at < 0 || t.fault != nil {
		return tally
	}
	dtypes := file.Bindings[at].DTypes()[:1]
	if t.dtype != "" {
		dtypes = []string{t.dtype}
	}
	o := op.Options{
		Level: op.LevelQuick, Dims: dims, Attributes: t.Asked.Attributes,
		DTypes: dtypes, Passes: []op.Pass{t.pass},
		Distributions: ordinary(file.Bindings[at]), Layouts: []string{"contiguous"},
		Device: t.Asked.Device, Memory: t.Asked.Memory,
	}
	mine := &ownkernels.Backend{Files: []*ownkernels.File{file}, Trial: true}
	mine.Narrow(&o)
	fixed := o.Dims
	if file.IsPython() && !t.every { // a call takes long in an interpreter
		o.Dims = smallestTelling(t.Spec, o)
	}
	if t.hard {
		o.Distributions = slices.DeleteFunc(slices.Clone(t.Spec.Check.Quick),
			func(name string) bool { return slices.Contains(o.LeftOut, name) })
	}
	result := t.Judge(mine, file.Name, o, enough)
	t.until.built(result.Loading)
	t.fault = result.Fault
	t.declined = slices.ContainsFunc(result.Records, func(r record.Record) bool {
		return r.Status == op.StatusUnsupported
	})
	if file == t.file {
		for _, r := range result.Records {
			if r.Status.Weight() == op.Good || r.Status == op.StatusDifferentContract {
				t.right = append(t.right, r.Case.Dims)
				t.file.WasRight(t.pass)
			}
		}
	}
	return tallyOf(file.Bindings[at], result.Records, fixed)
}

// ordinary returns the distributions of ordinary numbers that a function takes.
func ordinary(b *binding.Binding) []string {
	if all := adapters.Distributions(b); all != nil {
		return all[:1]
	}
	return []string{"normal"}
}

// smallestTelling returns the sizes of the smallest case that tells interpretations apart: no free size is 1,
// except those with a default, and sizes are equal that a function may require to be; if there is no such
// case, the fixed sizes.
func smallestTelling(spec *op.Spec, o op.Options) map[string]int64 {
	plan, err := spec.Expand(o)
	if err != nil {
		return o.Dims
	}
	least, chosen, grouped := int64(math.MaxInt64), o.Dims, spec.Grouped()
	for _, c := range plan.Cases {
		dims, n, tells := map[string]int64{}, int64(1), true
		alike := map[int64]bool{}
		for _, d := range c.Dims {
			_, stays := o.Dims[d.Name]
			stays = stays || slices.ContainsFunc(spec.Dims, func(s op.DimSpec) bool {
				return s.Name == d.Name && s.Default != ""
			})
			tells = tells && (stays || d.Value > 1)
			n *= max(d.Value, 1)
			if _, asked := o.Dims[d.Name]; asked || !followsOthers(spec, d.Name) {
				dims[d.Name] = d.Value
			}
			if slices.Contains(grouped, d.Name) {
				alike[d.Value] = true
			}
		}
		if tells && len(alike) <= 1 && n < least {
			least, chosen = n, dims
		}
	}
	return chosen
}

// followsOthers reports whether the default of a dim depends on other sizes.
func followsOthers(spec *op.Spec, name string) bool {
	return slices.ContainsFunc(spec.Dims, func(d op.DimSpec) bool {
		_, number := strconv.ParseInt(d.Default, 10, 64)
		return d.Name == name && d.Default != "" && number != nil
	})
}

// tallyOf counts the results of trials. Where a free size is 1, several interpretations are the same: being
// right there counts only if no trial has larger sizes.
func tallyOf(b *binding.Binding, records []record.Record, fixed map[string]int64) ownfile.Tally {
	var all, telling ownfile.Tally
	for _, r := range records {
		same := slices.ContainsFunc(r.Case.Dims, func(d op.Dim) bool {
			_, stays := fixed[d.Name]
			return d.Value == 1 && !stays
		})
		switch {
		case r.Status.Weight() == op.Good, r.Status == op.StatusDifferentContract:
			all.Right++
			if !same {
				telling.Right++
			}
		case r.Status.Weight() == op.Bad && r.Status != op.StatusBuildFail && r.Device != "",
			r.Status == op.StatusNotUnderstood:
			all.Wrong++
			if strings.Contains(r.Message, hostReaches) {
				all.Reached++
			} else if r.Status == op.StatusRace {
				all.Raced++
			}
			if why := ownfile.WhyNoNumbers(b, r.Message, raisedOutside(b, r)); why != ownfile.GaveNumbers {
				all.Raised++
				if all.Words == "" {
					all.Words, all.Why = inOneLine(r.Message), why
					all.OfCalls = advice.AboutTheCall(r.Message)
				}
			}
			if !same {
				telling.Wrong++
			}
		}
	}
	if telling.Right+telling.Wrong == 0 {
		return all
	}
	all.Right = telling.Right
	return all
}

// inOneLine returns the message of an exception as a part of a sentence.
func inOneLine(message string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	const most = 160
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "..."
	}
	return strings.TrimSuffix(line, ".")
}

// raisedOutside reports whether a Python function raised an exception before it launched a kernel or outside
// one, which another call might not have raised.
func raisedOutside(b *binding.Binding, r record.Record) bool {
	return r.Status == op.StatusCrash && advice.OfInterpretation(r.Message) &&
		(r.Where == nil || !ownfile.Launches(b, r.Where.Kernel))
}

// hostReaches is the emulator's message about a host that reads or writes device memory.
const hostReaches = "on a GPU the host cannot reach it"
