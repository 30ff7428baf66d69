// Package lanes holds the processes and sandboxes in which triad judge runs candidates: a lane for each
// candidate that is judged at the same time.
package lanes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"triad/internal/backend"
	"triad/internal/confine"
	"triad/internal/host"
	"triad/internal/judgeloop"
	"triad/internal/machine"
	"triad/internal/op"
	"triad/internal/opfolder"
	"triad/internal/ownkernels"
	"triad/internal/panics"
	"triad/internal/participants"
	"triad/internal/problem"
	"triad/internal/problem/submissions"
	"triad/internal/run"
	"triad/internal/scratch"
	"triad/internal/submission"
	"triad/internal/truth"
	"triad/internal/worker"
	"triad/pybridge"
)

// Judging opens problems, and judges candidates in its lanes.
type Judging struct {
	*participants.Source
	machine     *confine.Machine // nil: there is no sandbox, and what runs is trusted
	gpu         *machine.GPU
	flags       machine.EnvironmentFlags
	environment *pybridge.Environment
	cache       string
	scratch     *scratch.Folder
	parents     []*pybridge.Confined
	room        *judgeloop.Room
}

// New finds the sandbox, unless what runs is trusted, and the device, and makes n lanes. Close ends what the
// lanes started.
func New(ctx context.Context, a *participants.Source, d *machine.DeviceFlags, e machine.EnvironmentFlags,
	n int, trusted bool,
) (j *Judging, lanes []*judgeloop.Lane, err error) {
	j = &Judging{Source: a, flags: e}
	if j.gpu, err = a.ChooseGPU(ctx, d, e); err != nil {
		return nil, nil, err
	}
	if j.cache, err = a.CacheDir(); err != nil {
		return nil, nil, err
	}
	if j.environment, err = a.With(j.gpu).Environment(e, j.gpu != nil); err != nil {
		return nil, nil, err
	}
	j.room = judgeloop.RoomOf(host.UsableMemory(os.DirFS("/"), host.Machine().MemoryBytes) / 4)
	if !trusted {
		if j.machine, err = a.Sandboxes(ctx, j.gpu, ""); err != nil {
			return nil, nil, err
		}
	}
	if j.scratch, err = scratch.Make("judge"); err != nil {
		return nil, nil, err
	}
	for range n {
		shown, err := os.MkdirTemp(j.scratch.Path, "lane-")
		if err != nil {
			return nil, nil, errors.Join(err, j.Close())
		}
		lane := &judgeloop.Lane{
			Folder: filepath.Join(shown, "candidate"), Reset: func(context.Context) error { return nil },
		}
		lanes = append(lanes, lane)
		if trusted { // a candidate's processes end with it
			continue
		}
		first := *j.machine
		first.First = true
		parent := pybridge.NewConfined(j.environment, j.cache, func(adapter *worker.Adapter) {
			first.Confine()(adapter, false, []string{shown})
		})
		j.parents = append(j.parents, parent)
		lane.Reset, lane.Own = parent.Reset, parent
	}
	return j, lanes, nil
}

// Close ends the lanes.
func (j *Judging) Close() error {
	var errs []error
	for _, p := range j.parents {
		errs = append(errs, p.Close())
	}
	j.scratch.Remove()
	return errors.Join(errs...)
}

// judged is a problem whose truth is warm.
type judged struct {
	*Judging
	operator   *truth.Operator
	remembered *judgeloop.Remembered
	folder     *opfolder.Folder
	plan       *problem.Plan
	truth      *worker.Adapter
}

// truthTime limits a call of the truth.
const truthTime = 15 * time.Minute

