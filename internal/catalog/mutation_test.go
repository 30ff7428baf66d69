package catalog

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
)

// This file scores the judge. A mutant is the right emulated kernel of an operator with one line changed; it is killed when some planned case of
// the default level ends FAIL, by an output that every implementation gives, for every dtype and every value of every attribute that it is not
// equivalent under. Right kernels with other
// orders of sums, block sizes and fast-math noise are judged on the same cases, and none may be accused.

// mutant is one planted bug. Its name is what the emulated kernel looks for.
type mutant struct {
	number     int // in the list of its operator and pass
	name       string
	equivalent func(g group) string // why nothing can tell it from the right kernel there; "" or nil: it must be killed
}

// suite is what one pass of an operator is scored with.
type suite struct {
	op      string
	pass    op.Pass
	mutants []mutant
	right   []arithmetic // variants that must pass; the first is the one that mutants change
	kernel  func(a arithmetic, p *prepared) [][]float64
}

// allSuites are those of every operator that has a file of mutants.
var allSuites []suite

// scored adds the suites of one operator to those that are scored.
func scored(of []suite) bool {
	allSuites = append(allSuites, of...)
	return true
}

func suites() []suite { return allSuites }

// group is a dtype, with one value of one attribute where the operator has any: a mutant has to be killed in each.
type group struct{ dtype, attribute, value string }

func (g group) String() string {
	if g.attribute == "" {
		return g.dtype
	}
	return g.dtype + " " + g.attribute + "=" + g.value
}

// groupsOf lists the groups a case belongs to.
func groupsOf(s *op.Spec, c op.Case) []group {
	var list []group
	for _, a := range s.Attributes {
		if a.Type == "bool" || a.Type == "enum" {
			list = append(list, group{c.DType, a.Name, c.Attrs.Text(a.Name)})
		}
	}
	if list == nil {
		list = []group{{dtype: c.DType}}
	}
	return list
}

// prepared is one planned case with its inputs and its truth.
type prepared struct {
	op.Case
	in       map[string]tensor.Tensor
	v        map[string][]float64
	plan     judge.Plan
	truth    judge.Truth
	right    [][]byte // what the right kernel stores
	baseline [][]float64
	groups   []group
	cost     int64
}

// matrix gives an input with its rows and columns.
func (p *prepared) matrix(name string) (x []float64, rows, cols int) {
	s := p.in[name].Shape
	return p.v[name], int(s[0]), int(s[1])
}

// low is the low precision a careless kernel would use: the case's own 16-bit dtype, bf16 for the others.
func (p *prepared) low() op.DType {
	if p.DType == "fp16" {
		return op.FP16
	}
	return op.BF16
}

// prepare makes every planned case of a suite, the cheap ones first.
func prepare(t *testing.T, s suite, seed uint64) []*prepared {
	o, err := Get(s.op)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := o.Spec.Expand(op.Options{Passes: []op.Pass{s.pass}})
	if err != nil {
		t.Fatal(err)
	}
	list := make([]*prepared, len(plan.Cases))
	for i, c := range plan.Cases {
		list[i] = prepareCase(t, s, o.Spec, c, seed)
	}
	slices.SortStableFunc(list, func(a, b *prepared) int { return cmp.Compare(a.cost, b.cost) })
	return list
}

func prepareCase(t *testing.T, s suite, spec *op.Spec, c op.Case, seed uint64) *prepared {
	p := &prepared{Case: c, in: map[string]tensor.Tensor{}, v: map[string][]float64{}, groups: groupsOf(spec, c), plan: judge.Plan{Launches: 2}, cost: 1}
	list := caseInputs(t, spec, c, seed)
	for _, x := range list {
		p.in[x.Name], p.v[x.Name] = x, x.Float64s()
	}
	var err error
	if p.truth, err = TruthOf(c, spec.DefaultContract(c.DType), list, nil); err != nil {
		t.Fatalf("%s seed %d: %v", describe(c), seed, err)
	}
	for _, o := range p.truth.Outputs {
		output, _ := spec.Output(o.Name)
		p.plan.Outputs = append(p.plan.Outputs, op.TensorType{Name: o.Name, DType: o.DType, Shape: o.Shape, Optional: output.Optional})
	}
	for _, d := range c.Dims {
		p.cost *= max(d.Value, 1)
	}
	for _, o := range p.launch(s.kernel(s.right[0], p), "a").Outputs {
		p.right = append(p.right, o.Data)
	}
	if peersAreScored() {
		p.baseline = baselineOf(t, s, spec, p, list)
	}
	return p
}

