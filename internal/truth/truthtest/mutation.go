package truthtest

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"triad/internal/judge"
	"triad/internal/need"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// The files mutation.go and score.go score the judge. A mutant is the right emulated kernel of an operator
// with one line changed; it is killed when some planned case of the default level ends FAIL, by an output
// that every implementation gives, for every dtype and every value of every attribute that it is not
// equivalent under; the fast tier requires that for one dtype. Right kernels with other orders of sums, block
// sizes and fast-math noise are judged on the same cases, and none may be rejected.

// Mutant is one planted bug. The emulated kernel looks for its name.
type Mutant struct {
	Number int // in the list of its operator and pass
	Name   string
	// why nothing can distinguish it from the right kernel there; "" or nil: it must be killed
	Equivalent func(g Group) string
}

// Mutants lists the mutants of a suite.
type Mutants []Mutant

// Add adds mutants with the next numbers. equivalent, which may be nil, returns why nothing can distinguish
// them from the right kernel in a group.
func (l *Mutants) Add(equivalent func(g Group) string, names ...string) {
	for _, name := range names {
		*l = append(*l, Mutant{Number: len(*l) + 1, Name: name, Equivalent: equivalent})
	}
}

// StoredIn16Bits returns why a result in 16 bits shows nothing in a group whose results have them.
func StoredIn16Bits(g Group) string {
	if g.Dtype == op.FP32.String() || g.Dtype == op.I32.String() {
		return ""
	}
	return "the result is stored in 16 bits anyway"
}

// Suite holds the mutants and kernels that one pass of an operator is scored with.
type Suite struct {
	Op      string
	Pass    op.Pass
	Mutants Mutants
	Right   []Arithmetic // variants that must pass; the first is the one that mutants change
	Kernel  func(a Arithmetic, p *Prepared) [][]float64
}

// Group is a dtype, with one value of one attribute where the operator has any: a mutant must be killed in
// each.
type Group struct{ Dtype, Attribute, Value string }

func (g Group) String() string {
	if g.Attribute == "" {
		return g.Dtype
	}
	return g.Dtype + " " + g.Attribute + "=" + g.Value
}

// Under returns the reason why a bug shows nothing under each value of an attribute that reasons has.
func Under(attribute string, reasons map[string]string) func(Group) string {
	return func(g Group) string {
		if g.Attribute == attribute {
			return reasons[g.Value]
		}
		return ""
	}
}

// Only returns the reason why a bug shows nothing where an attribute has another value.
func Only(attribute, value string) func(Group) string {
	return func(g Group) string {
		if g.Attribute == attribute && g.Value != value {
			return "it shows where " + attribute + " is " + value
		}
		return ""
	}
}

// groupsOf lists the groups a case belongs to.
func groupsOf(s *op.Spec, c op.Case) []Group {
	var list []Group
	for _, a := range s.Attributes {
		if a.Type == "bool" || a.Type == "enum" {
			list = append(list, Group{c.DType, a.Name, c.Attrs.Text(a.Name)})
		}
	}
	if list == nil {
		list = []Group{{Dtype: c.DType}}
	}
	return list
}

// Prepared is one planned case with its inputs and its truth.
type Prepared struct {
	op.Case
	In       map[string]tensor.Tensor
	V        map[string][]float64
	Plan     judge.Plan
	Truth    judge.Truth
	right    [][]byte // the stored outputs of the right kernel
	baseline [][]float64
	groups   []Group
	cost     int64
}

// Matrix returns an input with its rows and columns.
func (p *Prepared) Matrix(name string) (x []float64, rows, cols int) {
	s := p.In[name].Shape
	return p.V[name], int(s[0]), int(s[1])
}

// Low returns the low precision a careless kernel would use: the case's own 16-bit dtype, bf16 for the
// others.
func (p *Prepared) Low() op.DType {
	if p.DType == "fp16" {
		return op.FP16
	}
	return op.BF16
}

// openIn reports whether some of the cases must kill a mutant.
func (m Mutant) openIn(s *op.Spec, cases []op.Case) bool {
	return slices.ContainsFunc(cases, func(c op.Case) bool {
		return slices.ContainsFunc(groupsOf(s, c), func(g Group) bool {
			return m.Equivalent == nil || m.Equivalent(g) == ""
		})
	})
}

