package gpuworker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/run"
	"triad/internal/truth"
	"triad/internal/worker"
)

// alarmRun is the result of one run of TestFigureAlarms.
type alarmRun struct {
	FirstSeed uint64         `json:"first_seed"`
	Seeds     int            `json:"seeds"`
	Seconds   float64        `json:"seconds"`
	Verdicts  int            `json:"verdicts"` // on outputs with compared elements
	Elements  int64          `json:"elements"` // compared ones
	ByKernel  map[string]int `json:"by_implementation"`
	Neutral   int            `json:"neutral"` // records without a verdict: declined, missing
	// records that accuse, except those that a documented finding explains
	Bad int `json:"bad"`

	Accused    map[string]accusation `json:"accusations"` // by kind
	Documented map[string]int        `json:"documented"`  // records of each finding
}

// alarms holds the runs of a folder. Their seeds are fresh, so that their verdicts add up.
type alarms struct {
	Verdicts   int            `json:"verdicts"`
	Bad        int            `json:"bad"`
	Documented map[string]int `json:"documented"` // by finding
	Runs       []alarmRun     `json:"runs"`
}

// earlierAlarms reads the results of earlier runs in a folder.
func earlierAlarms(folder string) (alarms, error) {
	var all alarms
	text, err := os.ReadFile(filepath.Join(folder, "figure-alarms.json"))
	if errors.Is(err, os.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return all, fmt.Errorf("read what earlier runs found: %w", err)
	}
	return all, nil
}

// with adds a run; no earlier run may have had its seeds.
func (a alarms) with(r alarmRun) (alarms, error) {
	for _, old := range a.Runs {
		if r.FirstSeed < old.FirstSeed+uint64(old.Seeds) && old.FirstSeed < r.FirstSeed+uint64(r.Seeds) {
			return a, fmt.Errorf("the seeds from %d on were judged before: TRIAD_FIGURE_SEED names others",
				r.FirstSeed)
		}
	}
	a.Runs = append(slices.Clone(a.Runs), r)
	a.Verdicts += r.Verdicts
	a.Bad += r.Bad
	a.Documented = maps.Clone(a.Documented)
	if a.Documented == nil {
		a.Documented = map[string]int{}
	}
	for finding, n := range r.Documented {
		a.Documented[finding] += n
	}
	return a, nil
}

