package runsetup

import (
	"context"
	"maps"
	"os"
	"strings"

	"triad"
	"triad/internal/host"
	"triad/internal/machine"
	"triad/internal/ownfile/added"
	"triad/internal/participants"
	"triad/internal/record"
	"triad/internal/run"
	"triad/internal/session"
	"triad/internal/worker"
	"triad/results"
)

// SessionOptions holds what a verb that runs something adds to its flags.
type SessionOptions struct {
	*Options
	GPU      *machine.GPU   // nil: the CPU
	Words    []string       // the verb and what else decides what is run: --resume finds a session by them
	Workers  worker.Options // of workerOptions
	Store    *results.Store // nil: the database of --db, which is closed with the session
	Part     string         // the name of this session among several side by side; "" alone
	Progress *session.Progress
	Tools    record.Toolchain // versions of what takes part besides the workers
	Doing    string           // in internal errors; "": "in triad VERB"
	Ending   func(run.Result, error) session.Ending
}

// OpenSession starts what a request needs: workers, the user's own files, the recorder, the progress, and the
// GPU if something is timed. It narrows the request to the device and to what the files can be judged on.
func (a *Setup) OpenSession(ctx context.Context, request *run.Request, o SessionOptions) (s *session.Session,
	mine *participants.OwnFiles, err error,
) {
	o.GPU.Apply(&request.Options)
	request.Claim = a.PartClaim
	var others []uint32
	if request.Timing != nil && o.GPU != nil {
		others = a.ProcessesOn(o.GPU)
	}
	backends, mine, refused, err := a.Participants(ctx, &o.Own, request, o.GPU, o.EnvironmentFlags,
		o.Workers)
	if err != nil {
		return nil, nil, err
	}
	c := session.Config{
		Doing: o.Doing, Request: *request, Backends: backends, Refused: refused, Resume: o.Resume,
		Strict: o.Strict, LeftOut: mine.LeftOut(),
		Store: o.Store, KeepOpen: o.Store != nil, Progress: o.Progress, Part: o.Part, Stop: a.Stop,
		Fault: a.Fault.Get, Began: a.began, Ending: o.Ending, Loading: a.EndsAtOnce,
	}
	defer func() {
		if err != nil {
			session.CloseAll(backends)
			if c.Store != nil && !c.KeepOpen {
				c.Store.Close()
			}
		}
	}()
	a.TellMatched(mine, refused, o.JSON)
	if c.Store == nil {
		if c.Store, err = a.OpenStore(ctx, o.DB); err != nil {
			return nil, nil, err
		}
	}
	if c.Progress == nil {
		c.Progress = a.Progress()
	}
	if c.Doing == "" {
		c.Doing = "in triad " + o.Verb
	}
	c.Info = a.SessionInfo(ctx, Canonical(strings.Join(o.Words, " "), *request, &o.CaseFlags), *request, &o)
	c.Info.Added, c.Named = wordsOf(&o.Own, mine), len(o.Own.Add) > 0
	maps.Copy(c.Info.Toolchain, mine.Versions(ctx))
	if runsIn := participants.SandboxOf(&o.Own, mine); runsIn != "" {
		c.Info.Toolchain["sandbox"] = runsIn
	}
	if s, err = session.Open(ctx, c); err != nil {
		return nil, nil, err
	}
	s.Runner.HostBytes = host.UsableMemory(os.DirFS("/"), host.Machine().MemoryBytes)
	if o.GPU != nil {
		s.Runner.GPU = o.GPU.PCI
	}
	if request.Timing != nil {
		if s.Release, err = a.OwnGPU(ctx, o.GPU, others, s.Runner); err != nil {
			return nil, nil, err
		}
	}
	return s, mine, nil
}

// SessionInfo describes this invocation.
func (a *Setup) SessionInfo(
	ctx context.Context,
	request string,
	r run.Request,
	o *SessionOptions,
) record.Session {
	info := record.Session{
		ID: a.PartOf, Request: request, Command: o.Args, Version: triad.Version, Commit: host.Commit(ctx),
		Level: r.Options.Level.String(),
		Seed:  r.Seed, Machine: o.GPU.Describe(host.Machine()),
		Toolchain: record.Toolchain{"triad": triad.Version, "go": host.GoVersion()},
	}
	maps.Copy(info.Toolchain, o.Tools)
	return info
}

// WorkerOptions returns the deadlines of the flags; Ctrl-C prints the requests in flight.
func (a *Setup) WorkerOptions(f *CaseFlags) (worker.Options, error) {
	options, err := machine.Options(f.Limits)
	options.Pending = a.Pending
	return options, err
}

// WorkersAndGPU returns the deadlines of the flags and the GPU that they choose; nil: the CPU.
func (a *Setup) WorkersAndGPU(ctx context.Context, o *Options) (worker.Options, *machine.GPU, error) {
	options, err := a.WorkerOptions(&o.CaseFlags)
	if err != nil {
		return options, nil, err
	}
	onGPU, err := a.ChooseGPU(ctx, &o.DeviceFlags, o.EnvironmentFlags)
	return options, onGPU, err
}

// wordsOf returns the words of the flags, and the folder of the operator if it has one.
func wordsOf(f *added.Flags, mine *participants.OwnFiles) []string {
	words := f.Words()
	if mine != nil && mine.Folder != nil {
		words = append(words, record.FolderWord+mine.Folder.Dir)
	}
	return words
}
