// Package session is the part that compare, bench, gradcheck, watch and compare --sanitize share. A session
// gives the workers of a request to a runner, records the results, shows the progress, ends the workers,
// decides the exit code (exit_code.go) and records how it ended. A verb consists of its options and one call
// of Run.
package session

import (
	"context"
	"errors"
	"strings"
	"time"

	"triad/internal/backend"
	"triad/internal/panics"
	"triad/internal/record"
	"triad/internal/report"
	"triad/internal/run"
	"triad/results"
)

// Config configures a session.
type Config struct {
	Doing    string            // in internal errors: "in triad bench"
	Info     record.Session    // what is kept of the invocation
	Store    *results.Store    // where everything is recorded
	KeepOpen bool              // Store serves other sessions too: Close leaves it open
	Request  run.Request       // what is run; Resume changes its seed
	Backends []backend.Backend // the workers; the session closes them
	Refused  []error           // errors of the user's own files that were not understood
	LeftOut  []string          // what of such a file is not judged: sentences
	Resume   bool              // finish the newest interrupted session of the same Info.Request
	Strict   bool              // KNOWN counts as bad
	Named    bool              // files were named with --add: something of each has to be judged
	Progress *Progress
	Part     string          // this session's name among several side by side that share Progress
	Stop     context.Context // done: finish what is running, start nothing else
	Loading  func() func()   // that of a run.Runner
	Fault    func() error    // returns an internal error of a goroutine that nobody waits for
	Began    time.Time       // when triad began
	// KeepWorkers leaves the workers to Close: something is asked of them after the results are printed.
	KeepWorkers bool
	// Ending decides how the run ended, after the workers have ended; nil: EndingOf does.
	Ending func(run.Result, error) Ending
}

// Session is one invocation that runs something.
type Session struct {
	Config
	Runner  *run.Runner  // takes what only some verbs have: a dumper, a GPU's telemetry
	Release func()       // releases what the run needed besides workers, after those have ended; may be nil
	Spent   report.Spent // where the time went, if Run has timed something
	kept    *recorder
}

// Open begins a session, or finds the one to resume. It does not close the backends of a session that it
// rejects.
func Open(ctx context.Context, c Config) (*Session, error) {
	// Results are recorded even while the run is being stopped.
	kept := &recorder{ctx: context.WithoutCancel(ctx), store: c.Store, info: c.Info, resume: c.Resume}
	if c.Resume {
		if err := kept.takeOver(); err != nil {
			return nil, ResumeFailure(err)
		}
		c.Request.Seed, c.Request.Before = kept.session.Info().Seed, kept.before
		c.Request.Options.Seed = c.Request.Seed
	}
	show := c.Progress.Show
	if c.Part != "" {
		show = func(p run.Progress) { c.Progress.Part(c.Part, p) }
	}
	runner := &run.Runner{
		Backends: loadingShown(c.Backends, c.Progress.Preparing), Recorder: kept,
		Timings: kept, Stop: c.Stop, Loading: c.Loading, Progress: show,
	}
	return &Session{Config: c, kept: kept, Runner: runner}, nil
}

// Run runs the session: do is (*run.Runner).Compare or (*run.Runner).Bench. look, if not nil, examines the
// result while the workers are still running. Run ends the workers, unless KeepWorkers is set, and the
// session. The error is that of ending the session; the run's is in the Ending.
func (s *Session) Run(ctx context.Context,
	do func(*run.Runner, context.Context, run.Request) (run.Result, error),
	look func(run.Result) error,
) (run.Result, Ending, error) {
	result, err := do(s.Runner, ctx, s.Request)
	if s.Fault != nil {
		err = errors.Join(err, s.Fault())
	}
	if err == nil && look != nil {
		err = look(result)
	}
	if s.Request.Timing != nil {
		s.Spent = s.spent(result)
	}
	if !s.KeepWorkers {
		err = errors.Join(err, s.closeWorkers())
	}
	if s.Release != nil {
		s.Release()
	}
	s.Progress.Clear()
	if s.Resume && CodeOf(err) != ExitUsage { // what is wrong stays wrong when the rest is run later
		err = errors.Join(err, s.kept.complete(&result))
	}
	end := s.ending(result, err)
	return result, end, s.kept.finish(err == nil && !result.Interrupted, end.Code, err)
}

func (s *Session) closeWorkers() (err error) {
	for _, b := range s.Backends {
		err = errors.Join(err, b.Close())
	}
	return err
}

func (s *Session) ending(result run.Result, err error) Ending {
	if s.Ending != nil {
		return s.Ending(result, err)
	}
	end := EndingOf(result, s.Refused, err, Rules{Strict: s.Strict, Added: s.Named})
	if end.Code == ExitGood && end.Reason == "" {
		end.Reason = strings.Join(s.LeftOut, " ")
	}
	return end
}

// spent returns where the time since triad's start went.
func (s *Session) spent(result run.Result) report.Spent {
	spent := report.Spent{Whole: time.Since(s.Began)}
	for _, b := range s.Backends {
		if python, ok := backend.As[interface{ Started() time.Duration }](b); ok && b.Name() == "python" {
			spent.Imports = python.Started()
		}
	}
	for _, p := range result.Spent {
		spent.Parts = append(spent.Parts, report.SpentPart(p))
	}
	return spent
}

// Recorded reports whether there is anything in the database: a run may be refused before its plan is made.
func (s *Session) Recorded() bool { return s.kept.session != nil }

// ID returns the name of the session in the database.
func (s *Session) ID() string { return s.kept.session.ID() }

// Seed returns the seed of the session's inputs.
func (s *Session) Seed() uint64 { return s.kept.session.Info().Seed }

// Close, deferred, ends the workers if Run did not, and closes the store. If the verb panics, even outside
// the run, it ends the session with that internal error, which becomes *err. With KeepWorkers *err gets the
// workers' errors too.
func (s *Session) Close(err *error) {
	if p := recover(); p != nil {
		*err = panics.Of(p, s.Doing)
		*err = errors.Join(*err, s.kept.finish(false, CodeOf(*err), *err))
	}
	if s.KeepWorkers {
		*err = errors.Join(*err, s.closeWorkers())
	} else {
		CloseAll(s.Backends)
	}
	if !s.KeepOpen {
		_ = s.Store.Close() // every record is a transaction of its own: nothing is lost
	}
}

// CloseAll ends the workers of all backends that have not ended yet.
func CloseAll(backends []backend.Backend) {
	for _, b := range backends {
		_ = panics.Call(func() { _ = b.Close() }) // its errors were reported when the run ended
	}
}