// describe names a case in one line.
func describe(c op.Case) string {
	return fmt.Sprint(c.Op, " ", c.Pass, " ", c.DType, " ", c.Dims, " ", c.Attrs, " ", c.Layout, " ", c.Distribution, " ", c.Upstream, " ", c.Saved)
}

// launch stores values as a launch into poisoned outputs leaves them.
func (p *prepared) launch(values [][]float64, poison string) judge.Launch {
	l := judge.Launch{Poison: poison, InputsUnchanged: true, GuardsIntact: true}
	for i, o := range p.truth.Outputs {
		data := tensor.Encode(o.DType, values[i])
		for e, v := range values[i] {
			if isUnwritten(v) {
				size := int(o.DType.Size())
				tensor.Poison(data[e*size:(e+1)*size], o.DType, poison)
			}
		}
		l.Outputs = append(l.Outputs, judge.Returned{Name: o.Name, Present: true, DType: o.DType, Shape: o.Shape, Stride: tensor.Contiguous(o.Shape), Data: data})
	}
	return l
}

// judged gives the verdicts on values under the operator's default contract, and the first launch's bytes.
func (p *prepared) judged(values [][]float64) ([]judge.Verdict, []judge.Returned) {
	a, b := p.launch(values, "a"), p.launch(values, "b")
	truth := func(string) (judge.Truth, error) { return p.truth, nil }
	return judge.UnderContracts(p.plan, judge.Answer{Launches: []judge.Launch{a, b}}, truth, p.truth.Contract, p.truth.Contract), a.Outputs
}

// fate is what became of a mutant: the groups that no case has killed it in, by judge and by fixed tolerance, and what is wrong with the mutant.
type fate struct {
	suite   suite
	mutant  mutant
	groups  int
	alive   []map[group]bool // of the judge, then of each fixed tolerance
	friend  []int            // pairs each would kill on one plainly normal case of the group alone
	differs bool
	wrong   []string // groups it is listed as equivalent under and killed in
}

// hunt runs a mutant over the cases until it is killed in every group.
func hunt(s suite, m mutant, cases []*prepared) fate {
	f := fate{suite: s, mutant: m, alive: make([]map[group]bool, 1)}
	if peersAreScored() {
		f.alive = make([]map[group]bool, 1+len(peers))
	}
	for r := range f.alive {
		f.alive[r] = map[group]bool{}
	}
	equivalent := map[group]bool{}
	for _, p := range cases {
		for _, g := range p.groups {
			if m.equivalent != nil && m.equivalent(g) != "" {
				equivalent[g] = true
				continue
			}
			for _, alive := range f.alive {
				alive[g] = true
			}
		}
	}
	f.groups = len(f.alive[0])
	a := s.right[0]
	a.bug = m.name
	for _, p := range cases {
		if !slices.ContainsFunc(p.groups, f.open) {
			continue
		}
		f.meet(p, s.kernel(a, p))
	}
	if peersAreScored() {
		f.friendly(cases, equivalent)
	}
	for _, p := range cases { // an entry in the list of equivalents has to be true
		if !slices.ContainsFunc(p.groups, func(g group) bool { return !equivalent[g] }) {
			if verdicts, _ := p.judged(s.kernel(a, p)); judge.Row(verdicts) == op.StatusFail {
				f.wrong = append(f.wrong, describe(p.Case)+": "+verdicts[0].Sentence)
				break
			}
		}
	}
	return f
}

