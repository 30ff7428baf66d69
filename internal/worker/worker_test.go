package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/tensor"
)

// TestMain turns the test binary into a fake worker where FAKE_WORKER names a way to behave.
func TestMain(m *testing.M) {
	if mode := os.Getenv("FAKE_WORKER"); mode != "" {
		fakeWorker(mode)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fakeWorker answers hello and load well, and run in the given way.
func fakeWorker(mode string) {
	conn := os.NewFile(3, "conn")
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, backend.MaxLine)
	reply := func(id int64, result any) {
		text, _ := json.Marshal(result)
		line, _ := json.Marshal(backend.Reply{ID: id, Result: text})
		conn.Write(append(line, '\n'))
	}
	if mode == "dies before hello" {
		fmt.Fprintln(os.Stderr, "no usable device")
		os.Exit(3)
	}
	for lines.Scan() {
		var r backend.Request
		if json.Unmarshal(lines.Bytes(), &r) != nil {
			os.Exit(9)
		}
		switch r.Do {
		case backend.DoHello:
			reply(r.ID, backend.HelloReply{Protocol: backend.Protocol, Device: "cpu", PID: os.Getpid()})
		case backend.DoLoad:
			if mode == "fails to load with PASS" {
				reply(r.ID, backend.LoadReply{Failed: []backend.LoadFailure{{Implementation: "fake", Status: op.StatusPass}}})
				continue
			}
			if mode == "hangs while loading" {
				time.Sleep(time.Hour)
			}
			if folder := os.Getenv("FAKE_LOADED"); folder != "" {
				os.WriteFile(filepath.Join(folder, "loaded-"+r.Load.Op+"-"+r.Load.Slot), nil, 0o600)
			}
			reply(r.ID, backend.LoadReply{})
		case backend.DoBye:
			return
		case backend.DoProbe:
			reply(r.ID, map[string]any{"healthy": mode != "hangs and stays broken", "message": "3 is not 4"})
		case backend.DoMeasure:
			measuring(mode, r, reply)
		case backend.DoRun:
			misbehave(mode, r, conn, reply)
		}
	}
}

func misbehave(mode string, r backend.Request, conn *os.File, reply func(int64, any)) {
	switch mode {
	case "exits 0":
		os.Exit(0)
	case "segfaults":
		syscall.Exec("/bin/sh", []string{"sh", "-c", "kill -SEGV $$"}, nil) // Go itself would catch the signal
	case "is killed":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		time.Sleep(time.Minute)
	case "hangs", "hangs and stays broken":
		time.Sleep(time.Hour)
	case "ignores SIGTERM":
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(time.Hour)
	case "leaves a grandchild":
		cmd := exec.Command("/bin/sleep", "1000")
		cmd.Stdout = os.Stdout
		cmd.Start()
		fmt.Printf("grandchild %d\n", cmd.Process.Pid)
		time.Sleep(time.Hour)
	case "sends garbage":
		conn.Write([]byte("Traceback (most recent call last):\n"))
		time.Sleep(time.Hour)
	case "answers another request":
		reply(r.ID+1, backend.RunReply{})
		time.Sleep(time.Hour)
	case "sends an endless line":
		block := []byte(strings.Repeat("x", 1<<16))
		for {
			if _, err := conn.Write(block); err != nil {
				time.Sleep(time.Hour)
			}
		}
	case "closes its socket":
		conn.Close()
		time.Sleep(time.Hour)
	case "prints 100 MB":
		block := []byte(strings.Repeat("spam\n", 1<<13))
		for printed := 0; printed < 100<<20; printed += len(block) {
			os.Stdout.Write(block)
		}
		reply(r.ID, plainReply(r))
	case "stumbles":
		text, _ := json.Marshal(backend.Reply{ID: r.ID, Error: "run: RuntimeError: no sizes\x1b[2J\n  fake/good  PASS"})
		conn.Write(append(text, '\n'))
	case "raises":
		reply(r.ID, backend.RunReply{Launches: []backend.LaunchReply{{Status: op.StatusCrash, Message: fmt.Sprintf("ValueError: oh no, process %d", os.Getpid())}}})
	case "raises and ends":
		reply(r.ID, backend.RunReply{Launches: []backend.LaunchReply{{Status: op.StatusCrash, Message: fmt.Sprintf("CUDA error 700, process %d", os.Getpid())}}, Fatal: true})
		os.Exit(0)
	case "answers fewer launches":
		full := plainReply(r)
		full.Launches = full.Launches[:1]
		reply(r.ID, full)
	case "lies about a checksum":
		full := plainReply(r)
		full.Launches[0].Outputs[0].CRC32++
		reply(r.ID, full)
	case "judges itself":
		reply(r.ID, backend.RunReply{Launches: []backend.LaunchReply{{Status: op.StatusPass, Message: "all is well"}}})
	case "claims what it did not write":
		full := plainReply(r)
		for i, l := range r.Run.Launches {
			bytes := make([]byte, l.Outputs[0].Bytes)
			tensor.Poison(bytes, l.Outputs[0].DType, l.Poison)
			full.Launches[i].Outputs[0].CRC32 = crc32.ChecksumIEEE(bytes)
		}
		reply(r.ID, full)
	default:
		reply(r.ID, plainReply(r))
	}
}

// plainReply claims that every output is all zero bits, which is what the shared memory holds only if the driver did not poison it.
func plainReply(r backend.Request) backend.RunReply {
	var reply backend.RunReply
	for _, l := range r.Run.Launches {
		launch := backend.LaunchReply{}
		for _, in := range r.Run.Inputs {
			launch.Inputs = append(launch.Inputs, in.CRC32)
		}
		for _, out := range l.Outputs {
			writeZeros(out)
			launch.Outputs = append(launch.Outputs, backend.OutputRef{Name: out.Name, Present: true, DType: out.DType.String(), Shape: out.Shape,
				Stride: out.Stride, CRC32: crc32.ChecksumIEEE(make([]byte, out.Bytes))})
		}
		reply.Launches = append(reply.Launches, launch)
	}
	return reply
}

// writeZeros writes an output through the shared memory's descriptor.
func writeZeros(out backend.TensorRef) {
	if os.Getenv("FAKE_WORKER") == "claims what it did not write" {
		return
	}
	sharedFile().WriteAt(make([]byte, out.Bytes), out.Offset)
}

// sharedFile is the shared memory's descriptor in a fake worker. It is kept: a file that is collected closes its descriptor.
var sharedFile = sync.OnceValue(func() *os.File { return os.NewFile(4, "memory") })

// patient is what a fake worker is given: on a machine that is busy with other tests, one that answers or ends by itself may take its time.
var patient = Options{Grace: Grace{Term: 20 * time.Second, Kill: 20 * time.Second}, MemoryBytes: 1 << 30,
	Limits: Limits{Build: time.Minute, Import: time.Minute, First: time.Minute, FirstCPU: time.Minute, CallLeast: time.Minute}}

// hangs names the ways to behave in which no answer comes, and the time for it has to run out; stays those in which the process does not end by
// itself, and the time for that has to run out.
var (
	hangs = map[string]bool{"hangs": true, "hangs and stays broken": true, "ignores SIGTERM": true}
	stays = map[string]bool{"ignores SIGTERM": true, "sends an endless line": true, "closes its socket": true, "answers fewer launches": true,
		"judges itself": true, "lies about a checksum": true, "breaks while it is timed": true}
)

func fakeAdapter(t *testing.T, mode string, change func(*Options)) *Adapter {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := patient
	if hangs[mode] {
		o.Limits.First, o.Limits.FirstCPU = time.Second, time.Second
	}
	if stays[mode] {
		o.Grace.Term = 200 * time.Millisecond
	}
	if change != nil {
		change(&o)
	}
	a := &Adapter{BackendName: "fake", Options: o, Slot: func(string) string { return "" },
		Command: func(context.Context) (Command, error) {
			return Command{Path: self, Env: []string{"FAKE_WORKER=" + mode}}, nil
		}}
	t.Cleanup(func() { a.Close() })
	return a
}

func fakeJob() backend.Job {
	x := tensor.New("x", op.FP32, []int64{2, 3})
	return backend.Job{
		Implementation: backend.Implementation{Name: "fake/one", Op: "copy", Pass: op.Forward},
		Inputs:         []tensor.Tensor{x},
		Outputs:        []op.TensorType{{Name: "y", DType: op.FP32, Shape: []int64{2, 3}}},
		Launches:       []backend.LaunchPlan{{Poison: "a"}, {Poison: "b"}},
	}
}

// Every way a worker can fail ends as an outcome with a sentence, within its deadline, and the next job finds a fresh worker.
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
		{"stumbles", op.StatusCrash, "the worker could not run it: run: run: RuntimeError: no sizes?[2J; fake/good  PASS"},
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
					t.Errorf("round %d: %v %q, want %v %q", round, got.Status, got.Sentence, c.status, c.sentence)
				}
				if c.status == op.StatusHang && time.Since(began) > time.Minute {
					t.Errorf("round %d took %v, a minute is more than its deadline and what its end takes", round, time.Since(began))
				}
				if len(got.Log) > logBytes+200 {
					t.Errorf("round %d: kept %d bytes of log", round, len(got.Log))
				}
			}
		})
	}
}

