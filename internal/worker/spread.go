package worker

import (
	"fmt"
	"slices"
	"sync"

	"triad/internal/backend"
	"triad/internal/panics"
)

// spread distributes jobs that are judged and not timed over many workers, so that they compile in parallel.
// The jobs of one pass of an implementation in one dtype stay in one worker, which has compiled for them.
type spread struct {
	mu     sync.Mutex
	over   bool
	expect int            // the number of groups of jobs to come that stay together, see Expect
	slots  map[string]int // by what stays together
	loaded []int          // what each worker was given, by weight
}

// The load that the jobs of an implementation put on a worker: torch.compile's take longest.
const (
	plainWeight    = 1
	compiledWeight = 4
)

// slotOf returns the slot in which a job is judged: one of the workers that jobs are spread over, or its
// implementation's own slot.
func (a *Adapter) slotOf(job backend.Job) *slot {
	own := a.Slot(job.Implementation.Name)
	if a.Spread <= 1 || slices.Contains(a.Alone, own) {
		return a.slot(own)
	}
	i, s := job.Implementation, &a.spread
	key, weight := fmt.Sprint(i.Op, " ", i.Name, " ", i.Pass, " ", job.DType), plainWeight
	if i.Limit != "" {
		weight = compiledWeight
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return a.slot(own)
	}
	if s.slots == nil {
		s.slots, s.loaded = map[string]int{}, make([]int, a.Spread)
	}
	at, known := s.slots[key]
	if !known {
		for n, load := range s.loaded {
			if load < s.loaded[at] {
				at = n
			}
		}
		s.slots[key] = at
		s.loaded[at] += weight
	}
	return a.slot(SpreadSlot(at))
}

// Lanes returns the number of jobs judged in parallel, 0 if they are not spread.
func (a *Adapter) Lanes() int {
	a.spread.mu.Lock()
	defer a.spread.mu.Unlock()
	if a.spread.over || a.Spread <= 1 {
		return 0
	}
	return a.Spread
}

// Expect sets the number of groups of jobs to come that stay together, 0 if unknown, negative if no job to
// come is spread. No more workers than that are started ahead; if more come, their workers start with them.
func (a *Adapter) Expect(jobs int) {
	a.spread.mu.Lock()
	defer a.spread.mu.Unlock()
	a.spread.expect = jobs
}

// Spreads reports whether the jobs of an implementation, or of a family, may run in one of the workers that
// are started ahead.
func (a *Adapter) Spreads(implementation string) bool {
	return !slices.Contains(a.Alone, a.Slot(implementation))
}

// ahead returns the number of workers that are started before the jobs spread over them come, negative if no
// other worker than those of Alone will be needed.
func (a *Adapter) ahead() int {
	lanes := a.Lanes()
	a.spread.mu.Lock()
	defer a.spread.mu.Unlock()
	if a.spread.expect != 0 {
		return min(lanes, a.spread.expect)
	}
	return lanes
}

// SpreadSlot returns the name of the n-th worker that jobs are spread over.
func SpreadSlot(n int) string { return fmt.Sprintf("judging %d", n+1) }

// Together ends the workers that jobs were spread over: from now on each job runs in its implementation's own
// slot. On a GPU that is timed nothing else may hold memory or work.
func (a *Adapter) Together() {
	a.init()
	a.spread.mu.Lock()
	a.spread.over = true
	a.spread.mu.Unlock()
	var group panics.Group
	for n := range a.Spread {
		a.mu.Lock()
		s := a.slots[SpreadSlot(n)]
		a.mu.Unlock()
		if s != nil {
			group.Go(func() { a.end(s) })
		}
	}
	if err := group.Wait(); err != nil {
		a.broke(err)
	}
}

// end ends the worker of a slot.
func (a *Adapter) end(s *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.worker != nil && !s.worker.close() {
		a.noteWedged(&Death{Wedged: true}, s.worker)
	}
	s.worker = nil
}
