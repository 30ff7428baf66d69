package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"triad/internal/backend"
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/own"
	"triad/internal/panics"
	"triad/internal/record"
	"triad/internal/report"
	"triad/internal/run"
)

// A wrong function of the user's own is looked at more closely for so long, and by so many runs.
const (
	shrinkFor  = 6 * time.Second
	shrinkRuns = 60
)

// finding is the smallest case on which a function is wrong, and what that says about it.
type finding struct {
	record record.Record
	advice string
}

// shrinker runs single cases of one implementation, in memory alone.
type shrinker struct {
	ctx      context.Context
	backends []backend.Backend
	request  run.Request
	related  bool // the finding is a broken relation between calls; else none is asked, since its further calls have sizes of their own
	impl     string
	base     op.Case
	sizes    []string          // the dims that may change, those with a parameter
	equal    [][]string        // dims that have one parameter and change together
	changed  map[string]string // attributes that are not as in the base
	known    map[string]*record.Record
	runs     int
	until    time.Time
	fault    error // an internal error of a probe
}

// shrink finds, for every pass of every added file that is wrong, the smallest case that shows it.
func (a *app) shrink(ctx context.Context, mine *ownFiles, request run.Request, result run.Result) ([]finding, error) {
	if mine == nil || result.Interrupted {
		return nil, nil
	}
	var all []finding
	for _, w := range worth(result.Records) {
		r := w.record
		spec := request.Operators[0].Spec
		s := &shrinker{ctx: ctx, backends: []backend.Backend{mine}, request: request, related: brokenRelation(r), impl: r.Impl, base: r.Case, known: map[string]*record.Record{},
			until: time.Now().Add(shrinkFor)}
		facts := own.Facts{Operator: r.Case.Op, Pass: r.Case.Pass, DType: r.Case.DType, Distribution: r.Case.Distribution, Race: w.race,
			Formula: spec.Formula, Layout: layoutOf(spec, r.Case.Pass)}
		for _, f := range mine.files {
			if f.name != r.Impl {
				continue
			}
			facts.NoBarrier, s.equal, facts.Python = f.unsynchronised, f.covers.equal, filepath.Ext(f.path) == ".py"
			if r.Status == op.StatusFail {
				facts.Otherwise = s.otherwise(f)
			}
		}
		all = append(all, s.find(r, facts))
		if s.fault != nil {
			return nil, s.fault
		}
	}
	return all, nil
}

// suspect is a wrong record that is worth a closer look.
type suspect struct {
	record record.Record
	race   bool // some case of the same function ended as a RACE
}

