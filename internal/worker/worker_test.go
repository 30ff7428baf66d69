package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/subprocess"
	"triad/internal/tensor"
)

// Every way a worker can fail ends as an outcome with a sentence, within its deadline, and the next job finds
// a fresh worker.
func TestMisbehaviour(t *testing.T) {
	for _, c := range []struct {
		mode     string
		status   op.Status
		sentence string
	}{
		{"works", op.StatusUnknown, ""},
		{"exits 0", op.StatusCrash, "exited 0 during run, before it answered"},
		{"segfaults", op.StatusCrash, "died by signal segmentation fault"},
		{"is killed", op.StatusOOM, "killed by SIGKILL, which triad did not send"},
		{"hangs", op.StatusHang, "no answer to run within 1s"},
		{"ignores SIGTERM", op.StatusHang, "no answer to run within 1s"},
		{"sends garbage", op.StatusCrash, "sent a line that is no reply: \"Traceback"},
		{"answers another request", op.StatusCrash, "sent reply 4 to request 3"},
		{"sends an endless line", op.StatusCrash, "closed its connection during run"},
		{"closes its socket", op.StatusCrash, "closed its connection during run without an answer"},
		{"prints 100 MB", op.StatusUnknown, ""},
		{"answers fewer launches", op.StatusCrash, "incomplete: 1 launches, asked for 2"},
		{"judges itself", op.StatusCrash, "launch 0 says PASS, which is not for a worker to say"},
		{
			"stumbles", op.StatusCrash,
			"the worker could not run it: run: run: RuntimeError: no sizes?[2J; fake/good  PASS",
		},
		{"lies about a checksum", op.StatusCrash, "the bytes of y do not match their checksum"},
	} {
		t.Run(c.mode, func(t *testing.T) {
			a := fakeAdapter(t, c.mode, nil)
			for round := range 2 { // twice: the second finds a fresh worker
				began := time.Now()
				got, err := a.Run(t.Context(), fakeJob())
				if err != nil {
					t.Fatalf("round %d: %v", round, err)
				}
				if got.Status != c.status || !strings.Contains(got.Sentence, c.sentence) {
					t.Errorf("round %d: %v %q, want %v %q", round, got.Status, got.Sentence,
						c.status, c.sentence)
				}
				if c.status == op.StatusHang && time.Since(began) > time.Minute {
					t.Errorf("round %d took %v, a minute is more than its deadline and what its end takes",
						round, time.Since(began))
				}
				if len(got.Log) > logBytes+200 {
					t.Errorf("round %d: kept %d bytes of log", round, len(got.Log))
				}
			}
		})
	}
}

// A plain exception costs no process: the next job runs in the same one. A broken context does, and is
// reported.
func TestAnExceptionCostsNoWorker(t *testing.T) {
	for mode, ended := range map[string]bool{"raises": false, "raises and ends": true} {
		a := fakeAdapter(t, mode, nil)
		var said [2]string
		for i := range said {
			got, err := a.Run(t.Context(), fakeJob())
			if err != nil || got.Status != op.StatusCrash || got.Ended != ended {
				t.Errorf("%s: %+v %v, want a CRASH with Ended = %v", mode, got, err, ended)
			}
			said[i] = got.Sentence
		}
		if same := said[0] == said[1]; same == ended {
			t.Errorf("%s: %q, then %q", mode, said[0], said[1])
		}
	}
}

// A toolchain that could not be asked because the run was cancelled is not missing.
func TestCommandBrokenOff(t *testing.T) {
	a := fakeAdapter(t, "works", nil)
	ctx, cancel := context.WithCancel(t.Context())
	a.Command = func(context.Context) (Command, error) {
		cancel()
		return Command{}, &backend.Unavailable{Sentence: "no python3: install one"}
	}
	var missing *backend.Unavailable
	if _, _, err := a.Load(ctx, "copy"); !errors.Is(err, context.Canceled) || errors.As(err, &missing) {
		t.Errorf("load: %v", err)
	}
}

