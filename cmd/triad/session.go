package main

import (
	"context"
	"maps"
	"os"
	"strings"

	"triad"
	"triad/cmd/triad/workers"
	"triad/internal/host"
	"triad/internal/record"
	"triad/internal/report"
	"triad/internal/run"
	"triad/internal/session"
	"triad/internal/worker"
	"triad/results"
)

// sessionOptions holds what a verb that runs something adds to its flags.
type sessionOptions struct {
	*compareOptions
	gpu      *workers.GPU   // nil: the CPU
	words    []string       // the verb and what else decides what is run: --resume finds a session by them
	workers  worker.Options // of workerOptions
	store    *results.Store // nil: the database of --db, which is closed with the session
	part     string         // the name of this session among several side by side; "" alone
	progress *session.Progress
	tools    record.Toolchain // versions of what takes part besides the workers
	doing    string           // in internal errors; "": "in triad VERB"
	ending   func(run.Result, error) session.Ending
}

// openSession starts what a request needs: workers, the user's own files, the recorder, the progress, and the
// GPU if something is timed. It narrows the request to the device and to what the files can be judged on.
func (a *app) openSession(ctx context.Context, request *run.Request, o sessionOptions) (s *session.Session,
	mine *ownFiles, err error,
) {
	o.gpu.Apply(&request.Options)
	request.Claim = a.partClaim
	var others []uint32
	if request.Timing != nil && o.gpu != nil {
		others = a.ProcessesOn(o.gpu)
	}
	backends, mine, refused, err := a.participants(ctx, &o.ownFlags, request, o.gpu, o.EnvironmentFlags,
		o.workers)
	if err != nil {
		return nil, nil, err
	}
	c := session.Config{
		Doing: o.doing, Request: *request, Backends: backends, Refused: refused, Resume: o.resume,
		Strict: o.strict, LeftOut: mine.leftOut(),
		Store: o.store, KeepOpen: o.store != nil, Progress: o.progress, Part: o.part, Stop: a.Stop,
		Fault: a.Fault.Get, Began: a.began, Ending: o.ending,
	}
	defer func() {
		if err != nil {
			session.CloseAll(backends)
			if c.Store != nil && !c.KeepOpen {
				c.Store.Close()
			}
		}
	}()
	a.tellMatched(mine, refused, o.json)
	if c.Store == nil {
		if c.Store, err = a.OpenStore(ctx, o.db); err != nil {
			return nil, nil, err
		}
	}
	if c.Progress == nil {
		c.Progress = a.Progress()
	}
	if c.Doing == "" {
		c.Doing = "in triad " + o.verb
	}
	c.Info = a.sessionInfo(ctx, canonical(strings.Join(o.words, " "), *request, &o.caseFlags), *request, &o)
	c.Info.Added, c.Named = o.ownFlags.wordsOf(mine), len(o.ownFlags.add) > 0
	maps.Copy(c.Info.Toolchain, mine.versions(ctx))
	if s, err = session.Open(ctx, c); err != nil {
		return nil, nil, err
	}
	s.Runner.HostBytes = host.UsableMemory(os.DirFS("/"), host.Machine().MemoryBytes)
	if o.gpu != nil {
		s.Runner.GPU = o.gpu.PCI
	}
	if request.Timing != nil {
		if s.Release, err = a.OwnGPU(ctx, o.gpu, others, s.Runner); err != nil {
			return nil, nil, err
		}
	}
	return s, mine, nil
}

// sessionInfo describes this invocation.
func (a *app) sessionInfo(
	ctx context.Context,
	request string,
	r run.Request,
	o *sessionOptions,
) record.Session {
	info := record.Session{
		ID: a.partOf, Request: request, Command: o.args, Version: triad.Version, Commit: host.Commit(ctx),
		Level: r.Options.Level.String(),
		Seed:  r.Seed, Machine: o.gpu.Describe(host.Machine()),
		Toolchain: record.Toolchain{"triad": triad.Version, "go": host.GoVersion()},
	}
	maps.Copy(info.Toolchain, o.tools)
	return info
}

// workerOptions returns the deadlines of the flags; Ctrl-C prints the requests in flight.
func (a *app) workerOptions(f *caseFlags) (worker.Options, error) {
	options, err := workers.Options(f.limits)
	options.Pending = a.pending
	return options, err
}

// summaryOf returns what stands below every table.
func summaryOf(s *session.Session, result run.Result, end session.Ending) report.Summary {
	return report.Summary{
		Session: s.ID(), Seed: s.Seed(), Exit: int(end.Code), Database: s.Store.Path(), Reason: end.Reason,
		Findings: session.GoneFindings(result), Spent: s.Spent,
	}
}
