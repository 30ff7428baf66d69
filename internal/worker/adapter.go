package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/tensor"
)

// Adapter is a backend whose implementations run in worker processes. Slot says which worker an implementation runs in: those of one
// slot share a process and wait for each other, those of different slots run side by side.
type Adapter struct {
	BackendName string
	FamilyNames []string
	Optional    []string                                   // families that need not be here: what is missing of them is said where they are asked for by name alone
	Command     func(ctx context.Context) (Command, error) // may prepare the toolchain; *backend.Unavailable where there is none
	Slot        func(implementation string) string
	Names       func(operator string) string // what a load request names for an operator; nil: the operator itself
	// Spread is over how many workers the jobs are spread that are judged, until Together is called; 0 or 1: every job runs in its Slot.
	Spread  int
	GPU     bool
	Options Options
	Reserve *Reserve // fresh workers that were started ahead; may be nil
	// Slots, or the workers that jobs are spread over, are started side by side when the first worker is, and load the same operator: their processes take long to come up, and one after the
	// other twice as long.
	Slots []string
	// Explain is a sentence for what a worker printed that found no device to work on, "" where it speaks of something else. Once there is one
	// nothing more is run.
	Explain func(printed string) string

	once    sync.Once
	opts    Options
	mu      sync.Mutex
	slots   map[string]*slot
	spread  spread
	earlier map[string]pastCalls // by implementation and pass
	wedged  []int
	gone    string // why nothing more is run on the GPU, "" while it is healthy
	arms    int64  // how many were prepared
	started time.Duration
}

var _ backend.Backend = (*Adapter)(nil)

// slot is the place of one worker; its mutex is held for the length of a job.
type slot struct {
	mu     sync.Mutex
	name   string
	worker *worker
	loaded map[string]backend.LoadReply
	// suspect: the last worker hung or broke its context on a GPU. The next one is asked to prove that the device still computes.
	suspect bool
}

func (a *Adapter) init() {
	a.once.Do(func() {
		a.opts = a.Options.withDefaults()
		a.slots, a.earlier = map[string]*slot{}, map[string]pastCalls{}
	})
}

// Name is the name the adapter was made with.
func (a *Adapter) Name() string { return a.BackendName }

// Families are the first parts of the names of its implementations.
func (a *Adapter) Families() []string { return a.FamilyNames }

// OptionalFamilies are those that need not be here.
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

// startOthers starts the workers of Slots beside the one of a slot, once, has them load an operator, and waits for none: one that does not come up
// is started again, and told of, when something runs in it.
func (a *Adapter) startOthers(ctx context.Context, besides *slot, operator string) {
	lanes := a.Lanes()
	a.mu.Lock()
	names := a.Slots
	a.Slots = nil
	a.mu.Unlock()
	if names != nil && lanes > 0 {
		names = make([]string, lanes)
		for n := range names {
			names[n] = SpreadSlot(n)
		}
	}
	for _, name := range names {
		s := a.slot(name)
		if s == besides || !s.mu.TryLock() {
			continue
		}
		go func() {
			defer s.mu.Unlock() // Close, and whoever runs something here, waits for it
			_ = a.loadFor(ctx, s, operator)
		}()
	}
}

// Started is how long the slowest worker took from its start to its greeting: in Python, to import torch.
func (a *Adapter) Started() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.started
}

// load makes sure that the slot has a live worker that has loaded the operator.
func (a *Adapter) load(ctx context.Context, s *slot, operator string) (backend.LoadReply, error) {
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
	defer a.opts.Doing.begin(fmt.Sprintf("loading %s in the worker of %s", operator, a.BackendName), a.opts.Limits.Build)()
	err := w.call(ctx, backend.Request{Do: backend.DoLoad, Load: &backend.LoadArgs{Op: named, Slot: s.name}}, a.opts.Limits.Build, "build", &reply)
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
				sentence = fmt.Sprintf("loading %s in the worker of %s did not end: %s", operator, a.BackendName, d.Sentence)
			}
			return reply, &backend.BuildFailure{Sentence: sentence, Log: d.Log}
		}
		return reply, fmt.Errorf("load %s in the worker of %s: %w", operator, a.BackendName, err)
	}
	s.loaded[operator] = reply
	return reply, nil
}

// start gives the slot a fresh worker, which an operator, if any, is to be loaded in. On a GPU that was left in doubt it has to prove that the
// device still computes.
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
	done := a.opts.Doing.begin("starting the worker of "+a.BackendName, a.opts.Limits.Import)
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

// probeLimit is how long a healthy GPU may take to answer a probe: its context is made first.
const probeLimit = 30 * time.Second

// probe asks a worker whether its device still computes. One that does not is used no more.
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

