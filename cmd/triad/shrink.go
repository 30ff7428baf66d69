package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/own"
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
	sizes    []string // the dims that may change, those with a parameter
	known    map[string]*record.Record
	runs     int
	until    time.Time
}

// shrink finds, for every pass of every added file that is wrong, the smallest case that shows it.
func (a *app) shrink(ctx context.Context, mine *ownFiles, request run.Request, result run.Result) []finding {
	if mine == nil || result.Interrupted {
		return nil
	}
	smallest, races := map[string]record.Record{}, map[string]bool{}
	var order []string
	for _, r := range result.Records {
		key := r.Impl + " " + r.Case.Pass.String()
		if r.Backend != "mine" || r.Status.Weight() != op.Bad || r.Status == op.StatusBuildFail || r.Device == "" {
			continue
		}
		races[key] = races[key] || r.Status == op.StatusRace
		old, there := smallest[key]
		if !there {
			order = append(order, key)
		}
		if !there || simpler(r, old) {
			smallest[key] = r
		}
	}
	var all []finding
	for _, key := range order {
		r := smallest[key]
		s := &shrinker{ctx: ctx, backends: []backend.Backend{mine}, request: request, related: brokenRelation(r), impl: r.Impl, base: r.Case, known: map[string]*record.Record{},
			until: time.Now().Add(shrinkFor)}
		facts := own.Facts{Operator: r.Case.Op, Pass: r.Case.Pass, DType: r.Case.DType, Distribution: r.Case.Distribution, Race: races[key],
			Formula: request.Operators[0].Spec.Formula, Layout: layoutOf(request.Operators[0].Spec, r.Case.Pass)}
		for _, f := range mine.files {
			facts.NoBarrier = facts.NoBarrier || f.name == r.Impl && f.unsynchronised
		}
		all = append(all, s.find(r, facts))
	}
	return all
}

// brokenRelation says whether nothing but gate G6 rejects a record.
func brokenRelation(r record.Record) bool {
	rejects := func(v record.Verdict) bool { return v.Status.Weight() == op.Bad }
	return slices.ContainsFunc(r.Outputs, rejects) && !slices.ContainsFunc(r.Outputs, func(v record.Verdict) bool { return rejects(v) && v.Gate != "G6" })
}

// simpler says whether a record tells more plainly what is wrong: ordinary numbers before others, few elements before many.
func simpler(a, b record.Record) bool {
	if plain := a.Case.Distribution == "normal"; plain != (b.Case.Distribution == "normal") {
		return plain
	}
	return elements(a.Case.Dims) < elements(b.Case.Dims)
}

func elements(dims op.Dims) float64 {
	n := 1.0
	for _, d := range dims {
		n *= float64(d.Value)
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
			if !fixed {
				s.sizes = append(s.sizes, d.Name)
			}
		}
	}
	smallest := r
	last := map[string]int64{} // the largest right size below the smallest wrong one
	for range 2 {
		for _, name := range s.sizes {
			at, right, found := s.bisect(dims, name)
			if found != nil {
				smallest, dims[name] = *found, at
			}
			last[name] = right
		}
	}
	facts.Status, facts.Message, facts.ULP = smallest.Status, sentenceOf(smallest), farthest(smallest)
	s.neighbours(&facts, dims, last)
	return finding{smallest, own.Advise(facts)}
}

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

func (s *shrinker) spent() bool {
	return s.runs >= shrinkRuns || time.Now().After(s.until) || s.ctx.Err() != nil
}

// probe runs the case with other sizes; nil where that cannot be, or enough was run.
func (s *shrinker) probe(dims map[string]int64, pairs ...any) *record.Record {
	all := map[string]int64{}
	for name, n := range dims {
		all[name] = n
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		all[pairs[i].(string)] = pairs[i+1].(int64)
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
	}
	request.Options = o
	runner := &run.Runner{Backends: s.backends, Recorder: forgetful{}, Stop: s.ctx}
	result, err := runner.Compare(s.ctx, request)
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
	if f.OrdinaryPasses {
		return // the numbers are to blame, not the sizes
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
	for _, name := range slices.Backward(s.sizes) {
		for _, p := range []int64{4, 8, 16, 32, 64, 128, 256} {
			if f.Multiple == 0 && right(name, p) && right(name, 3*p) && wrong(name, 3*p-1) && wrong(name, 3*p+1) {
				f.Multiple, f.Of = p, name
			}
		}
	}
	for _, name := range slices.Backward(s.sizes) {
		if f.Multiple == 0 && f.UpTo == "" && last[name] > 1 && dims[name] == last[name]+1 {
			f.UpTo, f.Last = name, last[name]
		}
	}
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
		if _, err := fmt.Fprintf(a.out, "%s        %s\n", advice, record.Repeat(r, wordsOf(r.Impl, added))); err != nil {
			return fmt.Errorf("print the result: %w", err)
		}
	}
	return nil
}