// chosenCases returns the cases of a suite that a run scores. The fast tier takes one dtype, the first under
// which every mutant differs from the right kernel; where there is none, as many as each mutant needs to
// differ under one. Fresh seeds and the peers' score take all.
func chosenCases(t *testing.T, s Suite, spec *op.Spec, all []op.Case) []op.Case {
	t.Helper()
	if os.Getenv(seedsVariable) != "" || peersAreScored() {
		return all
	}
	of := map[string][]op.Case{}
	for _, c := range all {
		of[c.DType] = append(of[c.DType], c)
	}
	shows := func(m Mutant, cases []op.Case) bool { return m.openIn(spec, cases) }
	dtypes := slices.Clone(spec.PassDTypes(s.Pass))
	if i := slices.IndexFunc(dtypes, func(dtype string) bool {
		return !slices.ContainsFunc(s.Mutants, func(m Mutant) bool { return !shows(m, of[dtype]) })
	}); i > 0 {
		dtypes[0], dtypes[i] = dtypes[i], dtypes[0]
	}
	var chosen []op.Case
	inputs := slices.Concat(need.Judge, need.Operator(s.Op))
	for _, dtype := range dtypes {
		lacks := slices.ContainsFunc(s.Mutants, func(m Mutant) bool {
			return shows(m, of[dtype]) && !shows(m, chosen)
		})
		if need.Chosen(t, dtype, fmt.Sprint(s.Op, " ", s.Pass), inputs...) || lacks {
			chosen = append(chosen, of[dtype]...)
		}
	}
	return chosen
}

// prepare makes the cases of a suite that a run scores, the cheap ones first.
func prepare(t *testing.T, s Suite, seed uint64) []*Prepared {
	o, err := truth.Get(s.Op)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := o.Spec.Expand(op.Options{Passes: []op.Pass{s.Pass}})
	if err != nil {
		t.Fatal(err)
	}
	cases := chosenCases(t, s, o.Spec, plan.Cases)
	list := make([]*Prepared, len(cases))
	for i, c := range cases {
		list[i] = PrepareCase(t, s, o.Spec, c, seed)
	}
	slices.SortStableFunc(list, func(a, b *Prepared) int { return cmp.Compare(a.cost, b.cost) })
	return list
}

// PrepareCase makes one case of a suite with its inputs, its truth and the outputs of the right kernel.
func PrepareCase(t *testing.T, s Suite, spec *op.Spec, c op.Case, seed uint64) *Prepared {
	p := &Prepared{
		Case: c, In: map[string]tensor.Tensor{}, V: map[string][]float64{},
		groups: groupsOf(spec, c), Plan: judge.Plan{Launches: 2}, cost: 1,
	}
	list := CaseInputs(t, spec, c, seed)
	for _, x := range list {
		p.In[x.Name], p.V[x.Name] = x, x.Float64s()
	}
	var err error
	if p.Truth, err = truth.Of(c, spec.DefaultContract(c.DType), list, nil); err != nil {
		t.Fatalf("%s seed %d: %v", Describe(c), seed, err)
	}
	p.planOutputs(spec)
	for _, d := range c.Dims {
		p.cost *= max(d.Value, 1)
	}
	for _, o := range p.Launch(s.Kernel(s.Right[0], p), "a").Outputs {
		p.right = append(p.right, o.Data)
	}
	if peersAreScored() {
		p.baseline = baselineOf(t, s, spec, p, list)
	}
	return p
}

// planOutputs plans every output of the pass.
func (p *Prepared) planOutputs(spec *op.Spec) {
	for _, o := range p.Truth.Outputs {
		output, _ := spec.Output(o.Name)
		p.Plan.Outputs = append(p.Plan.Outputs, op.TensorType{
			Name: o.Name, DType: o.DType, Shape: o.Shape,
			Optional: output.Optional,
		})
	}
}

// Describe names a case in one line.
func Describe(c op.Case) string {
	return fmt.Sprint(c.Op, " ", c.Pass, " ", c.DType, " ", c.Dims, " ", c.Attrs, " ", c.Layout, " ",
		c.Distribution, " ", c.Upstream, " ", c.Saved)
}

// Launch stores values as a launch into poisoned outputs leaves them.
func (p *Prepared) Launch(values [][]float64, poison string) judge.Launch {
	l := judge.Launch{Poison: poison, InputsUnchanged: true, GuardsIntact: true}
	for i, o := range p.Truth.Outputs {
		data := tensor.Encode(o.DType, values[i])
		for e, v := range values[i] {
			if isUnwritten(v) {
				size := int(o.DType.Size())
				tensor.Poison(data[e*size:(e+1)*size], o.DType, poison)
			}
		}
		l.Outputs = append(l.Outputs, judge.Returned{
			Name: o.Name, Present: true, DType: o.DType,
			Shape: o.Shape, Stride: tensor.Contiguous(o.Shape), Data: data,
		})
	}
	return l
}

// Judged returns the verdicts on values under the operator's default contract, and the first launch's bytes.
func (p *Prepared) Judged(values [][]float64) ([]judge.Verdict, []judge.Returned) {
	a, b := p.Launch(values, "a"), p.Launch(values, "b")
	truth := func(string) (judge.Truth, error) { return p.Truth, nil }
	return judge.UnderContracts(p.Plan, judge.Answer{Launches: []judge.Launch{a, b}}, truth, p.Truth.Contract,
		p.Truth.Contract), a.Outputs
}