// The verdicts of runs add up; seeds that were judged before are not fresh.
func TestAlarmsAddUp(t *testing.T) {
	folder := t.TempDir()
	all, err := earlierAlarms(folder)
	for _, first := range []uint64{100, 103} {
		if err == nil {
			all, err = all.with(alarmRun{
				FirstSeed: first, Seeds: 3, Verdicts: 10, Bad: 1,
				Documented: map[string]int{"one": 2},
			})
		}
	}
	if err != nil || all.Verdicts != 20 || all.Bad != 2 || all.Documented["one"] != 4 || len(all.Runs) != 2 {
		t.Fatalf("two runs: %+v, %v", all, err)
	}
	for _, first := range []uint64{98, 102, 105} {
		if _, err := all.with(alarmRun{FirstSeed: first, Seeds: 3}); err == nil {
			t.Errorf("seeds from %d on are taken for fresh ones", first)
		}
	}
	text, _ := json.Marshal(all)
	if err := os.WriteFile(filepath.Join(folder, "figure-alarms.json"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	if again, err := earlierAlarms(folder); err != nil || again.Verdicts != 20 || len(again.Runs) != 2 {
		t.Errorf("read back: %+v, %v", again, err)
	}
}

// tally is a recorder that counts verdicts and keeps those that accuse.
type tally struct {
	mu    sync.Mutex
	run   alarmRun
	seeds map[uint64]bool
}

func newTally(first uint64) *tally {
	return &tally{run: alarmRun{
		FirstSeed: first, ByKernel: map[string]int{},
		Accused: map[string]accusation{}, Documented: map[string]int{},
	}, seeds: map[uint64]bool{}}
}

func (c *tally) Plan([]record.Item, record.Toolchain) error    { return nil }
func (c *tally) Done(record.Item) bool                         { return false }
func (c *tally) AppendDifferences(d []record.Difference) error { return nil }
func (c *tally) Append(r *record.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seeds[r.Seed] = true
	count := func(*record.Record) error { return nil }
	if r.Status == op.StatusKnown {
		count = c.run.document
	} else if r.Status.Weight() == op.Bad {
		count = c.run.accuse
	}
	if err := count(r); err != nil {
		return err
	}
	compared := false
	for _, v := range r.Outputs {
		if v.NCompared > 0 {
			c.run.ByKernel[r.Case.Op+" "+r.Impl]++
			c.run.Verdicts++
			c.run.Elements += v.NCompared
			compared = true
		}
	}
	if !compared {
		c.run.Neutral++
	}
	return nil
}

// verdicts returns their number so far.
func (c *tally) verdicts() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.run.Verdicts
}

// portion is a piece of the sweep: a pass and dtype of an operator.
type portion struct {
	operator *truth.Operator
	pass     op.Pass
	dtype    string
}

// portions returns all pieces, alternating between operators, so that a sweep that is cut short has covered
// each.
func portions() ([]portion, error) {
	byOperator := map[string][]portion{}
	most := 0
	for _, name := range catalog.Names() {
		o, err := truth.Get(name)
		if err != nil {
			return nil, err
		}
		for _, pass := range o.Spec.Passes() {
			for _, dtype := range o.Spec.PassDTypes(pass) {
				byOperator[name] = append(byOperator[name], portion{o, pass, dtype})
			}
		}
		most = max(most, len(byOperator[name]))
	}
	var all []portion
	for i := range most {
		for _, name := range catalog.Names() {
			if i < len(byOperator[name]) {
				all = append(all, byOperator[name][i])
			}
		}
	}
	return all, nil
}

// sweep hands out portions in rounds, each round under a seed of its own.
type sweep struct {
	mu       sync.Mutex
	portions []portion
	first    uint64
	next     int
}

func (s *sweep) take() (p portion, round int, seed uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	round = s.next / len(s.portions)
	p = s.portions[s.next%len(s.portions)]
	s.next++
	return p, round, s.first + uint64(round)
}

// relationsEvery is the interval of rounds that also check the relations between calls: their additional
// calls cost as much as the rest.
const relationsEvery = 8

// sum adds up counts.
func sum(counts map[string]int) int {
	all := 0
	for _, n := range counts {
		all += n
	}
	return all
}

// judgePortion judges the implementations of a family, or of several, on a portion. For Triton, which
// compiles for each size, it takes the quick cases.
func judgePortion(ctx context.Context, r *run.Runner, p portion, round int, seed uint64, impls []string,
	memory int64, device string,
) error {
	level := op.LevelDefault
	if round%2 == 0 || slices.Contains(impls, "triton") {
		level = op.LevelQuick
	}
	names, err := goodNames(ctx, r, p.operator.Spec.Name, impls)
	if err != nil || len(names) == 0 {
		return err
	}
	_, err = r.Compare(ctx, run.Request{
		Operators: []*truth.Operator{p.operator}, Seed: seed, Impls: names, InFlight: 4,
		Single: round%relationsEvery != 1,
		Options: op.Options{
			Device: device, Memory: memory, Level: level, Passes: []op.Pass{p.pass},
			DTypes: []string{p.dtype},
		},
	})
	return err
}

// goodNames lists the implementations of families, except those of torch.compile, which spend their time on
// compiling.
func goodNames(ctx context.Context, r *run.Runner, operator string, families []string) ([]string, error) {
	var names []string
	for _, b := range r.Backends {
		reply, _, err := b.Load(ctx, operator)
		if err != nil {
			return nil, err
		}
		for _, i := range reply.Implementations {
			family, _, _ := strings.Cut(i.Name, "/")
			if slices.Contains(families, family) && !strings.HasPrefix(i.Name, "torch/compile") &&
				!slices.Contains(names, i.Name) {
				names = append(names, i.Name)
			}
		}
	}
	return names, nil
}

// judgeDriver is one of several concurrent judges, with workers of its own.
type judgeDriver struct {
	runner *run.Runner
	impls  []string
	sweep  *sweep
}

// judgeDrivers makes a number of drivers, a third of which judge Triton's rows. Without a GPU there is one,
// for torch's: it shows that the sweep works, and what a verdict costs the host.
func judgeDrivers(t *testing.T, c *tally, stop context.Context, first uint64) (drivers []judgeDriver,
	memory int64, device string,
) {
	t.Helper()
	all, err := portions()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("TRIAD_TEST_GPU") == "" && os.Getenv("TRIAD_FIGURE_DEVICE") == "cpu" {
		r := &run.Runner{Backends: []backend.Backend{rowsOfPython(t, false)}, Recorder: c, Stop: stop}
		return []judgeDriver{{r, []string{"torch"}, &sweep{portions: all, first: first}}}, 0, "cpu"
	}
	folder, path, g := gpuFolder(t)
	n := setting("TRIAD_FIGURE_WORKERS", 6)
	ours, tritons := &sweep{portions: all, first: first}, &sweep{portions: all, first: first}
	for i := range n {
		python := rowsOfPython(t, true)
		d := judgeDriver{
			&run.Runner{Backends: []backend.Backend{python}, Recorder: c, Stop: stop},
			[]string{"triton"},
			tritons,
		}
		if i < n-n/3 {
			kernels := kernelsOf(t, path, filepath.Join(folder, "kernels"), worker.DefaultLimits)
			d.runner.Backends, d.impls, d.sweep = []backend.Backend{kernels, python},
				[]string{"cuda", "torch"}, ours
			python.Slots = []string{"torch"} // no process for the other rows
		} else {
			python.Slots = []string{"triton"}
		}
		drivers = append(drivers, d)
	}
	return drivers, g.MemoryBytes, "gpu"
}

// No known-good kernel is accused: verdicts on fresh seeds for TRIAD_FIGURE_SECONDS, or until there are
// TRIAD_FIGURE_VERDICTS including those of earlier runs, by TRIAD_FIGURE_WORKERS concurrent drivers. The
// seeds begin at TRIAD_FIGURE_SEED, else at the time; runs that leave their findings in one folder add up.
func TestFigureAlarms(t *testing.T) {
	folder := figureFolder(t)
	earlier, err := earlierAlarms(folder)
	if err != nil {
		t.Fatal(err)
	}
	seconds, enough := setting("TRIAD_FIGURE_SECONDS", 90), setting("TRIAD_FIGURE_VERDICTS", 0)
	first := uint64(setting("TRIAD_FIGURE_SEED", int(time.Now().UnixMilli())))
	stop, cancel := context.WithTimeout(t.Context(), time.Duration(seconds)*time.Second)
	defer cancel()
	c := newTally(first)
	drivers, memory, device := judgeDrivers(t, c, stop, first)
	began := time.Now()
	var group sync.WaitGroup
	for _, d := range drivers {
		group.Go(func() {
			for stop.Err() == nil {
				p, round, seed := d.sweep.take()
				if err := judgePortion(t.Context(), d.runner, p, round, seed, d.impls, memory,
					device); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	told := tellAlarms(stop, c, func(n int) {
		if enough > 0 && earlier.Verdicts+n >= enough {
			cancel()
		}
	})
	group.Wait()
	cancel()
	<-told
	c.run.Seconds = time.Since(began).Seconds()
	for seed := range c.seeds {
		c.run.Seeds = max(c.run.Seeds, int(seed-first)+1)
	}
	all, err := earlier.with(c.run)
	if err != nil {
		t.Fatal(err)
	}
	leave(t, "alarms", fmt.Sprintf("%d verdicts on outputs of known-good kernels (%d elements) on %d seeds "+
		"in %.0f s: %d records bad, %d of documented findings, %d neutral; "+
		"%d verdicts, %d bad and %d of documented findings in %d runs", c.run.Verdicts, c.run.Elements,
		len(c.seeds), c.run.Seconds, c.run.Bad, sum(c.run.Documented), c.run.Neutral,
		all.Verdicts, all.Bad, sum(all.Documented), len(all.Runs)), all)
	for _, id := range slices.Sorted(maps.Keys(c.run.Documented)) {
		fmt.Printf("alarms: documented: %d of %s (docs/findings.md)\n", c.run.Documented[id], id)
	}
	for _, kind := range slices.Sorted(maps.Keys(c.run.Accused)) {
		t.Errorf("%d records are bad of %s, the first: %.2000s", c.run.Accused[kind].Count, kind,
			c.run.Accused[kind].Example)
	}
	if c.run.Verdicts == 0 {
		t.Error("nothing was judged")
	}
}

// tellAlarms prints the number of verdicts every ten seconds, and passes it to each every second, until stop;
// then it closes told.
func tellAlarms(stop context.Context, c *tally, each func(verdicts int)) (told chan struct{}) {
	told = make(chan struct{})
	began := time.Now()
	go func() {
		defer close(told)
		for tick := 1; ; tick++ {
			select {
			case <-stop.Done():
				return
			case <-time.After(time.Second):
			}
			n, past := c.verdicts(), time.Since(began).Seconds()
			if tick%10 == 0 {
				fmt.Printf("alarms: %d verdicts after %.0f s, %.0f a second\n", n, past, float64(n)/past)
			}
			each(n)
		}
	}()
	return told
}
