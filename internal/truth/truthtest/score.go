package truthtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/panics"
	"triad/internal/truth"
)

// Score adds up suites and seeds.
type Score struct {
	Mutants, Killed      int
	Judgements, Accused  int
	Pairs, PairsKilled   int   // mutants times groups
	PeerKills, PeerAlarm []int // pairs killed and right variants accused by each fixed tolerance
	Friend               []int // pairs killed on one plainly normal case
	Seeds                int
	Survivors            []string
	Derived              DerivedScore
}

// Add adds the score of another operator.
func (s *Score) Add(o Score) {
	s.Mutants, s.Killed, s.Judgements, s.Accused = s.Mutants+o.Mutants, s.Killed+o.Killed, s.Judgements+
		o.Judgements, s.Accused+o.Accused
	s.Pairs, s.PairsKilled, s.Seeds = s.Pairs+o.Pairs, s.PairsKilled+o.PairsKilled, max(s.Seeds, o.Seeds)
	s.PeerKills, s.PeerAlarm, s.Friend = addEach(s.PeerKills, o.PeerKills), addEach(s.PeerAlarm, o.PeerAlarm),
		addEach(s.Friend, o.Friend)
	s.Survivors = append(s.Survivors, o.Survivors...)
	s.Derived.Add(o.Derived)
}

func addEach(a, b []int) []int {
	sum := make([]int, max(len(a), len(b)))
	for i := range a {
		sum[i] += a[i]
	}
	for i := range b {
		sum[i] += b[i]
	}
	return sum
}

// String lists the survivors, the fixed tolerances where they were scored, and in the last line the score.
func (s Score) String() string {
	var report strings.Builder
	for _, survivor := range s.Survivors {
		fmt.Fprintf(&report, "survives: %s\n", survivor)
	}
	if peersAreScored() {
		report.WriteString(peerTable(s))
	}
	if s.Derived.Planted > 0 {
		fmt.Fprintln(&report, s.Derived)
	}
	fmt.Fprintf(&report, "mutants killed %d/%d, right variants accused %d/%d, seeds %d\n", s.Killed,
		s.Mutants, s.Accused, s.Judgements, s.Seeds)
	return report.String()
}

// Mutation scores the judge of one operator on the tuning seed, or, with TRIAD_MUTATION_SEEDS=n (make
// mutation SEEDS=n), on n seeds drawn afresh. A mutant counts as killed where every seed kills it. With
// TRIAD_MUTATION_SCORE=DIR the score is kept as DIR/<op>.json (see internal/mutationscore).
func Mutation(t *testing.T, suites []Suite) {
	t.Helper()
	complete(t, suites)
	seeds := Seeds(t)
	survivors, killed := map[string]string{}, map[string]bool{}
	total := Score{
		PeerKills: make([]int, len(Peers)), PeerAlarm: make([]int, len(Peers)),
		Friend: make([]int, 1+len(Peers)), Seeds: len(seeds),
	}
	for _, s := range suites {
		total.Mutants += len(s.Mutants)
		t.Run(s.Pass.String(), func(t *testing.T) {
			for _, seed := range seeds {
				cases := prepare(t, s, seed)
				judgeRight(t, s, cases, &total)
				for _, f := range huntAll(t, s, cases) {
					killed[f.name()] = true
					if why := f.verdict(t, &total); why != "" {
						survivors[f.name()] = fmt.Sprintf("%s (seed %d)", why, seed)
					}
				}
			}
		})
	}
	total.Killed = len(killed) - len(survivors) // a suite that -run leaves out kills nothing
	for _, name := range slices.Sorted(maps.Keys(survivors)) {
		t.Errorf("survives: %s: %s", name, survivors[name])
		total.Survivors = append(total.Survivors, name+": "+survivors[name])
	}
	t.Log("\n" + total.String())
	keep(t, suites[0].Op, total)
}

// keep leaves a score in the folder that TRIAD_MUTATION_SCORE names.
func keep(t *testing.T, name string, score Score) {
	t.Helper()
	dir := os.Getenv("TRIAD_MUTATION_SCORE")
	if dir == "" {
		return
	}
	text, err := json.Marshal(score)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".json"), text, 0o644)
	}
	if err != nil {
		t.Error(err)
	}
}

// complete fails the test unless every pass of the operator has mutants with unique numbers and names.
func complete(t *testing.T, suites []Suite) {
	t.Helper()
	found := map[op.Pass]bool{}
	for _, s := range suites {
		found[s.Pass] = len(s.Mutants) > 0
		numbers, names := map[int]bool{}, map[string]bool{"": true}
		for _, m := range s.Mutants {
			if numbers[m.Number] || names[m.Name] {
				t.Errorf("%s %v: mutant %d, %q occurs twice", s.Op, s.Pass, m.Number, m.Name)
			}
			numbers[m.Number], names[m.Name] = true, true
		}
	}
	o, err := truth.Get(suites[0].Op)
	if err != nil {
		t.Fatal(err)
	}
	for _, pass := range o.Spec.Passes() {
		if !found[pass] {
			t.Errorf("%s %s has no mutants: its judge is unproven", o.Spec.Name, pass)
		}
	}
}

const seedsVariable = "TRIAD_MUTATION_SEEDS"

// Seeds returns the seeds of the run: the tuning seed, or fresh ones, which are printed so that a run can be
// repeated from TRIAD_MUTATION_FIRST.
func Seeds(t *testing.T) []uint64 {
	text := os.Getenv(seedsVariable)
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
func huntAll(t *testing.T, s Suite, cases []*Prepared) []fate {
	fates := make([]fate, len(s.Mutants))
	var wait panics.Group
	for first := range 2 {
		wait.Go(func() {
			for i := first; i < len(fates); i += 2 {
				fates[i] = hunt(s, s.Mutants[i], cases)
			}
		})
	}
	if err := wait.Wait(); err != nil {
		t.Fatal(err)
	}
	return fates
}

// verdict adds a mutant to the score and returns why it survives, "" if it does not. A fault of the mutant
// itself fails the test.
func (f *fate) verdict(t *testing.T, total *Score) string {
	total.Pairs += f.groups
	total.PairsKilled += f.groups - len(f.alive[0])
	for r, alive := range f.alive[1:] {
		total.PeerKills[r] += f.groups - len(alive)
	}
	for r, n := range f.friend {
		total.Friend[r] += n
	}
	if f.groups == 0 || !f.differs {
		t.Errorf("%s changes no answer: let [check] have the distribution, shape or attribute on which it "+
			"does, or look whether the kernel asks for this name", f.name())
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

// judgeRight judges every right variant on every case: none may be rejected.
func judgeRight(t *testing.T, s Suite, cases []*Prepared, total *Score) {
	t.Helper()
	for _, p := range cases {
		for n, a := range s.Right {
			verdicts, stored := p.Judged(s.Kernel(a, p))
			for _, v := range verdicts {
				if v.Status == op.StatusEmptyOK {
					continue
				}
				total.Judgements++
				if v.Status != op.StatusPass && v.Status != op.StatusWarn {
					total.Accused++
					t.Errorf("right variant %d accused: %s: %v %s: %s, R %v, T %v", n, Describe(p.Case),
						v.Status, v.Gate, v.Sentence, v.Worst.R, v.Worst.T)
				}
			}
			if peersAreScored() {
				for r, peer := range Peers {
					for i := range stored {
						if p.Plan.Outputs[i].Elements() > 0 && !peer.acceptsOutput(p, i, stored[i].Data) {
							total.PeerAlarm[r]++
						}
					}
				}
			}
		}
	}
}
