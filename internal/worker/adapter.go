package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"triad/internal/backend"
	"triad/internal/hosttrouble"
	"triad/internal/op"
	"triad/internal/panics"
)

// Adapter is a backend whose implementations run in worker processes. Slot says which worker an
// implementation runs in: those of one slot share a process and wait for each other, those of different slots
// run in parallel.
type Adapter struct {
	BackendName string
	FamilyNames []string
	// families that need not be here: their absence is reported only if they are asked for by name
	Optional []string
	// may prepare the toolchain; *backend.Unavailable if there is none
	Command func(ctx context.Context) (Command, error)
	Slot    func(implementation string) string
	// what a load request names for an operator; nil: the operator itself
	Names func(operator string) string
	// Spread is the number of workers over which judged jobs are spread, until Together is called; 0 or 1:
	// every job runs in its Slot.
	Spread  int
	Alone   []string // slots whose jobs are not spread, so that their imports do not affect the others
	GPU     bool
	Options Options
	Reserve *Reserve // fresh workers that were started ahead; may be nil
	// Slots, or the workers that jobs are spread over, are started in parallel with the first worker, and
	// load the same operator: their processes take long to start, and one after the other twice as long.
	Slots []string
	// Explain returns a sentence if a worker's output shows that it found no device, else "". Once there is
	// one nothing more is run.
	Explain func(printed string) string
	// LongLoad is advice for a file that misses the deadline of loading because its top level runs code. The
	// file is then UNAVAILABLE, since its definitions are unknown. "": its build failed.
	LongLoad string

	once       sync.Once
	opts       Options
	mu         sync.Mutex
	slots      map[string]*slot
	spread     spread
	earlier    map[string]pastCalls // by implementation and pass
	wedged     []int
	gone       string // why nothing more is run on the GPU, "" while it is healthy
	candidates int64  // how many were prepared
	started    time.Duration
	fault      error // see broke
}

var _ backend.Backend = (*Adapter)(nil)

// slot is the place of one worker; its mutex is held for the length of a job.
type slot struct {
	mu     sync.Mutex
	name   string
	worker *worker
	loaded map[string]backend.LoadReply
	// suspect: the last worker hung or broke its context on a GPU. The next one is asked to prove that the
	// device still computes.
	suspect bool
}

func (a *Adapter) init() {
	a.once.Do(func() {
		a.opts = a.Options.withDefaults()
		a.slots, a.earlier = map[string]*slot{}, map[string]pastCalls{}
	})
}

// Name returns BackendName.
func (a *Adapter) Name() string { return a.BackendName }

// Families returns the first parts of the names of its implementations.
func (a *Adapter) Families() []string { return a.FamilyNames }

// OptionalFamilies returns the families that need not be here.
func (a *Adapter) OptionalFamilies() []string { return a.Optional }

func (a *Adapter) slot(name string) *slot {
	a.init()
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.slots[name]
	if s == nil {
		s = &slot{name: name}
		a.slots[name] = s
	}
	return s
}

// Load builds or imports the operator's sources in the slot of the empty name, and lists what they hold.
func (a *Adapter) Load(ctx context.Context, operator string) (backend.LoadReply, backend.HelloReply, error) {
	s := a.slot(a.Slot(""))
	s.mu.Lock()
	defer s.mu.Unlock()
	reply, err := a.load(ctx, s, operator)
	if err != nil {
		return backend.LoadReply{}, backend.HelloReply{}, err
	}
	return reply, s.worker.hello, nil
}

// startOthers starts the workers of Slots besides that of a slot, once, and has them load an operator. It
// waits for none: one that does not start is started again, and its failure reported, when a job runs in it.
func (a *Adapter) startOthers(ctx context.Context, besides *slot, operator string) {
	ahead := a.ahead()
	if ahead < 0 {
		return
	}
	a.mu.Lock()
	names := a.Slots
	a.Slots = nil
	a.mu.Unlock()
	if names != nil && ahead > 0 {
		names = make([]string, ahead)
		for n := range names {
			names[n] = SpreadSlot(n)
		}
	}
	for _, name := range names {
		s := a.slot(name)
		if s == besides || !s.mu.TryLock() {
			continue
		}
		panics.Go(func() {
			defer s.mu.Unlock() // Close, and any run in this slot, waits for it
			_ = a.loadFor(ctx, s, operator)
		}, a.broke)
	}
}