// friendly scores judge and fixed tolerances on one case alone: for each group the largest of plainly normal data.
func (f *fate) friendly(cases []*prepared, equivalent map[group]bool) {
	chosen := map[group]*prepared{}
	for _, p := range cases { // the last is the largest
		for _, g := range p.groups {
			if p.Distribution == "normal" && p.Layout == "contiguous" && (p.Upstream == "" || p.Upstream == "normal") && !equivalent[g] {
				chosen[g] = p
			}
		}
	}
	f.friend = make([]int, 1+len(peers))
	a := f.suite.right[0]
	a.bug = f.mutant.name
	kills := map[*prepared][]bool{}
	for _, p := range chosen {
		if kills[p] == nil {
			verdicts, stored := p.judged(f.suite.kernel(a, p))
			kills[p] = []bool{judge.Row(f.mutant.shownBy(p, verdicts)) == op.StatusFail}
			for _, r := range peers {
				kills[p] = append(kills[p], !r.accepts(p, stored))
			}
		}
		for r, k := range kills[p] {
			if k {
				f.friend[r]++
			}
		}
	}
}

// open says whether somebody has still to kill the mutant in a group.
func (f *fate) open(g group) bool {
	for _, alive := range f.alive {
		if alive[g] {
			return true
		}
	}
	return false
}

// meet judges what the mutant computed on a case.
func (f *fate) meet(p *prepared, values [][]float64) {
	verdicts, stored := p.judged(values)
	for i, o := range stored {
		f.differs = f.differs || !bytes.Equal(o.Data, p.right[i])
	}
	f.killed(0, p, judge.Row(f.mutant.shownBy(p, verdicts)) == op.StatusFail)
	for r := range f.alive[1:] {
		f.killed(1+r, p, !peers[r].accepts(p, stored))
	}
}

// shownBy leaves out the optional outputs, which an implementation need not give, unless the bug is in one of them.
func (m mutant) shownBy(p *prepared, verdicts []judge.Verdict) []judge.Verdict {
	var shown []judge.Verdict
	for i, o := range p.plan.Outputs {
		if !o.Optional || strings.HasPrefix(m.name, o.Name+" ") {
			shown = append(shown, verdicts[i])
		}
	}
	return shown
}

func (f *fate) killed(rule int, p *prepared, killed bool) {
	if killed {
		for _, g := range p.groups {
			delete(f.alive[rule], g)
		}
	}
}

// name says which mutant it is.
func (f *fate) name() string {
	return fmt.Sprintf("%s %s %d, %s", f.suite.op, f.suite.pass, f.mutant.number, f.mutant.name)
}

// score adds up suites and seeds.
type score struct {
	mutants, killed      int
	judgements, accused  int
	pairs                int   // mutants times groups
	peerKills, peerAlarm []int // pairs killed and right variants accused by each fixed tolerance
	pairsKilled          int
	friend               []int // pairs killed on one plainly normal case
}

func (s score) String() string {
	return fmt.Sprintf("mutants killed %d/%d, right variants accused %d/%d", s.killed, s.mutants, s.accused, s.judgements)
}

