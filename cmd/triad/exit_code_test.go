package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/machine"
	"triad/internal/op"
	"triad/results"
)

// restless is a backend whose first call interrupts triad; its sources may change between two sessions.
type restless struct {
	source string
	first  func()
	status op.Status // of every call
}

func (*restless) Name() string       { return "restless" }
func (*restless) Families() []string { return []string{"cuda"} }
func (*restless) Close() error       { return nil }

func (b *restless) Load(context.Context, string) (backend.LoadReply, backend.HelloReply, error) {
	i := backend.Implementation{
		Name: "cuda/restless", Op: "softmax", DTypes: []string{"fp32", "fp16", "bf16"},
		Contract: "fp32", Outputs: []string{"y"}, Device: "cpu", Source: b.source,
	}
	back := i
	i.Pass, back.Pass, back.Outputs = op.Forward, op.Backward, []string{"grad_x"}
	return backend.LoadReply{Implementations: []backend.Implementation{i, back}}, backend.HelloReply{}, nil
}

func (b *restless) Run(context.Context, backend.Job) (backend.Outcome, error) {
	if b.first != nil {
		b.first()
		b.first = nil
	}
	return backend.Outcome{Status: b.status, Sentence: "planted"}, nil
}

func (*restless) Measure(context.Context, backend.MeasureJob) (backend.Candidate, backend.Outcome, error) {
	return nil, backend.Outcome{Status: op.StatusUnsupported}, nil
}

// TestRecordedExitCodeIsTheShells: every verb records the exit code that it returns to the shell: a resumed
// run with changed sources is a usage error, 2, even if something bad was recorded before.
func TestRecordedExitCodeIsTheShells(t *testing.T) {
	for _, verb := range []string{"compare", "gradcheck", "bench"} {
		t.Run(verb, func(t *testing.T) {
			db := filepath.Join(t.TempDir(), "r.db")
			once := func(b *restless, more ...string) (int, string) {
				a, said := gpuApp(t, facts(9, 13000), nil)
				if b.first != nil {
					b.first = func() { interrupt(a) }
				}
				a.Telemetry = func(string, string) machine.Card { return &fakeCard{} }
				a.Rest = func(context.Context, time.Duration) {}
				a.Around = func([]backend.Backend) []backend.Backend { return []backend.Backend{b} }
				args := slices.Concat([]string{
					verb, "softmax", "--dims", "rows=3,cols=2", "--quick",
					"--db", db,
				}, more)
				return int(a.execute(args)), said.String()
			}
			code, text := once(&restless{source: "before", status: op.StatusCrash, first: func() {}})
			if code != 1 || !strings.Contains(text, " bad. Exit 1: something is wrong") {
				t.Fatalf("the interrupted run: exit %d, want 1\n%s", code, text)
			}
			code, text = once(&restless{source: "after", status: op.StatusCrash}, "--resume")
			if code != 2 ||
				!strings.Contains(text, "changed since the interrupted run (before then, after now)") {
				t.Errorf("the resumed run: exit %d, want 2 and what changed\n%s", code, text)
			}
			if recorded := onlyExit(t, db); recorded != code {
				t.Errorf("exit %d is recorded, and the shell got %d", recorded, code)
			}
		})
	}
}

// interrupt sends Ctrl-C and waits until it has arrived.
func interrupt(a *app) {
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGINT)
	<-a.Stop.Done()
}

// TestSanitizeStopped: a stopped run under a tool ends like any other stopped run: with exit code 3, unless
// something bad was found. The session records the exit code of the shell.
func TestSanitizeStopped(t *testing.T) {
	for _, c := range []struct {
		status op.Status
		code   int
	}{{op.StatusUnsupported, 3}, {op.StatusCrash, 1}} {
		a, said := sanitizerApp(t, nil)
		db := filepath.Join(t.TempDir(), "r.db")
		a.Around = func([]backend.Backend) []backend.Backend {
			return []backend.Backend{&restless{status: c.status, first: func() { interrupt(a) }}}
		}
		code := int(a.execute([]string{
			"compare", "softmax", "--sanitize", "memcheck", "--dims", "rows=3,cols=2",
			"--dtype", "fp32", "--db", db,
		}))
		if text := said(); code != c.code || !strings.Contains(text, "stopped before its plan was done") {
			t.Errorf("%v: exit %d, want %d\n%s", c.status, code, c.code, text)
		}
		if recorded := onlyExit(t, db); recorded != code {
			t.Errorf("%v: exit %d is recorded, and the shell got %d", c.status, recorded, code)
		}
	}
}

// onlyExit returns the exit code of the only session in a database.
func onlyExit(t *testing.T, db string) int {
	t.Helper()
	store, err := results.Open(t.Context(), db, results.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	records, _, err := store.List(t.Context(), results.Filter{Limit: -1})
	if err != nil || len(records) == 0 {
		t.Fatalf("%d records: %v", len(records), err)
	}
	session, err := store.Session(t.Context(), records[0].Session)
	if err != nil {
		t.Fatal(err)
	}
	return session.Exit
}