// broke keeps an internal error of a goroutine that nobody waits for: the next request returns it.
func (a *Adapter) broke(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fault = err
}

// faulted returns a copy of the kept error: each lane that ends with it adds what it was doing.
func (a *Adapter) faulted() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e := panics.In(a.fault); e != nil {
		own := *e
		own.Doing = slices.Clone(e.Doing)
		return &own
	}
	return a.fault
}

// Started returns the longest time from a worker's start to its greeting, which in Python is the import of
// torch.
func (a *Adapter) Started() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.started
}

// mostLoads is the number of attempts to load an operator when this machine prevents it.
const mostLoads = 2

// load makes sure that the slot has a live worker that has loaded the operator. A worker that this machine
// ends proves nothing about the operator: the next one tries again.
func (a *Adapter) load(ctx context.Context, s *slot, operator string) (reply backend.LoadReply, err error) {
	for range mostLoads {
		reply, err = a.loadOnce(ctx, s, operator)
		if err == nil || ctx.Err() != nil || hosttrouble.Of(err) == nil {
			break
		}
	}
	return reply, err
}

func (a *Adapter) loadOnce(ctx context.Context, s *slot, operator string) (backend.LoadReply, error) {
	if err := ctx.Err(); err != nil { // else an answer may come before the end is noticed
		return backend.LoadReply{}, err
	}
	if err := a.faulted(); err != nil {
		return backend.LoadReply{}, err
	}
	if s.worker == nil {
		if err := a.start(ctx, s, operator); err != nil {
			return backend.LoadReply{}, err
		}
	}
	if reply, ok := s.loaded[operator]; ok {
		return reply, nil
	}
	var reply backend.LoadReply
	named := operator
	if a.Names != nil {
		named = a.Names(operator)
	}
	w := s.worker
	defer a.opts.Pending.begin(fmt.Sprintf("loading %s in the worker of %s", operator, a.BackendName),
		a.opts.Limits.Build)()
	err := w.call(ctx, backend.Request{Do: backend.DoLoad, Load: &backend.LoadArgs{Op: named, Slot: s.name}},
		a.opts.Limits.Build, "build", &reply)
	if err == nil {
		err = checkFailures(reply.Failed)
	}
	if err != nil {
		if ctx.Err() != nil {
			w.end() // it may have answered just now
			s.worker = nil
		}
		if d := asDeath(err); d != nil && ctx.Err() == nil {
			a.lost(s, w, d)
			sentence := fmt.Sprintf("the worker of %s %s", a.BackendName, d.Sentence)
			if d.Status == op.StatusHang {
				sentence = fmt.Sprintf("loading %s in the worker of %s did not end: %s", operator,
					a.BackendName, d.Sentence)
			}
			switch {
			case d.Status == op.StatusOOM:
				return reply, &backend.HostTrouble{Sentence: sentence, Log: d.Log}
			case d.Status == op.StatusHang && a.LongLoad != "":
				return reply, &backend.Unavailable{Sentence: sentence + ": " + a.LongLoad}
			}
			return reply, &backend.BuildFailure{Status: d.Status, Sentence: sentence, Log: d.Log}
		}
		return reply, fmt.Errorf("load %s in the worker of %s: %w", operator, a.BackendName, err)
	}
	s.loaded[operator] = reply
	return reply, nil
}