// Open opens the folder of an imported problem, and starts the process of its truth.
func (j *Judging) Open(ctx context.Context, path string) (judgeloop.Problem, error) {
	folder, err := opfolder.Open(path)
	if err != nil {
		return nil, err
	}
	plan, err := problem.ReadPlan(folder.Problem)
	if err != nil {
		return nil, err
	}
	limits, err := machine.Options(nil)
	if err != nil {
		return nil, err
	}
	// all candidates wait for one truth, while some of them compile on the same processors
	limits.Limits.First, limits.Limits.FirstCPU, limits.Limits.CallLeast = truthTime, truthTime, truthTime
	adapter := pybridge.OwnTruthBackend(j.environment, j.cache, folder.Dir, limits)
	if j.machine != nil {
		j.machine.Confine()(adapter, false, []string{folder.Dir})
	}
	// the truth outlives the job that it is opened for
	of := &opfolder.Reference{Folder: folder, Backend: adapter, Context: context.WithoutCancel(ctx)}
	panics.Go(func() { _, _, _ = adapter.Load(ctx, folder.Spec.Name) }, j.Broke)
	remembered := judgeloop.Remember(of, j.room)
	operator := &truth.Operator{Spec: folder.Spec, Reference: remembered}
	return &judged{j, operator, remembered, folder, plan, adapter}, nil
}

// Name returns the name of the operator.
func (p *judged) Name() string { return p.folder.Spec.Name }

// Close ends the process of the truth, and forgets what it said.
func (p *judged) Close() error {
	p.remembered.Forget()
	return p.truth.Close()
}

// Judge judges a candidate.
func (p *judged) Judge(ctx context.Context, c judgeloop.Candidate) (judgeloop.Found, error) {
	request := run.Request{
		Operators: []*truth.Operator{p.operator}, Impls: []string{submission.Family},
		InFlight: 1, Seed: op.DefaultSeed,
		Options: op.Options{Level: c.LevelOf(), Passes: c.Passes(), Device: "cpu"},
	}
	if c.Seed != nil {
		request.Seed = *c.Seed
	}
	request.Options.Seed = request.Seed
	p.gpu.Apply(&request.Options)
	candidate, err := p.candidate(c, request.Options)
	if u := (*op.UsageError)(nil); errors.As(err, &u) {
		err = &judgeloop.NoSubmission{Err: err}
	}
	if err != nil {
		return judgeloop.Found{}, err
	}
	listing := &listing{Backend: candidate}
	var found judgeloop.Found
	for _, sizes := range p.sizes(c) {
		request.Options.Dims = sizes
		var result run.Result
		result, err = run.Unrecorded(ctx, p.Stop, listing, request, !c.All)
		found.Records = append(found.Records, result.Records...)
		if found.Stopped = result.Interrupted; err != nil || found.Stopped {
			break
		}
	}
	isPython := filepath.Ext(c.Path) == ".py" || p.plan.Packs(c.Path)
	found.Kernels = listing.kernels(ctx, isPython, p.gpu != nil)
	return found, errors.Join(err, closeOf(candidate))
}

// sizes returns what the dims are when a candidate is judged, nil for those of the level: one after the
// other, since a value that is given holds for every case of a run.
func (p *judged) sizes(c judgeloop.Candidate) []map[string]int64 {
	if len(c.Sizes) > 0 {
		return c.Sizes
	}
	if !c.GivenSizes {
		return []map[string]int64{nil}
	}
	if len(p.plan.Sizes) == 0 { // imported by an earlier triad
		return []map[string]int64{p.folder.Spec.Bench[0].Dims}
	}
	return p.plan.Sizes
}

func closeOf(b backend.Backend) error {
	if c, is := b.(interface{ Close() error }); is {
		return c.Close()
	}
	return nil
}