// worth picks, for every pass of every added file that is wrong, the record that tells most plainly what is wrong, and one more where a dtype
// fails on special numbers alone: that is a fault of its own.
func worth(records []record.Record) []suspect {
	byDType, races := map[string]record.Record{}, map[string]bool{}
	var order []string
	for _, r := range records {
		if r.Backend != "mine" || r.Status.Weight() != op.Bad || r.Status == op.StatusBuildFail || r.Device == "" {
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
	var all []suspect
	for _, key := range order {
		r := byDType[key]
		first := slices.IndexFunc(all, func(s suspect) bool { return functionOf(s.record) == functionOf(r) })
		switch {
		case first < 0:
			all = append(all, suspect{r, races[functionOf(r)]})
		case plain(r) != plain(all[first].record):
			if second := slices.IndexFunc(all[first+1:], func(s suspect) bool { return functionOf(s.record) == functionOf(r) }); second < 0 {
				all = append(all, suspect{r, races[functionOf(r)]})
			}
		case simpler(r, all[first].record):
			all[first].record = r
		}
	}
	return all
}

func functionOf(r record.Record) string { return r.Impl + " " + r.Case.Pass.String() }

func plain(r record.Record) bool { return r.Case.Distribution == "normal" }

// otherwise looks whether the function is right with another value of an attribute that nothing said: "interleaved=true", "" where it is not.
func (s *shrinker) otherwise(f *ownFile) string {
	for _, attribute := range slices.Sorted(maps.Keys(f.free)) {
		for _, value := range f.free[attribute] {
			g, err := f.other(attribute, value)
			if err != nil {
				continue
			}
			dims := map[string]int64{}
			for _, d := range s.request.Operators[0].Spec.Dims {
				if d.Default == "" {
					dims[d.Name] = s.base.Dims.Get(d.Name)
				}
			}
			t := *s
			t.backends, t.known = []backend.Backend{&ownFiles{files: []*ownFile{g}}}, map[string]*record.Record{}
			t.changed = map[string]string{attribute: value}
			r := t.run(dims, "normal")
			_ = g.adapter.Close() // what it judged stands
			s.fault = t.fault
			if r != nil && r.Status.Weight() == op.Good {
				return attribute + "=" + value
			}
		}
	}
	return ""
}

// brokenRelation says whether nothing but gate G6 rejects a record.
func brokenRelation(r record.Record) bool {
	rejects := func(v record.Verdict) bool { return v.Status.Weight() == op.Bad }
	return slices.ContainsFunc(r.Outputs, rejects) && !slices.ContainsFunc(r.Outputs, func(v record.Verdict) bool { return rejects(v) && v.Gate != "G6" })
}

// simpler says whether a record tells more plainly what is wrong: ordinary numbers before others, few elements before many.
func simpler(a, b record.Record) bool {
	if plain(a) != plain(b) {
		return plain(a)
	}
	return elements(a.Case.Dims) < elements(b.Case.Dims)
}

// elements ranks a case by its size; an empty one, which shows the least, comes last.
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

// find shrinks the case of a record and asks what its neighbours do.
func (s *shrinker) find(r record.Record, facts own.Facts) finding {
	dims := map[string]int64{}
	spec := s.request.Operators[0].Spec
	for _, d := range spec.Dims {
		if _, fixed := s.request.Options.Dims[d.Name]; d.Default == "" {
			dims[d.Name] = r.Case.Dims.Get(d.Name)
			if !fixed && !s.follows(d.Name) {
				s.sizes = append(s.sizes, d.Name)
			}
		}
	}
	smallest := r
	last := map[string]int64{} // the largest right size below the smallest wrong one
	if costly(r) {
		facts.Status, facts.Message = r.Status, sentenceOf(r)
		return finding{r, own.Advise(facts)}
	}
	for range 2 {
		for _, name := range s.sizes {
			at, right, found := s.bisect(dims, name)
			if found != nil {
				smallest = *found
				s.set(dims, name, at)
			}
			last[name] = right
		}
	}
	facts.Status, facts.Message, facts.ULP = smallest.Status, sentenceOf(smallest), farthest(smallest)
	s.neighbours(&facts, dims, last)
	return finding{smallest, own.Advise(facts)}
}

// costly says whether each further run would cost a deadline.
func costly(r record.Record) bool { return r.Status == op.StatusHang }

// bisect finds the smallest value of a size that is wrong, the others being as they are; right is the largest right one below it, 0 where
// there is none.
func (s *shrinker) bisect(dims map[string]int64, name string) (at, right int64, found *record.Record) {
	at = dims[name]
	low := int64(0)
	if spec := s.request.Operators[0].Spec; at <= 1 || spec == nil {
		return at, 0, nil
	}
	for low+1 < at {
		middle := (low + at) / 2
		if low == 0 {
			middle = 1
		}
		r := s.probe(dims, name, middle)
		if r != nil && r.Status.Weight() == op.Bad {
			at, found = middle, r
			continue
		}
		if r == nil && s.spent() {
			break
		}
		if r == nil || r.Status.Weight() == op.Neutral { // this size cannot be judged: try those above it
			low = middle
			continue
		}
		low, right = middle, middle
	}
	return at, right, found
}

// set changes a size, and those that share its parameter.
func (s *shrinker) set(dims map[string]int64, name string, n int64) {
	dims[name] = n
	for _, group := range s.equal {
		if group[0] == name {
			for _, other := range group[1:] {
				dims[other] = n
			}
		}
	}
}

// follows says whether a size changes with another one.
func (s *shrinker) follows(name string) bool {
	return slices.ContainsFunc(s.equal, func(group []string) bool { return slices.Contains(group[1:], name) })
}

func (s *shrinker) spent() bool {
	return s.fault != nil || s.runs >= shrinkRuns || time.Now().After(s.until) || s.ctx.Err() != nil
}

// probe runs the case with other sizes; nil where that cannot be, or enough was run.
func (s *shrinker) probe(dims map[string]int64, pairs ...any) *record.Record {
	all := map[string]int64{}
	for name, n := range dims {
		all[name] = n
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		s.set(all, pairs[i].(string), pairs[i+1].(int64))
	}
	return s.run(all, s.base.Distribution)
}

func (s *shrinker) run(dims map[string]int64, distribution string) *record.Record {
	key := fmt.Sprint(dims, distribution)
	if r, ok := s.known[key]; ok {
		return r
	}
	if s.spent() {
		return nil
	}
	s.runs++
	request := s.request
	request.Impls, request.Explain, request.Gradients, request.Single = []string{s.impl}, false, false, !s.related
	request.Timing = nil // the time of a probe is of no use to anybody
	spec := request.Operators[0].Spec
	o := op.Options{Level: op.LevelFull, DTypes: []string{s.base.DType}, Passes: []op.Pass{s.base.Pass}, Dims: dims, Attributes: map[string]string{},
		Distributions: []string{distribution}, Layouts: []string{s.base.Layout}, Device: request.Options.Device, Memory: request.Options.Memory}
	if s.base.Upstream != "" {
		o.Upstreams = []string{s.base.Upstream}
	}
	if s.base.Saved != "" {
		o.Saved = []string{s.base.Saved}
	}
	for _, at := range spec.Attributes {
		if text, formula := at.Default.(string); !(formula && at.Type == "float") || text == "" {
			o.Attributes[at.Name] = s.base.Attrs.Text(at.Name)
		}
		if value, is := s.changed[at.Name]; is {
			o.Attributes[at.Name] = value
		}
	}
	request.Options = o
	runner := &run.Runner{Backends: s.backends, Recorder: forgetful{}, Stop: s.ctx}
	result, err := runner.Compare(s.ctx, request)
	if panics.In(err) != nil {
		s.fault = err
	}
	var found *record.Record
	if err == nil && len(result.Records) > 0 { // several where the spec pins an attribute on some shape: a wrong one decides
		found = &result.Records[max(slices.IndexFunc(result.Records, func(r record.Record) bool { return r.Status.Weight() == op.Bad }), 0)]
	}
	s.known[key] = found
	return found
}

// neighbours asks whether the function is right at multiples of a block, on squares, on ordinary numbers.
func (s *shrinker) neighbours(f *own.Facts, dims, last map[string]int64) {
	right := func(pairs ...any) bool {
		r := s.probe(dims, pairs...)
		return r != nil && r.Status.Weight() == op.Good
	}
	wrong := func(pairs ...any) bool {
		r := s.probe(dims, pairs...)
		return r != nil && r.Status.Weight() == op.Bad
	}
	if f.Distribution != "normal" {
		r := s.run(dims, "normal")
		f.OrdinaryPasses = r != nil && r.Status.Weight() != op.Bad
	}
	if f.OrdinaryPasses || f.Otherwise != "" {
		return // the numbers are to blame, or what was assumed, not the sizes
	}
	if s.transposed(f, dims); f.Transposed[0] != "" {
		return
	}
	for i, name := range s.sizes {
		for _, other := range s.sizes[i+1:] {
			if dims[name] != dims[other] && f.Square[0] == "" && right(name, int64(24), other, int64(24)) && right(name, int64(40), other, int64(40)) &&
				wrong(name, int64(24), other, int64(40)) {
				f.Square = [2]string{name, other}
			}
		}
	}
	if f.Square[0] != "" {
		return
	}
	s.multiples(f, dims)
	if roomy := s.roomy(dims); f.Multiple == 0 && roomy != nil {
		s.multiples(f, roomy)
	}
	for _, name := range slices.Backward(s.sizes) {
		if f.Multiple == 0 && f.UpTo == "" && last[name] > 1 && dims[name] == last[name]+1 {
			f.UpTo, f.Last = name, last[name]
		}
	}
}

// multiples asks whether the function is right where a size is a multiple of a block, and wrong beside it.
func (s *shrinker) multiples(f *own.Facts, dims map[string]int64) {
	is := func(want op.Weight, name string, n int64) bool {
		r := s.probe(dims, name, n)
		return r != nil && r.Status.Weight() == want
	}
	for _, name := range slices.Backward(s.sizes) {
		p := int64(256)
		if f.Multiple > 0 || !is(op.Good, name, p) {
			continue
		}
		for p > 4 && is(op.Good, name, p/2) {
			p /= 2
		}
		if is(op.Good, name, 3*p) && is(op.Bad, name, 3*p-1) && is(op.Bad, name, 3*p+1) {
			f.Multiple, f.Of = p, name
		}
	}
}

// roomy are sizes on which right can be told from wrong where the smallest case is too small for that; nil where it is right there.
func (s *shrinker) roomy(dims map[string]int64) map[string]int64 {
	all, changed := maps.Clone(dims), false
	for _, name := range s.sizes {
		if dims[name] < 4 {
			s.set(all, name, 4)
			changed = true
		}
	}
	if r := s.probe(all); !changed || r == nil || r.Status.Weight() != op.Bad {
		return nil
	}
	return all
}

// transposed asks whether a matrix is taken column after column: that shows where both of its sizes are 2 or more, equal or not, and nowhere else.
func (s *shrinker) transposed(f *own.Facts, dims map[string]int64) {
	is := func(want op.Weight, pairs ...any) bool {
		r := s.probe(dims, pairs...)
		return r != nil && (r.Status.Weight() == want || want == op.Good && r.Status.Weight() == op.Neutral)
	}
	inputs, outputs := s.request.Operators[0].Spec.Tensors(s.base.Pass)
	for _, t := range slices.Concat(inputs, outputs) {
		sizes, _ := t.Shape.([]any)
		if len(sizes) < 2 || f.Transposed[0] != "" {
			continue
		}
		row, _ := sizes[len(sizes)-2].(string)
		col, _ := sizes[len(sizes)-1].(string)
		if !slices.Contains(s.sizes, row) || !slices.Contains(s.sizes, col) || row == col || dims[row] < 2 || dims[col] < 2 {
			continue
		}
		if is(op.Good, row, int64(1), col, int64(5)) && is(op.Good, row, int64(5), col, int64(1)) && is(op.Bad, row, int64(5), col, int64(5)) &&
			is(op.Bad, row, int64(2), col, int64(2)) {
			f.Transposed, f.Matrix = [2]string{row, col}, t.Name
			if name := exchanged(s.probe(dims, row, int64(5), col, int64(5))); name != "" {
				f.Matrix, f.Written = name, true
			}
		}
	}
}

// exchanged is the output of a record that holds the truth of the transposed places; "" where none does.
func exchanged(r *record.Record) string {
	if r == nil {
		return ""
	}
	for _, v := range r.Outputs {
		if strings.Contains(v.Pattern, judge.Exchanged) {
			return v.Name
		}
	}
	return ""
}

// layoutOf names the tensors of a pass with their shapes.
func layoutOf(spec *op.Spec, pass op.Pass) string {
	inputs, outputs := spec.Tensors(pass)
	var words []string
	for _, t := range slices.Concat(inputs, outputs) {
		words = append(words, t.Name+" "+t.ShapeText())
	}
	return strings.Join(words, ", ")
}

// sentenceOf is what is said of a record, or of its first wrong output.
func sentenceOf(r record.Record) string {
	for _, v := range r.Outputs {
		if v.Status.Weight() == op.Bad {
			return v.Message
		}
	}
	return r.Message
}

// farthest is the largest distance from the truth among the wrong outputs.
func farthest(r record.Record) float64 {
	worst := math.NaN()
	for _, v := range r.Outputs {
		if v.Status.Weight() == op.Bad && v.ULPMax != nil && !(float64(*v.ULPMax) <= worst) {
			worst = float64(*v.ULPMax)
		}
	}
	return worst
}

// forgetful is a recorder of runs that only look closer.
type forgetful struct{}

func (forgetful) Plan([]record.Item, record.Toolchain) error    { return nil }
func (forgetful) Done(record.Item) bool                         { return false }
func (forgetful) Append(*record.Record) error                   { return nil }
func (forgetful) AppendDifferences(d []record.Difference) error { return nil }

// tellSmallest prints the smallest wrong case of every added file, what that usually means and the command that repeats it.
func (a *app) tellSmallest(all []finding, added []string) error {
	for _, f := range all {
		r := f.record
		if _, err := fmt.Fprintf(a.out, "\nThe smallest case found that shows what is wrong with %s:\n", r.Impl); err != nil {
			return fmt.Errorf("print the result: %w", err)
		}
		r.ID = ""
		if err := report.Bad(a.out, a.style(), r); err != nil {
			return err
		}
		advice := f.advice
		if advice != "" {
			advice = "        " + strings.ToUpper(advice[:1]) + advice[1:] + ".\n"
		}
		if _, err := fmt.Fprintf(a.style().Wrap(a.out), "%s        %s\n", advice, record.Repeat(r, wordsOf(r.Impl, added))); err != nil {
			return fmt.Errorf("print the result: %w", err)
		}
	}
	return nil
}