// start puts a fresh worker into the slot, in which an operator, if any, is to be loaded. On a GPU that was
// left in doubt the worker has to prove that the device still computes.
func (a *Adapter) start(ctx context.Context, s *slot, operator string) error {
	if gone := a.isGone(); gone != "" {
		return &backend.Unavailable{Sentence: gone}
	}
	command, err := a.Command(ctx)
	if err != nil && ctx.Err() != nil { // what failed then says nothing about the machine
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	a.startOthers(ctx, s, operator) // what the command needed, such as an environment, is there now
	began := time.Now()
	done := a.opts.Pending.begin("starting the worker of "+a.BackendName, a.opts.Limits.Import)
	w, err := a.Reserve.open(ctx, command, a.opts)
	done()
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return a.startFailure(err)
	}
	a.mu.Lock()
	a.started = max(a.started, time.Since(began))
	a.mu.Unlock()
	if s.suspect {
		if err := a.probe(ctx, w); err != nil {
			return err
		}
		s.suspect = false
	}
	s.worker, s.loaded = w, map[string]backend.LoadReply{}
	return nil
}

// probeLimit is the deadline of a probe. It includes creating the context.
const probeLimit = 30 * time.Second

// probe asks a worker whether its device still computes. A device that does not is no longer used.
func (a *Adapter) probe(ctx context.Context, w *worker) error {
	var health struct {
		Healthy *bool  `json:"healthy"`
		Message string `json:"message"`
	}
	err := w.call(ctx, backend.Request{Do: backend.DoProbe}, probeLimit, "probe", &health)
	if err == nil && (health.Healthy == nil || *health.Healthy) {
		return nil
	}
	if ctx.Err() != nil {
		w.end()
		return ctx.Err()
	}
	if err != nil {
		health.Message = err.Error()
	}
	if asDeath(err) == nil && !w.end() {
		a.noteWedged(&Death{Wedged: true}, w)
	}
	return &backend.Unavailable{Sentence: a.giveUp("it fails a probe in a fresh process: " + health.Message)}
}

// giveUp records that nothing more is run on the GPU, and why.
func (a *Adapter) giveUp(why string) string {
	return a.stop("the GPU does not recover after what a kernel did: " + why +
		"; what was found before is recorded (nvidia-smi shows the GPU's state)")
}

// stop records why nothing more is run.
func (a *Adapter) stop(why string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone = why
	return why
}

func (a *Adapter) isGone() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.gone
}

// startFailure turns the failed start of a worker into an error with a sentence.
func (a *Adapter) startFailure(err error) error {
	if d := asDeath(err); d != nil {
		if a.Explain != nil {
			if why := a.Explain(d.Log); why != "" {
				return &backend.Unavailable{Sentence: a.stop(why)}
			}
		}
		sentence := fmt.Sprintf("the worker of %s %s", a.BackendName, d.Sentence)
		if d.Status == op.StatusOOM {
			return &backend.HostTrouble{Sentence: sentence, Log: d.Log}
		}
		return &backend.Unavailable{Sentence: sentence}
	}
	var u *backend.Unavailable
	if errors.As(err, &u) {
		return err
	}
	return fmt.Errorf("start the worker of %s: %w", a.BackendName, err)
}

const (
	// busyFactor multiplies the limit of a first call while as many other processes compile as there are
	// cores.
	busyFactor = 4
	// mostKept is the number of bytes of shared memory that a worker may keep between two jobs while others
	// judge in parallel: fresh pages cost more than all else that a large job does on the host. The number of
	// workers is limited so that each has five times as much.
	mostKept = 1 << 30
)