// candidate returns the backend of a candidate, whose processes its lane forks.
func (p *judged) candidate(c judgeloop.Candidate, options op.Options) (backend.Backend, error) {
	limits, err := machine.Options(nil)
	if err != nil {
		return nil, err
	}
	l, most := &limits.Limits, c.Timeout()
	l.Build, l.First, l.FirstCPU, l.CallLeast = most, most, most, most
	l.Stall = min(l.Stall, most)
	of, err := p.OwnWorkers(p.folder, p.gpu, p.flags, limits, p.machine != nil)
	if err != nil {
		return nil, err
	}
	if parent, is := c.Lane.Own.(*pybridge.Confined); is {
		p.confine(&of, parent, limits)
	} else {
		python := of.Python
		of.Python = func(folder string) *worker.Adapter {
			adapter := python(folder)
			pybridge.Extensions(adapter, filepath.Join(c.Lane.Folder, "extensions")) // which goes with it
			return adapter
		}
	}
	if len(p.plan.Parameters) > 0 {
		if filepath.Ext(c.Path) == ".py" {
			of.Cache = c.Lane.Folder
		}
		file, err := p.reader(p.folder.Dir, of).Function(c.Path, "candidate", options)
		if err != nil {
			return nil, err
		}
		return &ownkernels.Backend{Files: []*ownkernels.File{file}}, nil
	}
	copied := filepath.Join(c.Lane.Folder, "problem")
	if err := os.CopyFS(copied, os.DirFS(p.folder.Dir)); err != nil {
		return nil, err
	}
	of.Cache = c.Lane.Folder
	written, err := p.reader(copied, of).Submission(c.Path, "candidate")
	if err != nil {
		return nil, err
	}
	return written.Submission, nil
}

// reader returns the reader of a candidate; dir holds the problem.
func (p *judged) reader(dir string, of participants.OwnWorkers) *submissions.Reader {
	return &submissions.Reader{Plan: p.plan, Spec: p.folder.Spec, Dir: dir, Workers: of.Workers}
}

// confine makes the workers of a candidate run in sandboxes, those of Python in that of its lane.
func (p *judged) confine(of *participants.OwnWorkers, parent *pybridge.Confined, limits worker.Options) {
	var forked sync.Map // workers of Python are in the sandbox of the lane already
	of.Python = func(folder string) *worker.Adapter {
		adapter := parent.Backend(folder, limits)
		forked.Store(adapter, true)
		return adapter
	}
	confined := p.machine.Confine()
	of.Confine = func(adapter *worker.Adapter, builds bool, sees []string) {
		if _, is := forked.Load(adapter); !is {
			confined(adapter, builds, sees)
		}
	}
}

// listing is a candidate's backend. It keeps the first call that came back, so that the call can be repeated
// to list what it runs.
type listing struct {
	backend.Backend
	mu  sync.Mutex
	job *backend.Job
}

// Run runs a job.
func (l *listing) Run(ctx context.Context, job backend.Job) (backend.Outcome, error) {
	outcome, err := l.Backend.Run(ctx, job)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && outcome.Status == op.StatusUnknown && l.job == nil {
		l.job = &job
	}
	return outcome, err
}

// kernels repeats the kept call, and returns what it ran.
func (l *listing) kernels(ctx context.Context, isPython, onGPU bool) (k judgeloop.Kernels) {
	switch {
	case l.job == nil:
		k.Unknown = "no call came back"
		return k
	case !isPython && onGPU:
		k.Unknown = "triad compare lists the kernels of a file of CUDA with its times"
		return k
	case !isPython:
		k.Unknown = "there is no profiler without a GPU; in the emulator no kernel of a library runs"
		return k
	}
	job := *l.job
	job.Launches = []backend.LaunchPlan{{Poison: "a", Order: backend.OrderRecorded}}
	outcome, err := l.Backend.Run(ctx, job)
	if err != nil || outcome.Status != op.StatusUnknown {
		k.Unknown = "the call did not come back when it was repeated"
		return k
	}
	k.Names = slices.Compact(slices.Sorted(slices.Values(outcome.Calls)))
	isKernel := func(name string) bool { return strings.HasPrefix(name, "kernel ") }
	switch {
	case onGPU && !slices.ContainsFunc(k.Names, isKernel):
		k.Unknown = "no profiler lists the GPU's kernels here; these are the operations of torch"
	case !onGPU:
		k.Unknown = "there is no profiler without a GPU; these are operations of torch, and kernels of " +
			"Triton in its interpreter"
	}
	return k
}