// An output that the worker claims but does not write shows the driver's poison, never an older output.
func TestStaleOutputShowsPoison(t *testing.T) {
	good := fakeAdapter(t, "works", nil)
	got, err := good.Run(t.Context(), fakeJob())
	if err != nil || string(got.Launches[1].Outputs[0].Tensor.Data) != string(make([]byte, 24)) {
		t.Fatalf("the honest worker: %v %v", got, err)
	}
	liar := fakeAdapter(t, "claims what it did not write", nil)
	got, err = liar.Run(t.Context(), fakeJob())
	if err != nil || got.Status != op.StatusUnknown {
		t.Fatalf("%v %v", got, err)
	}
	for i, poison := range []string{"a", "b"} {
		want := make([]byte, 24)
		tensor.Poison(want, op.FP32, poison)
		if string(got.Launches[i].Outputs[0].Tensor.Data) != string(want) {
			t.Errorf("launch %d: %x, want poison %x", i, got.Launches[i].Outputs[0].Tensor.Data, want)
		}
	}
}

// A child that survives SIGKILL is given up after the grace period; the outcome and Close report it.
func TestUnkillable(t *testing.T) {
	a := fakeAdapter(t, "hangs", func(o *Options) {
		o.Grace = subprocess.Grace{Term: 200 * time.Millisecond, Kill: 300 * time.Millisecond}
		o.Kill = func(int, syscall.Signal) error { return nil } // the signals are lost
	})
	began := time.Now()
	got, err := a.Run(t.Context(), fakeJob())
	if err != nil || got.Status != op.StatusHang || !got.Wedged ||
		!strings.Contains(got.Sentence, "survived SIGKILL") {
		t.Errorf("%+v %v", got, err)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("took %v", took)
	}
	err = a.Close()
	if err == nil || !strings.Contains(err.Error(), "survived SIGKILL: processes") {
		t.Errorf("close: %v", err)
	}
	for _, pid := range a.wedged {
		syscall.Kill(-pid, syscall.SIGKILL)
	}
}

// A worker that cannot be killed while it loads is reported as well.
func TestUnkillableWhileLoading(t *testing.T) {
	a := fakeAdapter(t, "hangs while loading", func(o *Options) {
		o.Limits.Build = 300 * time.Millisecond
		o.Grace = subprocess.Grace{Term: 200 * time.Millisecond, Kill: 300 * time.Millisecond}
		o.Kill = func(int, syscall.Signal) error { return nil }
	})
	var broken *backend.BuildFailure
	if _, _, err := a.Load(t.Context(), "copy"); !errors.As(err, &broken) {
		t.Errorf("load: %v", err)
	}
	if err := a.Close(); err == nil || !strings.Contains(err.Error(), "survived SIGKILL: processes") {
		t.Errorf("close: %v", err)
	}
	for _, pid := range a.wedged {
		syscall.Kill(-pid, syscall.SIGKILL)
	}
}

// A load that fails with a status of the judge is no result.
func TestLoadFailureIsAFailure(t *testing.T) {
	a := fakeAdapter(t, "fails to load with PASS", nil)
	if _, _, err := a.Load(t.Context(), "copy"); err == nil ||
		!strings.Contains(err.Error(),
			"fake failed to load with the status PASS, want BUILD_FAIL or UNAVAILABLE") {
		t.Errorf("load: %v", err)
	}
}

// A grandchild that holds the pipe ends with its parent, and so does one in a session of its own.
func TestGrandchildEnds(t *testing.T) {
	for _, mode := range []string{"leaves a grandchild", "leaves a session"} {
		t.Run(mode, func(t *testing.T) { grandchildEnds(t, mode) })
	}
}

