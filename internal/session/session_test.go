package session

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/panics"
	"triad/internal/record"
	"triad/internal/run"
	"triad/internal/timing"
	"triad/results"
)

// closing is a backend that notes when it is closed.
type closing struct {
	backend.Backend
	note func(string)
	err  error
}

func (c closing) Name() string { return "python" }

func (c closing) Started() time.Duration { return time.Second }

func (c closing) Close() error { c.note("close"); return c.err }

var aCase = op.Case{
	Op: "softmax", Pass: op.Forward, DType: "fp32", Layout: "contiguous",
	Distribution: "normal",
}

// runs lists the errors that a session can meet, its exit code, and what it does in which order.
var runs = []struct {
	name   string
	status op.Status
	fails  error // of the run
	close  error // of a worker that cannot be ended
	look   error
	code   ExitCode
	events []string
}{
	{"good", op.StatusPass, nil, nil, nil, ExitGood, []string{"do", "look", "close", "release", "decide"}},
	{"wrong", op.StatusFail, nil, nil, nil, ExitBad, []string{"do", "look", "close", "release", "decide"}},
	{
		"refused", op.StatusUnknown, &op.UsageError{Message: "no such dim"}, nil, nil, ExitUsage,
		[]string{"do", "close", "release"},
	},
	{
		"broken off", op.StatusPass, errors.New("disk full"), nil, nil, ExitBad,
		[]string{"do", "close", "release", "decide"},
	},
	{
		"a worker lives on", op.StatusPass, nil, errors.New("it cannot be killed"), nil, ExitBad,
		[]string{"do", "look", "close", "release", "decide"},
	},
	{
		"the look fails", op.StatusPass, nil, nil, errors.New("no room"), ExitBad,
		[]string{"do", "look", "close", "release", "decide"},
	},
	{
		"an internal error", op.StatusPass, &panics.Error{Value: "planted"}, nil, nil, ExitNothing,
		[]string{"do", "close", "release", "decide"},
	},
}

// TestRun: Run examines the result while the workers are running, ends them, then releases the GPU, then
// decides; it records the exit code that it decided.
func TestRun(t *testing.T) {
	for _, c := range runs {
		t.Run(c.name, func(t *testing.T) {
			var events []string
			note := func(what string) { events = append(events, what) }
			s := opened(t, Config{
				Backends: []backend.Backend{closing{note: note, err: c.close}},
				Request:  run.Request{Timing: &timing.Plan{}},
			})
			if c.status != op.StatusUnknown {
				s.Ending = func(result run.Result, err error) Ending {
					note("decide")
					return EndingOf(result, nil, err, Rules{Added: true})
				}
			}
			s.Release = func() { note("release") }
			do := func(r *run.Runner, _ context.Context, _ run.Request) (run.Result, error) {
				note("do")
				return planned(t, r, c.status), c.fails
			}
			result, end, err := s.Run(t.Context(), do, func(run.Result) error { note("look"); return c.look })
			if err != nil || end.Code != c.code || len(result.Records) != 1 {
				t.Errorf("%v: exit %d (%s), want %d; %d records", err, end.Code, end.Reason, c.code,
					len(result.Records))
			}
			if !slices.Equal(events, c.events) {
				t.Errorf("in the order %v, want %v", events, c.events)
			}
			if s.Spent.Imports != time.Second || s.Spent.Whole <= 0 {
				t.Errorf("spent %+v", s.Spent)
			}
			kept, err := s.Store.Session(t.Context(), s.ID())
			if err != nil || kept.Exit != int(c.code) || kept.Ended.IsZero() {
				t.Errorf("%v: exit %d is recorded, want %d; ended %v", err, kept.Exit, c.code, kept.Ended)
			}
		})
	}
}

// TestKeptWorkers: with KeepWorkers Run decides while the workers still run, and Close ends each once and
// returns its error.
func TestKeptWorkers(t *testing.T) {
	var events []string
	note := func(what string) { events = append(events, what) }
	stays := errors.New("it cannot be killed")
	s := opened(t, Config{Backends: []backend.Backend{closing{note: note, err: stays}}, KeepWorkers: true})
	do := func(r *run.Runner, _ context.Context, _ run.Request) (run.Result, error) {
		return planned(t, r, op.StatusPass), nil
	}
	if _, end, err := s.Run(t.Context(), do, nil); err != nil || end.Code != ExitGood {
		t.Errorf("%v: exit %d (%s)", err, end.Code, end.Reason)
	}
	note("print")
	var err error
	s.Close(&err)
	if want := []string{"print", "close"}; !slices.Equal(events, want) || !errors.Is(err, stays) {
		t.Errorf("%v: in the order %v, want %v", err, events, want)
	}
}

// TestCloseAfterAPanic: a verb that panics outside the run ends its session with the panic, closes the
// workers, and closes the store only if it is the session's own.
func TestCloseAfterAPanic(t *testing.T) {
	for _, keep := range []bool{false, true} {
		closed := 0
		s := opened(t, Config{
			Backends: []backend.Backend{closing{note: func(string) { closed++ }}},
			KeepOpen: keep,
		})
		path := s.Store.Path()
		planned(t, s.Runner, op.StatusPass)
		err := func() (err error) {
			defer s.Close(&err)
			panic("planted")
		}()
		if e := panics.In(err); e == nil || e.Value != "planted" || e.Doing[0] != "in a test" || closed != 1 {
			t.Errorf("%v, %d workers closed", err, closed)
		}
		if _, err := s.Store.Session(t.Context(), s.ID()); (err == nil) != keep {
			t.Errorf("kept open: %v, and reading it: %v", keep, err)
		}
		store, err := results.Open(t.Context(), path, results.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		if kept, err := store.Session(t.Context(), s.ID()); err != nil || kept.Exit != int(ExitNothing) ||
			kept.InternalError == "" {
			t.Errorf("%v: exit %d, internal error %q", err, kept.Exit, kept.InternalError)
		}
	}
}

// opened returns a session with its own database and progress.
func opened(t *testing.T, c Config) *Session {
	t.Helper()
	store, err := results.Open(t.Context(), filepath.Join(t.TempDir(), "r.db"), results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	c.Doing, c.Store, c.Began = "in a test", store, time.Now()
	c.Progress = NewProgress(NewScreen(&bytes.Buffer{}, false), nil)
	c.Info.Toolchain = record.Toolchain{}
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// planned records a plan of one case and its only result.
func planned(t *testing.T, r *run.Runner, status op.Status) run.Result {
	t.Helper()
	if err := r.Recorder.Plan([]record.Item{{Case: aCase, Impl: "cuda/warp"}}, nil); err != nil {
		t.Fatal(err)
	}
	one := record.Record{Case: aCase, Impl: "cuda/warp", Status: status}
	if status != op.StatusUnknown {
		if err := r.Recorder.Append(&one); err != nil {
			t.Fatal(err)
		}
	}
	return run.Result{Records: []record.Record{one}}
}