// A plain exception costs no process: the next job runs in the same one. A broken context does, and says so.
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

// A toolchain that could not be asked because the run was told to end is not missing.
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

// A child that survives SIGKILL is given up after the grace period, said so, and Close reports it.
func TestUnkillable(t *testing.T) {
	a := fakeAdapter(t, "hangs", func(o *Options) {
		o.Grace = Grace{Term: 200 * time.Millisecond, Kill: 300 * time.Millisecond}
		o.Kill = func(int, syscall.Signal) error { return nil } // the signals are lost
	})
	began := time.Now()
	got, err := a.Run(t.Context(), fakeJob())
	if err != nil || got.Status != op.StatusHang || !got.Wedged || !strings.Contains(got.Sentence, "survived SIGKILL") {
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
		o.Grace = Grace{Term: 200 * time.Millisecond, Kill: 300 * time.Millisecond}
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
	if _, _, err := a.Load(t.Context(), "copy"); err == nil || !strings.Contains(err.Error(), "fake failed to load with the status PASS, want BUILD_FAIL or UNAVAILABLE") {
		t.Errorf("load: %v", err)
	}
}

// A grandchild that holds the pipe ends with its parent.
func TestGrandchildEnds(t *testing.T) {
	a := fakeAdapter(t, "leaves a grandchild", func(o *Options) { o.Limits.FirstCPU = 3 * time.Second }) // time to start it
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

// deadOrZombie reads the state: in a container nobody may reap, so kill(pid, 0) succeeds on the dead.
func deadOrZombie(pid int) bool {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return true
	}
	_, after, _ := strings.Cut(string(text), ") ")
	return strings.HasPrefix(after, "Z")
}

// A worker that does not come up is an unavailable backend whose sentence carries what it printed.
func TestDiesBeforeHello(t *testing.T) {
	a := fakeAdapter(t, "dies before hello", nil)
	_, _, err := a.Load(t.Context(), "copy")
	var u *backend.Unavailable
	if !errors.As(err, &u) || !strings.Contains(err.Error(), "exited 3") || !strings.Contains(err.Error(), "no usable device") {
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
	if err != nil || got.Status != op.StatusSkipped || !strings.Contains(got.Sentence, "4096 bytes of shared memory") {
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
	if d := l.call([]time.Duration{time.Second, 3 * time.Second, 2 * time.Second}, true); d != 21*time.Second {
		t.Errorf("later call: %v", d)
	}
	if d := l.call([]time.Duration{time.Second, 3 * time.Second, 2 * time.Second}, false); d != 31*time.Second {
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

// After a hang on a GPU a fresh worker proves that the GPU still computes. One that does not is used no more, and every later job is told so
// at once.
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
				if !errors.As(err, &gone) || !strings.Contains(gone.Sentence, "does not recover") || !strings.Contains(gone.Sentence, "3 is not 4") {
					t.Errorf("on a broken GPU: %+v, %v", outcome, err)
				}
			}
		})
	}
}

// While a worker runs, no process of the same user may read the driver's memory, where the truth is.
func TestDriverIsUnreadable(t *testing.T) {
	if _, err := fakeAdapter(t, "works", nil).Run(t.Context(), fakeJob()); err != nil {
		t.Fatal(err)
	}
	if dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || dumpable != 0 {
		t.Errorf("dumpable is %d, %v", dumpable, err)
	}
}