func grandchildEnds(t *testing.T, mode string) {
	t.Helper()
	a := fakeAdapter(t, mode, func(o *Options) { o.Limits.FirstCPU = 3 * time.Second })
	got, err := a.Run(t.Context(), fakeJob())
	if err != nil || got.Status != op.StatusHang {
		t.Fatalf("%+v %v", got, err)
	}
	_, after, _ := strings.Cut(got.Log, "grandchild ")
	pid, err := strconv.Atoi(strings.TrimSpace(after))
	if err != nil {
		t.Fatalf("log %q: %v", got.Log, err)
	}
	deadline := time.Now().Add(time.Minute)
	for !deadOrZombie(pid) {
		if time.Now().After(deadline) {
			t.Fatalf("grandchild %d lives", pid)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// deadOrZombie reads the state: in a container there may be no reaper, so kill(pid, 0) succeeds on the dead.
func deadOrZombie(pid int) bool {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return true
	}
	_, after, _ := strings.Cut(string(text), ") ")
	return strings.HasPrefix(after, "Z")
}

// A worker that does not start is an unavailable backend whose sentence has the worker's output.
func TestDiesBeforeHello(t *testing.T) {
	a := fakeAdapter(t, "dies before hello", nil)
	_, _, err := a.Load(t.Context(), "copy")
	var u *backend.Unavailable
	if !errors.As(err, &u) || !strings.Contains(err.Error(), "exited 3") ||
		!strings.Contains(err.Error(), "no usable device") {
		t.Errorf("%v", err)
	}
}

// A cancelled job ends at once and takes its worker with it.
func TestCancelled(t *testing.T) {
	a := fakeAdapter(t, "hangs", func(o *Options) { o.Limits.FirstCPU = time.Hour })
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := a.Run(ctx, fakeJob()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("took %v", took)
	}
}

// A case larger than the shared memory is skipped with a sentence.
func TestTooLarge(t *testing.T) {
	a := fakeAdapter(t, "works", func(o *Options) { o.MemoryBytes = 4096 })
	job := fakeJob()
	job.Outputs[0].Shape = []int64{1 << 20, 1 << 20}
	got, err := a.Run(t.Context(), job)
	if err != nil || got.Status != op.StatusSkipped ||
		!strings.Contains(got.Sentence, "4096 bytes of shared memory") {
		t.Errorf("%+v %v", got, err)
	}
}

func TestLimits(t *testing.T) {
	l := DefaultLimits
	if d := l.call(nil, false); d != 120*time.Second {
		t.Errorf("first call on a CPU: %v", d)
	}
	if d := l.call(nil, true); d != 60*time.Second {
		t.Errorf("first call on a GPU: %v", d)
	}
	if d := l.call([]time.Duration{time.Second, 3 * time.Second, 2 * time.Second},
		true); d != 21*time.Second {
		t.Errorf("later call: %v", d)
	}
	if d := l.call([]time.Duration{time.Second, 3 * time.Second, 2 * time.Second},
		false); d != 31*time.Second {
		t.Errorf("later call on a CPU: %v", d)
	}
	if d := l.call([]time.Duration{time.Millisecond}, true); d != 5*time.Second {
		t.Errorf("later call at least: %v", d)
	}
	past := pastCalls{{time.Millisecond, 100}, {time.Second, 900}}
	if got := past.saying(1800, false); len(got) != 1 || got[0] != time.Second {
		t.Errorf("calls that say something about a larger one on a CPU: %v", got)
	}
	if got := past.saying(1801, false); got != nil {
		t.Errorf("a much larger call on a CPU is a first one, got %v", got)
	}
	if got := past.saying(1801, true); len(got) != 2 {
		t.Errorf("calls that say something about a larger one on a GPU: %v", got)
	}
	if err := l.Set("call=30s"); err != nil || l.Value("call") != 30*time.Second {
		t.Errorf("set: %v %v", err, l.Value("call"))
	}
	for _, bad := range []string{"", "call", "call=", "call=-1s", "call=0s", "call=NaN", "coffee=3s"} {
		if err := l.Set(bad); err == nil {
			t.Errorf("set %q: no error", bad)
		}
	}
}

// After a hang on a GPU a fresh worker proves that the GPU still computes. A GPU that does not is no longer
// used, and every later job reports so at once.
func TestGPUInDoubt(t *testing.T) {
	for mode, healthy := range map[string]bool{"hangs": true, "hangs and stays broken": false} {
		t.Run(mode, func(t *testing.T) {
			a := fakeAdapter(t, mode, nil)
			a.GPU = true
			if outcome, err := a.Run(t.Context(), fakeJob()); err != nil || outcome.Status != op.StatusHang {
				t.Fatalf("%+v, %v", outcome, err)
			}
			for range 2 {
				outcome, err := a.Run(t.Context(), fakeJob())
				if healthy {
					if err != nil || outcome.Status != op.StatusHang {
						t.Errorf("on a healthy GPU: %+v, %v", outcome, err)
					}
					continue
				}
				var gone *backend.Unavailable
				if !errors.As(err, &gone) || !strings.Contains(gone.Sentence, "does not recover") ||
					!strings.Contains(gone.Sentence, "3 is not 4") {
					t.Errorf("on a broken GPU: %+v, %v", outcome, err)
				}
			}
		})
	}
}

// While a worker runs, no process of the same user may read the driver's memory, which holds the truth.
func TestDriverIsUnreadable(t *testing.T) {
	if _, err := fakeAdapter(t, "works", nil).Run(t.Context(), fakeJob()); err != nil {
		t.Fatal(err)
	}
	if dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || dumpable != 0 {
		t.Errorf("dumpable is %d, %v", dumpable, err)
	}
}