// giveUp notes that nothing more is run on the GPU, and why.
func (a *Adapter) giveUp(why string) string {
	return a.stop("the GPU does not recover after what a kernel did: " + why + "; what was found before is recorded (nvidia-smi shows the GPU's state)")
}

// stop notes why nothing more is run.
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

// startFailure turns a worker that did not come up into a sentence that carries what it printed.
func (a *Adapter) startFailure(err error) error {
	if d := asDeath(err); d != nil {
		if a.Explain != nil {
			if why := a.Explain(d.Log); why != "" {
				return &backend.Unavailable{Sentence: a.stop(why)}
			}
		}
		return &backend.Unavailable{Sentence: fmt.Sprintf("the worker of %s %s", a.BackendName, d.Sentence)}
	}
	var u *backend.Unavailable
	if errors.As(err, &u) {
		return err
	}
	return fmt.Errorf("start the worker of %s: %w", a.BackendName, err)
}

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
	done := a.opts.Doing.begin(job.Implementation.Name, limit)
	err = w.call(ctx, backend.Request{Do: backend.DoRun, Run: &args}, limit, a.phase(earlier), &reply)
	done()
	wall := time.Since(began)
	if d := asDeath(err); d != nil && ctx.Err() == nil {
		a.lost(s, w, d)
		return backend.Outcome{Status: d.Status, Sentence: d.Sentence, Log: d.Log, Wall: wall, Wedged: d.Wedged, Ended: true}, nil
	}
	if err != nil && ctx.Err() == nil { // whatever the worker stumbles over, it ran this job: the others go on in a new one
		a.lost(s, w, &Death{Wedged: !w.end()})
		return backend.Outcome{Status: op.StatusCrash, Sentence: "the worker could not run it: " + printable(err.Error()), Log: w.log.Tail(), Wall: wall, Ended: true}, nil
	}
	if err != nil {
		w.end() // it may have answered just now
		s.worker = nil
		return backend.Outcome{}, fmt.Errorf("run %s/%s: %w", job.Implementation.Op, job.Implementation.Name, err)
	}
	outcome := collect(job, args, arena, reply, wall)
	outcome.Log = w.log.Tail()
	// A call that raised an exception left its process as it was, unless the worker says otherwise.
	if outcome.Ended = reply.Fatal || outcome.Ended; outcome.Ended {
		w.wait(w.grace.Term)
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

// lost takes a worker that ended out of its slot. On a GPU the next one is probed first, and one that survived SIGKILL ends all work there.
func (a *Adapter) lost(s *slot, w *worker, d *Death) {
	s.worker, s.suspect = nil, a.GPU
	a.noteWedged(d, w)
	if d.Wedged && a.GPU {
		a.giveUp(fmt.Sprintf("process %d, which runs on it, survived SIGKILL", w.cmd.Process.Pid))
	}
}

func (a *Adapter) noteWedged(d *Death, w *worker) {
	if d.Wedged {
		a.mu.Lock()
		a.wedged = append(a.wedged, w.cmd.Process.Pid)
		a.mu.Unlock()
	}
}

// past gives the earlier calls of an implementation and pass.
func (a *Adapter) past(key string) pastCalls {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.earlier[key])
}

// phase names the limit that governs the next call, after those that say something about it.
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

// Close ends every worker, side by side.
func (a *Adapter) Close() error {
	a.init()
	a.mu.Lock()
	slots := a.slots
	a.slots = map[string]*slot{}
	a.mu.Unlock()
	var group sync.WaitGroup
	for _, s := range slots {
		group.Go(func() { a.end(s) })
	}
	group.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.wedged) > 0 {
		return fmt.Errorf("workers of %s that survived SIGKILL: processes %v; the system has to end them", a.BackendName, a.wedged)
	}
	return nil
}

// align is the distance of tensors in the shared memory, in bytes.
const align = 64

// arena hands out places in the shared memory, one after the other.
type arena struct {
	memory []byte
	used   int64
}

func (m *arena) place(bytes int64) (offset int64, err error) {
	offset = m.used
	if bytes < 0 || bytes > int64(len(m.memory))-offset {
		return 0, fmt.Errorf("the tensors of this case need more than the %d bytes of shared memory", len(m.memory))
	}
	m.used = (offset + bytes + align - 1) / align * align
	return offset, nil
}