// fate is the result for a mutant: the groups that no case has killed it in, by judge and by fixed tolerance,
// and what is wrong with the mutant.
type fate struct {
	suite   Suite
	mutant  Mutant
	groups  int
	alive   []map[Group]bool // of the judge, then of each fixed tolerance
	friend  []int            // pairs each would kill on one plainly normal case of the group alone
	differs bool
	wrong   []string // groups it is listed as equivalent under and killed in
}

// hunt runs a mutant over the cases until it is killed in every group.
func hunt(s Suite, m Mutant, cases []*Prepared) fate {
	f := fate{suite: s, mutant: m, alive: make([]map[Group]bool, 1)}
	if peersAreScored() {
		f.alive = make([]map[Group]bool, 1+len(Peers))
	}
	for r := range f.alive {
		f.alive[r] = map[Group]bool{}
	}
	equivalent := map[Group]bool{}
	for _, p := range cases {
		for _, g := range p.groups {
			if m.Equivalent != nil && m.Equivalent(g) != "" {
				equivalent[g] = true
				continue
			}
			for _, alive := range f.alive {
				alive[g] = true
			}
		}
	}
	f.groups = len(f.alive[0])
	a := s.Right[0]
	a.Bug = m.Name
	for _, p := range cases {
		if !slices.ContainsFunc(p.groups, f.open) {
			continue
		}
		f.meet(p, s.Kernel(a, p))
	}
	if peersAreScored() {
		f.friendly(cases, equivalent)
	}
	for _, p := range cases { // an entry in the list of equivalents has to be true
		if !slices.ContainsFunc(p.groups, func(g Group) bool { return !equivalent[g] }) {
			if verdicts, _ := p.Judged(s.Kernel(a, p)); judge.Row(verdicts) == op.StatusFail {
				f.wrong = append(f.wrong, Describe(p.Case)+": "+verdicts[0].Sentence)
				break
			}
		}
	}
	return f
}

// friendly scores judge and fixed tolerances on a single case: for each group the largest of plainly normal
// data.
func (f *fate) friendly(cases []*Prepared, equivalent map[Group]bool) {
	chosen := map[Group]*Prepared{}
	for _, p := range cases { // the last is the largest
		for _, g := range p.groups {
			if p.Distribution == "normal" && p.Layout == "contiguous" &&
				(p.Upstream == "" || p.Upstream == "normal") && !equivalent[g] {
				chosen[g] = p
			}
		}
	}
	f.friend = make([]int, 1+len(Peers))
	a := f.suite.Right[0]
	a.Bug = f.mutant.Name
	kills := map[*Prepared][]bool{}
	for _, p := range chosen {
		if kills[p] == nil {
			verdicts, stored := p.Judged(f.suite.Kernel(a, p))
			kills[p] = []bool{judge.Row(f.mutant.shownBy(p, verdicts)) == op.StatusFail}
			for _, r := range Peers {
				kills[p] = append(kills[p], !r.Accepts(p, stored))
			}
		}
		for r, k := range kills[p] {
			if k {
				f.friend[r]++
			}
		}
	}
}

// open reports whether the mutant survives in a group, under the judge or a fixed tolerance.
func (f *fate) open(g Group) bool {
	for _, alive := range f.alive {
		if alive[g] {
			return true
		}
	}
	return false
}

// meet judges the mutant's outputs on a case.
func (f *fate) meet(p *Prepared, values [][]float64) {
	verdicts, stored := p.Judged(values)
	for i, o := range stored {
		f.differs = f.differs || !bytes.Equal(o.Data, p.right[i])
	}
	f.killed(0, p, judge.Row(f.mutant.shownBy(p, verdicts)) == op.StatusFail)
	for r := range f.alive[1:] {
		f.killed(1+r, p, !Peers[r].Accepts(p, stored))
	}
}

// shownBy leaves out the optional outputs, which an implementation need not give, unless the bug is in one of
// them.
func (m Mutant) shownBy(p *Prepared, verdicts []judge.Verdict) []judge.Verdict {
	var shown []judge.Verdict
	for i, o := range p.Plan.Outputs {
		if !o.Optional || strings.HasPrefix(m.Name, o.Name+" ") {
			shown = append(shown, verdicts[i])
		}
	}
	return shown
}

func (f *fate) killed(rule int, p *Prepared, killed bool) {
	if killed {
		for _, g := range p.groups {
			delete(f.alive[rule], g)
		}
	}
}

// name returns the name of the mutant.
func (f *fate) name() string {
	return fmt.Sprintf("%s %s %d, %s", f.suite.Op, f.suite.Pass, f.mutant.Number, f.mutant.Name)
}
