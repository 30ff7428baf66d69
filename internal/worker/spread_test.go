package worker

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
)

// Judged jobs are spread over several workers, those of one pass of an implementation in one dtype in one of
// them; after Together these workers have ended, and an implementation's own slot runs the rest.
func TestSpread(t *testing.T) {
	a := fakeAdapter(t, "exits 0", nil) // every job ends its worker: a start for each
	var mu sync.Mutex
	started := 0
	command := a.Command
	a.Command = func(ctx context.Context) (Command, error) {
		mu.Lock()
		started++
		mu.Unlock()
		return command(ctx)
	}
	a.Spread = 3
	if a.Lanes() != 3 {
		t.Errorf("%d lanes, want 3", a.Lanes())
	}
	at := func(name string, pass op.Pass, dtype, limit string) string {
		a.init()
		return a.slotOf(backend.Job{Implementation: backend.Implementation{
			Op: "copy", Name: name, Pass: pass,
			Limit: limit,
		}, DType: dtype}).name
	}
	compiled := at("torch/compile", op.Forward, "fp32", "quick2")
	others := map[string]int{}
	for i := range 8 { // as much as the compiled one is worth, in each of the others
		others[at(fmt.Sprintf("triton/%d", i), op.Forward, "fp32", "")]++
	}
	if len(others) != 2 || others[compiled] != 0 {
		t.Errorf("beside %s the jobs went to %v, want four to each of two others", compiled, others)
	}
	if again := at("torch/compile", op.Forward, "fp32", "quick2"); again != compiled {
		t.Errorf("the jobs of one implementation go to %s and %s", compiled, again)
	}
	a.Slot = func(name string) string { return name }
	a.Alone = []string{"quack/forward"}
	if got := at("quack/forward", op.Forward, "fp32", ""); got != "quack/forward" {
		t.Errorf("what runs alone goes to %q", got)
	}
	seen := map[string]bool{}
	for _, dtype := range []string{"fp32", "fp16", "bf16"} {
		seen[at("triton/many", op.Backward, dtype, "")] = true
	}
	if len(seen) != 3 {
		t.Errorf("three dtypes went to %v, want three workers", seen)
	}
	runSix(t, a)
	if started != 6 {
		t.Errorf("%d workers were started for six jobs that each end one", started)
	}
	a.Together()
	if a.Lanes() != 0 || at("torch/compile", op.Forward, "fp32", "quick2") != a.Slot("torch/compile") {
		t.Error("after all is together jobs are spread all the same")
	}
	for name, s := range a.slots {
		if s.worker != nil {
			t.Errorf("the worker of %q still runs", name)
		}
	}
}

// runSix runs six jobs in parallel, each of an implementation of its own.
func runSix(t *testing.T, a *Adapter) {
	t.Helper()
	var group sync.WaitGroup
	for i := range 6 {
		group.Go(func() {
			job := fakeJob()
			job.Implementation.Name = fmt.Sprint("fake/", i)
			if _, err := a.Run(t.Context(), job); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// Workers that jobs are spread over are started in parallel when the first is.
func TestSpreadWorkersStartTogether(t *testing.T) {
	a := fakeAdapter(t, "plain", nil)
	a.Spread, a.Slots = 3, []string{"one", "two"}
	if _, _, err := a.Load(t.Context(), "copy"); err != nil {
		t.Fatal(err)
	}
	for n := range a.Spread {
		s := a.slot(SpreadSlot(n))
		s.mu.Lock() // its starter holds the lock meanwhile
		if s.worker == nil {
			t.Errorf("worker %d is not started", n)
		}
		s.mu.Unlock()
	}
	if s := a.slot("two"); s.worker != nil {
		t.Error("the slot of an implementation is started, and nothing runs in it")
	}
}

// If all jobs to come run in workers of their own, no other worker is started ahead: neither one to spread
// jobs over nor, on a machine with few cores, one of the slots.
func TestNothingIsStartedForJobsThatRunAlone(t *testing.T) {
	for _, spread := range []int{0, 3} {
		a := fakeAdapter(t, "plain", nil)
		a.Spread, a.Slots = spread, []string{"one", "two"}
		a.Slot = func(implementation string) string { return implementation }
		a.Alone = []string{"alone"}
		if a.Spreads("alone") || !a.Spreads("one") {
			t.Error("what runs alone is spread, or the rest is not")
		}
		a.Expect(-2)
		if _, _, err := a.Load(t.Context(), "copy"); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"one", "two", SpreadSlot(0), SpreadSlot(1), SpreadSlot(2)} {
			s := a.slot(name)
			s.mu.Lock() // its starter holds the lock meanwhile
			if s.worker != nil {
				t.Errorf("spread over %d: the worker of %q is started", spread, name)
			}
			s.mu.Unlock()
		}
	}
}

// If few jobs are expected, only as many workers are started ahead; further jobs start theirs.
func TestSpreadStartsNoMoreThanItsJobs(t *testing.T) {
	a := fakeAdapter(t, "plain", nil)
	a.Spread, a.Slots = 3, []string{"one", "two"}
	a.Expect(1)
	if _, _, err := a.Load(t.Context(), "copy"); err != nil {
		t.Fatal(err)
	}
	started := func() (n int) {
		for k := range a.Spread {
			s := a.slot(SpreadSlot(k))
			s.mu.Lock() // its starter holds the lock meanwhile
			if s.worker != nil {
				n++
			}
			s.mu.Unlock()
		}
		return n
	}
	if n := started(); n != 1 {
		t.Errorf("%d workers were started for one job", n)
	}
	for i := range 2 {
		job := fakeJob()
		job.Implementation.Name = fmt.Sprint("fake/", i)
		if _, err := a.Run(t.Context(), job); err != nil {
			t.Error(err)
		}
	}
	if n := started(); n != 2 {
		t.Errorf("%d workers run after two jobs", n)
	}
}