// TestMutation scores the judge on the tuning seed, or, with TRIAD_MUTATION_SEEDS=n (make mutation SEEDS=n), on n seeds drawn afresh. A mutant counts
// as killed where every seed kills it.
func TestMutation(t *testing.T) {
	seeds := mutationSeeds(t)
	survivors, killed := map[string]string{}, map[string]bool{}
	total := score{peerKills: make([]int, len(peers)), peerAlarm: make([]int, len(peers)), friend: make([]int, 1+len(peers))}
	for _, s := range suites() {
		total.mutants += len(s.mutants)
		t.Run(s.op+" "+s.pass.String(), func(t *testing.T) {
			for _, seed := range seeds {
				cases := prepare(t, s, seed)
				judgeRight(t, s, cases, &total)
				for _, f := range huntAll(s, cases) {
					killed[f.name()] = true
					if why := f.verdict(t, &total); why != "" {
						survivors[f.name()] = fmt.Sprintf("%s (seed %d)", why, seed)
					}
				}
			}
		})
	}
	total.killed = len(killed) - len(survivors) // a suite that -run leaves out kills nothing
	var report strings.Builder
	for _, name := range slices.Sorted(maps.Keys(survivors)) {
		t.Errorf("survives: %s: %s", name, survivors[name])
		fmt.Fprintf(&report, "survives: %s: %s\n", name, survivors[name])
	}
	if peersAreScored() {
		report.WriteString(peerTable(total))
	}
	fmt.Fprintf(&report, "%v, seeds %d\n", total, len(seeds))
	t.Log("\n" + report.String())
	if path := os.Getenv("TRIAD_MUTATION_SCORE"); path != "" {
		if err := os.WriteFile(path, []byte(report.String()), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// mutationSeeds are the seeds of the run: the tuning seed, or fresh ones, which are printed so that a run can be repeated from TRIAD_MUTATION_FIRST.
func mutationSeeds(t *testing.T) []uint64 {
	text := os.Getenv("TRIAD_MUTATION_SEEDS")
	if text == "" {
		return []uint64{1}
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("TRIAD_MUTATION_SEEDS=%q: want a number of seeds", text)
	}
	first := rand.Uint64N(1 << 40)
	if text := os.Getenv("TRIAD_MUTATION_FIRST"); text != "" {
		if first, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("TRIAD_MUTATION_FIRST=%q: want a seed", text)
		}
	}
	t.Logf("fresh seeds %d to %d", first, first+uint64(n)-1)
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = first + uint64(i)
	}
	return seeds
}

// huntAll runs every mutant of a suite, two at a time.
func huntAll(s suite, cases []*prepared) []fate {
	fates := make([]fate, len(s.mutants))
	next := make(chan int)
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() {
			for i := range next {
				fates[i] = hunt(s, s.mutants[i], cases)
			}
		})
	}
	for i := range fates {
		next <- i
	}
	close(next)
	wait.Wait()
	return fates
}

// verdict adds a mutant to the score and says why it survives, "" if it does not. What is wrong with the mutant itself fails the test.
func (f *fate) verdict(t *testing.T, total *score) string {
	total.pairs += f.groups
	total.pairsKilled += f.groups - len(f.alive[0])
	for r, alive := range f.alive[1:] {
		total.peerKills[r] += f.groups - len(alive)
	}
	for r, n := range f.friend {
		total.friend[r] += n
	}
	if f.groups == 0 || !f.differs {
		t.Errorf("%s is the right kernel everywhere", f.name())
	}
	for _, where := range f.wrong {
		t.Errorf("%s is listed as equivalent and killed: %s", f.name(), where)
	}
	var names []string
	for g := range f.alive[0] {
		names = append(names, g.String())
	}
	slices.Sort(names)
	return strings.Join(names, "; ")
}

// judgeRight judges every right variant on every case: none may be accused.
func judgeRight(t *testing.T, s suite, cases []*prepared, total *score) {
	t.Helper()
	for _, p := range cases {
		for n, a := range s.right {
			verdicts, stored := p.judged(s.kernel(a, p))
			for _, v := range verdicts {
				if v.Status == op.StatusEmptyOK {
					continue
				}
				total.judgements++
				if v.Status != op.StatusPass && v.Status != op.StatusWarn {
					total.accused++
					t.Errorf("right variant %d accused: %s: %v %s: %s, R %v, T %v", n, describe(p.Case), v.Status, v.Gate, v.Sentence, v.Worst.R, v.Worst.T)
				}
			}
			if peersAreScored() {
				for r, peer := range peers {
					for i := range stored {
						if p.plan.Outputs[i].Elements() > 0 && !peer.acceptsOutput(p, i, stored[i].Data) {
							total.peerAlarm[r]++
						}
					}
				}
			}
		}
	}
}

// TestEveryOperatorHasMutants: a new operator is scored too, and no mutant stands for two.
func TestEveryOperatorHasMutants(t *testing.T) {
	found := map[string]bool{}
	for _, s := range suites() {
		key := s.op + " " + s.pass.String()
		found[key] = true
		numbers, names := map[int]bool{}, map[string]bool{"": true}
		for _, m := range s.mutants {
			if numbers[m.number] || names[m.name] {
				t.Errorf("%s: mutant %d, %q occurs twice", key, m.number, m.name)
			}
			numbers[m.number], names[m.name] = true, true
		}
	}
	for _, o := range All() {
		for _, pass := range o.Spec.Passes() {
			if !found[o.Spec.Name+" "+pass.String()] {
				t.Errorf("%s %s has no mutants: its judge is unproven", o.Spec.Name, pass)
			}
		}
	}
}