// Run executes a job in its implementation's slot.
func (a *Adapter) Run(ctx context.Context, job backend.Job) (backend.Outcome, error) {
	a.init()
	s := a.slotOf(job)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := a.load(ctx, s, job.Implementation.Op); err != nil {
		return backend.Outcome{}, err
	}
	w := s.worker
	args, arena, err := layOut(job, w.memory)
	if err != nil {
		return backend.Outcome{Status: op.StatusSkipped, Sentence: err.Error()}, nil
	}
	key := fmt.Sprint(job.Implementation.Op, " ", job.Implementation.Name, " ", job.Implementation.Pass)
	earlier := a.past(key).saying(arena.used, a.GPU)
	if job.Implementation.Limit != "" {
		earlier = nil // what compiles may do so again for other sizes
	}
	began := time.Now()
	var reply backend.RunReply
	limit := a.opts.Limits.call(earlier, a.GPU)
	side := a.Lanes() > 0
	if side && len(earlier) == 0 {
		limit *= busyFactor
	}
	done := a.opts.Pending.begin(job.Implementation.Name, limit)
	err = w.call(ctx, backend.Request{Do: backend.DoRun, Run: &args}, limit, a.phase(earlier), &reply)
	done()
	wall := time.Since(began)
	if err != nil {
		outcome, err := a.notAnswered(ctx, job, s, wall, err)
		if len(earlier) > 0 {
			outcome.Usual = slices.Max(earlier)
		}
		return outcome, err
	}
	outcome := collect(job, args, arena, reply, wall)
	if side && arena.used > mostKept { // each of many workers would keep the memory of its largest case
		_ = unix.Madvise(w.memory[:arena.used], unix.MADV_REMOVE)
	}
	outcome.Log = w.log.Tail()
	// A call that raised an exception left its process as it was, unless the worker says otherwise.
	if outcome.Ended = reply.Fatal || outcome.Ended; outcome.Ended {
		w.child.Wait(w.grace.Term)
		outcome.Wedged = !w.end()
		a.lost(s, w, &Death{Wedged: outcome.Wedged})
	}
	if outcome.Status == op.StatusUnknown {
		a.mu.Lock()
		a.earlier[key] = append(a.earlier[key], pastCall{wall, arena.used})
		a.mu.Unlock()
	}
	return outcome, nil
}

// notAnswered returns the outcome of a job whose call ended in err: the worker died, or sent an unreadable
// reply. Both affect only this job: the others go on in a new worker. An interruption is an error.
func (a *Adapter) notAnswered(ctx context.Context, job backend.Job, s *slot, wall time.Duration,
	err error,
) (backend.Outcome, error) {
	w := s.worker
	if d := asDeath(err); d != nil && ctx.Err() == nil {
		a.lost(s, w, d)
		return backend.Outcome{
			Status: d.Status, Sentence: d.Sentence, Log: d.Log, Wall: wall,
			Wedged: d.Wedged, Ended: true,
		}, nil
	}
	if ctx.Err() == nil && panics.In(err) == nil {
		a.lost(s, w, &Death{Wedged: !w.end()})
		sentence := "the worker could not run it: " + printable(err.Error())
		return backend.Outcome{
			Status: op.StatusCrash, Sentence: sentence, Log: w.log.Tail(), Wall: wall,
			Ended: true,
		}, nil
	}
	w.end() // it may have answered just now
	s.worker = nil
	return backend.Outcome{}, fmt.Errorf("run %s/%s: %w", job.Implementation.Op, job.Implementation.Name, err)
}

// lost removes an ended worker from its slot. On a GPU the next one is probed first, and one that survived
// SIGKILL ends all work there.
func (a *Adapter) lost(s *slot, w *worker, d *Death) {
	s.worker, s.suspect = nil, a.GPU
	a.noteWedged(d, w)
	if d.Wedged && a.GPU {
		a.giveUp(fmt.Sprintf("process %d, which runs on it, survived SIGKILL", w.child.PID()))
	}
}

func (a *Adapter) noteWedged(d *Death, w *worker) {
	if d.Wedged {
		a.mu.Lock()
		a.wedged = append(a.wedged, w.child.PID())
		a.mu.Unlock()
	}
}

// past returns the earlier calls of an implementation and pass.
func (a *Adapter) past(key string) pastCalls {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.earlier[key])
}

// phase names the limit that governs the next call, given the relevant earlier ones.
func (a *Adapter) phase(earlier []time.Duration) string {
	switch {
	case len(earlier) > 0:
		return "call"
	case a.GPU:
		return "first"
	default:
		return "first-cpu"
	}
}

// Close ends all workers in parallel.
func (a *Adapter) Close() error {
	a.init()
	a.mu.Lock()
	slots := a.slots
	a.slots = map[string]*slot{}
	a.mu.Unlock()
	var group panics.Group
	for _, s := range slots {
		group.Go(func() { a.end(s) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.wedged) > 0 {
		return fmt.Errorf("workers of %s that survived SIGKILL: processes %v; the system has to end them",
			a.BackendName, a.wedged)
	}
	return nil
}
