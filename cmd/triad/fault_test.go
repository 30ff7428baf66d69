package main

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/backend/backendtest"
	"triad/internal/op"
	"triad/internal/session"
	"triad/results"
)

// plantedBackend is a right softmax for two columns on a CPU that panics at the requested call.
type plantedBackend struct {
	panicsAt string // "load", "shifted": a run on these numbers, "close"
}

func (*plantedBackend) Name() string       { return "planted" }
func (*plantedBackend) Families() []string { return []string{"cuda"} }

func (b *plantedBackend) Close() error {
	if b.panicsAt == "close" {
		panic("planted in close")
	}
	return nil
}

func (b *plantedBackend) Load(context.Context, string) (backend.LoadReply, backend.HelloReply, error) {
	if b.panicsAt == "load" {
		panic("planted in load")
	}
	return backend.LoadReply{Implementations: []backend.Implementation{{
		Name: "cuda/planted", Op: "softmax", Pass: op.Forward, DTypes: []string{"fp32"},
		Contract: "fp32", Outputs: []string{"y"}, Device: "cpu",
	}}}, backend.HelloReply{}, nil
}

func (b *plantedBackend) Run(_ context.Context, job backend.Job) (backend.Outcome, error) {
	if b.panicsAt == "shifted" && slices.Max(job.Inputs[0].Float64s()) > 100 {
		var none *plantedBackend
		none.panicsAt = ""
	}
	return backendtest.SoftmaxOfTwo(job), nil
}

func (*plantedBackend) Measure(context.Context, backend.MeasureJob) (
	backend.Candidate, backend.Outcome, error,
) {
	return nil, backend.Outcome{Status: op.StatusUnsupported}, nil
}

// TestPanicIsAnInternalError: a panic anywhere in a run is an internal error: it says what was being done and
// where, the session keeps it with what was finished, and the exit code is 3. The same holds for goroutines,
// and outside the run.
func TestPanicIsAnInternalError(t *testing.T) {
	for _, c := range []struct {
		at       string
		recorded int
		says     []string
	}{
		{"shifted", 1, []string{
			"internal error while running and judging cuda/planted on softmax forward fp32 rows=3,cols=2",
			"while comparing softmax",
			"runtime error: invalid memory address",
			"  at triad/cmd/triad.(*plantedBackend).Run fault_test.go:",
		}},
		{"load", -1, []string{
			"internal error while comparing softmax", ": planted in load",
			"Load fault_test.go:",
		}},
		{"close", 2, []string{
			"internal error while in triad compare", ": planted in close",
			"Close fault_test.go:",
		}},
	} {
		t.Run(c.at, func(t *testing.T) {
			var out, said bytes.Buffer
			a := newApp(strings.NewReader(""), &out, &said)
			a.Around = func([]backend.Backend) []backend.Backend {
				return []backend.Backend{&plantedBackend{panicsAt: c.at}}
			}
			db := filepath.Join(t.TempDir(), "r.db")
			code := a.execute([]string{
				"compare", "softmax", "--device", "cpu", "--pass", "forward", "--dtype", "fp32", "--dims",
				"rows=3,cols=2", "--layout", "contiguous",
				"--distribution", "normal,shifted", "--db", db,
			})
			if code != session.ExitNothing {
				t.Errorf("exit %d, want 3", code)
			}
			for _, want := range append(c.says,
				"This is a fault of triad, not of a kernel. Please report it") {
				if !strings.Contains(said.String(), want) {
					t.Errorf("it does not say %q but\n%s", want, said.String())
				}
			}
			if c.recorded >= 0 {
				keptOf(t, db, c.recorded, c.says[0])
			}
		})
	}
}

// keptOf checks that a database has one session, ended by an internal error, with the given number of
// records.
func keptOf(t *testing.T, db string, recorded int, internal string) {
	t.Helper()
	store, err := results.Open(t.Context(), db, results.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	records, _, err := store.List(t.Context(), results.Filter{Limit: -1})
	if err != nil || len(records) != recorded {
		t.Fatalf("%d records, want %d (%v)", len(records), recorded, err)
	}
	kept, err := store.Session(t.Context(), records[0].Session)
	if err != nil || kept.Exit != int(session.ExitNothing) || kept.Ended.IsZero() ||
		!strings.Contains(kept.InternalError, internal) ||
		!strings.Contains(kept.InternalError, "fault_test.go:") {
		t.Errorf("%v: exit %d, ended %v, internal error %q, want %q", err, kept.Exit, kept.Ended,
			kept.InternalError, internal)
	}
}

// TestFaultBesideARun: an internal error of a goroutine that nobody waits for still ends the command.
func TestFaultBesideARun(t *testing.T) {
	var said bytes.Buffer
	a := newApp(strings.NewReader(""), &said, &said)
	b := &plantedBackend{}
	a.Around = func([]backend.Backend) []backend.Backend {
		p := session.NewProgress(session.NewScreen(nil, true), a.Broke) // writing to it panics
		p.Preparing("planting")
		for a.Fault.Get() == nil {
			time.Sleep(10 * time.Millisecond)
		}
		return []backend.Backend{b}
	}
	if code := a.execute([]string{"compare", "softmax", "--device", "cpu", "--db", filepath.Join(t.TempDir(),
		"r.db")}); code != session.ExitNothing {
		t.Errorf("exit %d, want 3", code)
	}
	if !strings.Contains(said.String(), "internal error") ||
		!strings.Contains(said.String(), "(*Progress).tick progress.go:") {
		t.Errorf("said %q", said.String())
	}
}