// layOut copies the inputs of a job into shared memory and poisons the places of its outputs, so that a reply that claims an output it
// did not write cannot show an older one.
func layOut(job backend.Job, memory []byte) (backend.RunArgs, *arena, error) {
	m := &arena{memory: memory}
	i := job.Implementation
	args := backend.RunArgs{Op: i.Op, Implementation: i.Name, Pass: i.Pass, DType: job.DType, Contract: job.Contract, Attrs: job.Attrs}
	for _, t := range job.Inputs {
		offset, err := m.place(int64(len(t.Data)))
		if err != nil {
			return args, m, err
		}
		tensor.Copy(memory[offset:], t.Data)
		args.Inputs = append(args.Inputs, backend.TensorRef{Name: t.Name, DType: t.DType, Shape: t.Shape, Stride: t.Stride, Start: t.Offset,
			Offset: offset, Bytes: int64(len(t.Data)), CRC32: tensor.Checksum(t.Data)})
	}
	for _, plan := range job.Launches {
		launch := backend.Launch{Poison: plan.Poison, Order: plan.Order}
		for _, t := range job.Outputs {
			bytes := t.Elements() * t.DType.Size()
			offset, err := m.place(bytes)
			if err != nil {
				return args, m, err
			}
			tensor.Poison(memory[offset:offset+bytes], t.DType, plan.Poison)
			launch.Outputs = append(launch.Outputs, backend.TensorRef{Name: t.Name, DType: t.DType, Shape: t.Shape,
				Stride: tensor.Contiguous(t.Shape), Offset: offset, Bytes: bytes})
		}
		args.Launches = append(args.Launches, launch)
	}
	return args, m, nil
}

// mayReport says whether a status is one that a worker finds by itself. What counts as good is the judge's alone: a worker runs the very code
// that is judged.
func mayReport(s op.Status) bool {
	switch s {
	case op.StatusUnsupported, op.StatusUnavailable, op.StatusOutOfBounds, op.StatusDivergent, op.StatusDeadlock, op.StatusOOM, op.StatusCrash, op.StatusHang:
		return true
	}
	return false
}

// checkFailures refuses a load reply whose failures are none.
func checkFailures(failed []backend.LoadFailure) error {
	for _, f := range failed {
		if f.Status != op.StatusBuildFail && f.Status != op.StatusUnavailable {
			return fmt.Errorf("%s failed to load with the status %v, want %v or %v", f.Implementation, f.Status, op.StatusBuildFail, op.StatusUnavailable)
		}
	}
	return nil
}

// collect turns a reply into an outcome and copies the outputs out of shared memory. A reply whose frames are incomplete is a crash.
func collect(job backend.Job, args backend.RunArgs, m *arena, reply backend.RunReply, wall time.Duration) backend.Outcome {
	outcome := backend.Outcome{Wall: wall, PeakBytes: reply.PeakBytes}
	incomplete := func(format string, a ...any) backend.Outcome {
		outcome.Status, outcome.Sentence = op.StatusCrash, "the worker's reply is incomplete: "+fmt.Sprintf(format, a...)
		outcome.Ended = true // it is trusted no more
		return outcome
	}
	if len(reply.Launches) > len(args.Launches) {
		return incomplete("%d launches, asked for %d", len(reply.Launches), len(args.Launches))
	}
	for i, l := range reply.Launches {
		if l.Status != op.StatusUnknown {
			if !mayReport(l.Status) {
				return incomplete("launch %d says %v, which is not for a worker to say", i, l.Status)
			}
			outcome.Status, outcome.Sentence, outcome.Where = l.Status, printable(l.Message), l.Where
			return outcome
		}
		if len(l.Inputs) != len(args.Inputs) || len(l.Outputs) != len(job.Outputs) {
			return incomplete("launch %d has %d input hashes and %d outputs, want %d and %d", i, len(l.Inputs), len(l.Outputs), len(args.Inputs),
				len(job.Outputs))
		}
		result := backend.LaunchOutcome{Plan: job.Launches[i], Guards: l.Guards, Fault: printable(l.Fault)}
		for k, sum := range l.Inputs {
			if sum != args.Inputs[k].CRC32 {
				result.Changed = append(result.Changed, args.Inputs[k].Name)
			}
		}
		for k, out := range l.Outputs {
			declared, place := job.Outputs[k], args.Launches[i].Outputs[k]
			if out.Name != declared.Name {
				return incomplete("launch %d: output %d is %q, want %q", i, k, out.Name, declared.Name)
			}
			out.Type = printable(out.Type)
			output := backend.Output{OutputRef: out}
			if out.Present {
				output.Tensor = tensor.New(declared.Name, declared.DType, declared.Shape)
				sum := tensor.CopyChecked(output.Tensor.Data, m.memory[place.Offset:place.Offset+place.Bytes])
				fits := out.Type == "" && out.DType == declared.DType.String() && slices.Equal(out.Shape, declared.Shape)
				if fits && sum != out.CRC32 {
					return incomplete("launch %d: the bytes of %s do not match their checksum", i, out.Name)
				}
			}
			result.Outputs = append(result.Outputs, output)
		}
		outcome.Launches = append(outcome.Launches, result)
	}
	if len(outcome.Launches) != len(args.Launches) {
		return incomplete("%d launches, asked for %d", len(outcome.Launches), len(args.Launches))
	}
	return outcome
}
