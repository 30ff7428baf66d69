package truthtest

import (
	"cmp"
	"slices"
	"testing"

	"triad/internal/casegaps"
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// DerivedMutant is one derived mutant of a pass and dtype, with its result on one seed.
type DerivedMutant struct {
	Op, DType string
	Pass      op.Pass
	Question  casegaps.Question
	Quick     bool // the cases of --quick kill it
	Killed    bool // those of the default level do
	Shown     bool // some case of the default level has the subject of the mistake
	Differs   bool // and on some of these its answer is wrong
}

// derivedHunt holds the mutants of one pass and dtype.
type derivedHunt struct {
	cases   casegaps.Cases
	mutants []*DerivedMutant
	sims    map[string][][]float64 // by the sizes of the outputs: the result of the first call
	// subjects that some case showed to matter: inputs and attributes that are read, outputs that are
	// rounded, sums; and those that some case could have shown
	matters, shown map[string]bool
	tried          map[string]int // number of cases tried to see whether an input is read
	score          *Score
}

// DerivedMutants judges the mutants that follow from the spec of an operator. The fast tier takes the last
// dtype of each pass.
func DerivedMutants(t *testing.T, name string, seed uint64, score *Score) []*DerivedMutant {
	t.Helper()
	o, err := truth.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	var all []*DerivedMutant
	for _, pass := range o.Spec.Passes() {
		dtypes := o.Spec.PassDTypes(pass)
		if !allDTypes() {
			dtypes = dtypes[len(dtypes)-1:]
		}
		for _, dtype := range dtypes {
			all = append(all, huntDerived(t, o.Spec, pass, dtype, seed, score)...)
		}
	}
	return all
}

func huntDerived(t *testing.T, spec *op.Spec, pass op.Pass, dtype string, seed uint64, score *Score,
) []*DerivedMutant {
	t.Helper()
	quick := casesAt(t, spec, pass, dtype, op.LevelQuick)
	standard := casesAt(t, spec, pass, dtype, op.LevelDefault)
	h := derivedHunt{
		cases: casegaps.Cases{Spec: spec, Pass: pass, DType: dtype, List: standard},
		sims:  map[string][][]float64{}, matters: map[string]bool{}, shown: map[string]bool{},
		tried: map[string]int{}, score: score,
	}
	questions, err := h.cases.Questions()
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range questions {
		h.mutants = append(h.mutants, &DerivedMutant{Op: spec.Name, DType: dtype, Pass: pass, Question: q})
	}
	inBoth := func(c op.Case) bool { return contains(quick, c) && contains(standard, c) }
	for _, c := range standard {
		if inBoth(c) {
			h.meet(t, c, seed, true, true)
		}
	}
	for _, c := range standard {
		if !inBoth(c) {
			h.meet(t, c, seed, false, true)
		}
	}
	for _, c := range quick {
		if !inBoth(c) {
			h.meet(t, c, seed, true, false)
		}
	}
	return slices.DeleteFunc(h.mutants, func(m *DerivedMutant) bool {
		return !m.Killed && !m.Quick && h.cannotMatter(m.Question)
	})
}

// cannotMatter reports whether a mistake has no effect: the pass does not read the input or the attribute, or
// the output is never rounded, is no sum of several terms, or equals the other one.
func (h *derivedHunt) cannotMatter(q casegaps.Question) bool {
	switch q.Kind {
	case casegaps.Strides, casegaps.Offset, casegaps.Numbers, casegaps.HalfAway:
		return !h.matters[q.Subject]
	case casegaps.Attribute, casegaps.Sum16, casegaps.Confused:
		return h.shown[aboutOf(q)] && !h.matters[aboutOf(q)]
	}
	return false
}

// aboutOf returns the name of what several mistakes share and must matter: the attribute, or one mistake
// alone.
func aboutOf(q casegaps.Question) string {
	if q.Kind == casegaps.Attribute {
		return q.Subject
	}
	return q.String()
}

// readTrials is the number of cases that are tried to see whether an input is read.
const readTrials = 8

// look determines which inputs are read, and which outputs are rounded.
func (h *derivedHunt) look(d *derived) {
	for _, o := range d.Truth.Outputs {
		h.matters[o.Name] = h.matters[o.Name] || slices.ContainsFunc(o.R, func(r float64) bool {
			return truth.IsFinite(r) && tensor.Round(o.DType, F32(r), false) != F32(r)
		})
	}
	for i, x := range d.list {
		if !h.matters[x.Name] && h.tried[x.Name] < readTrials && x.Elements() > 0 {
			h.tried[x.Name]++
			h.matters[x.Name] = d.reads(i)
		}
	}
}

// casesAt returns the cases of a level, the cheap ones first.
func casesAt(t *testing.T, spec *op.Spec, pass op.Pass, dtype string, level op.Level) []op.Case {
	t.Helper()
	plan, err := spec.Expand(op.Options{Level: level, Passes: []op.Pass{pass}, DTypes: []string{dtype}})
	if err != nil {
		t.Fatal(err)
	}
	cost := func(c op.Case) int64 {
		n := int64(1)
		for _, d := range c.Dims {
			n *= max(d.Value, 1)
		}
		return n
	}
	slices.SortStableFunc(plan.Cases, func(a, b op.Case) int { return cmp.Compare(cost(a), cost(b)) })
	return plan.Cases
}

func contains(cases []op.Case, c op.Case) bool {
	return slices.ContainsFunc(cases, func(other op.Case) bool { return other.Key() == c.Key() })
}

// meet runs the mutants on a case that has not killed them yet: a case of --quick, of the default level, or
// of both. A case on which no mutant shows is not computed.
func (h *derivedHunt) meet(t *testing.T, c op.Case, seed uint64, quick, standard bool) {
	t.Helper()
	var open []*DerivedMutant
	for _, m := range h.mutants {
		if (quick && !m.Quick || standard && !m.Killed) &&
			(m.Question.NeedsInputs() || m.Question.Shows(h.cases.Spec, c, nil)) {
			open = append(open, m)
		}
	}
	if len(open) == 0 {
		return
	}
	in := CaseInputs(t, h.cases.Spec, c, seed)
	open = slices.DeleteFunc(open, func(m *DerivedMutant) bool {
		return m.Question.NeedsInputs() && !m.Question.Shows(h.cases.Spec, c, in)
	})
	if len(open) == 0 {
		return
	}
	d := h.derived(t, c, in)
	for _, m := range open {
		values, differs := d.answer(m.Question)
		m.Shown, m.Differs = m.Shown || standard, m.Differs || standard && differs
		h.shown[aboutOf(m.Question)] = true
		if differs {
			h.matters[aboutOf(m.Question)] = true
		}
		if differs && d.kills(m.Question, values) {
			m.Quick, m.Killed = m.Quick || quick, m.Killed || standard
		}
	}
}

// derived computes a case. Its right outputs must not be rejected.
func (h *derivedHunt) derived(t *testing.T, c op.Case, in []tensor.Tensor) *derived {
	t.Helper()
	d := &derived{spec: h.cases.Spec, list: in, Prepared: Prepared{Case: c, Plan: judge.Plan{Launches: 2}}}
	var err error
	if d.Truth, err = truth.Of(c, d.spec.DefaultContract(c.DType), in, nil); err != nil {
		t.Fatalf("%s: %v", Describe(c), err)
	}
	d.planOutputs(d.spec)
	d.sims = Sims(d.Truth)
	for _, o := range d.Launch(d.sims, "a").Outputs {
		d.right = append(d.right, o.Data)
	}
	verdicts, _ := d.Judged(d.sims)
	for _, v := range verdicts {
		if v.Status == op.StatusEmptyOK {
			continue
		}
		if h.score.Judgements++; v.Status != op.StatusPass && v.Status != op.StatusWarn {
			h.score.Accused++
			t.Errorf("the simulated contract is accused: %s: %v %s: %s", Describe(c), v.Status, v.Gate,
				v.Sentence)
		}
	}
	h.look(d)
	if d.earlier = h.sims[d.sizes()]; d.earlier == nil {
		h.sims[d.sizes()] = d.sims
	}
	return d
}
