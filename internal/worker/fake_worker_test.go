package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/subprocess"
	"triad/internal/tensor"
)

// fakeEnvironment returns the whole environment of a fake worker. If coverage is counted it names the folder
// for it, or the worker would print a warning that it is not set.
func fakeEnvironment(mode string) []string {
	return []string{"FAKE_WORKER=" + mode, "GOCOVERDIR=" + os.Getenv("GOCOVERDIR")}
}

// TestMain turns the test binary into a fake worker if FAKE_WORKER names a way to behave.
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
	if mode == "is killed before hello" {
		die()
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
				reply(r.ID, backend.LoadReply{Failed: []backend.LoadFailure{{
					Implementation: "fake",
					Status:         op.StatusPass,
				}}})
				continue
			}
			if !loads(mode, r, reply) {
				continue
			}
			if folder := os.Getenv("FAKE_LOADED"); folder != "" {
				os.WriteFile(filepath.Join(folder, "loaded-"+r.Load.Op+"-"+r.Load.Slot), nil, 0o600)
			}
			if mode == byName {
				reply(r.ID, fakeImplementations(r.Load.Op))
				continue
			}
			reply(r.ID, backend.LoadReply{})
		case backend.DoBye:
			return
		case backend.DoProbe:
			reply(r.ID, map[string]any{"healthy": mode != "hangs and stays broken", "message": "3 is not 4"})
		case backend.DoMeasure:
			measuring(mode, r, reply)
		case backend.DoRun:
			if mode == byName {
				conform(r, conn, reply)
				continue
			}
			misbehave(mode, r, conn, reply)
		}
	}
}

// loads performs the mode's action in place of a load, and reports whether the load is answered after it.
func loads(mode string, r backend.Request, reply func(int64, any)) bool {
	switch mode {
	case "hangs while loading":
		time.Sleep(time.Hour)
	case "is killed while loading":
		die()
	case "is killed once while loading":
		if once, err := os.OpenFile(filepath.Join(os.Getenv("FAKE_LOADED"), "died"),
			os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			once.Close()
			die()
		}
	case "dies while loading":
		os.Exit(2)
	case "has no room to build":
		reply(r.ID, backend.LoadReply{Failed: []backend.LoadFailure{{
			Implementation: "fake", Status: op.StatusInterrupted, Message: "no space left on device",
		}}})
		return false
	}
	return true
}

// die ends the process as a system does that runs out of memory.
func die() {
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
	time.Sleep(time.Minute)
}

// leave starts a program in a session of its own. It keeps the socket open when the worker ends.
func leave(mode string, conn *os.File) {
	cmd := exec.Command("/bin/sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if mode == "ends behind a child" {
		cmd.ExtraFiles = []*os.File{conn}
	}
	cmd.Start()
	if mode == "ends behind a child" {
		os.Exit(0)
	}
	fmt.Printf("grandchild %d\n", cmd.Process.Pid)
	time.Sleep(time.Hour)
}

// misbehave performs the mode's action in place of a run.
func misbehave(mode string, r backend.Request, conn *os.File, reply func(int64, any)) {
	switch mode {
	case "exits 0":
		os.Exit(0)
	case "segfaults":
		// Go itself would catch the signal
		syscall.Exec("/bin/sh", []string{"sh", "-c", "kill -SEGV $$"}, nil)
	case "is killed":
		die()
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
	case "ends behind a child", "leaves a session":
		leave(mode, conn)
	case "stops itself":
		syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case "closes its socket":
		conn.Close()
		time.Sleep(time.Hour)
	case "prints 100 MB":
		block := []byte(strings.Repeat("spam\n", 1<<13))
		for printed := 0; printed < 100<<20; printed += len(block) {
			os.Stdout.Write(block)
		}
		reply(r.ID, plainReply(r))
	default:
		answer(mode, r, conn, reply)
	}
}

// answer replies to a run at once, correctly or, if the mode says so, wrongly.
func answer(mode string, r backend.Request, conn *os.File, reply func(int64, any)) {
	switch mode {
	case "stumbles":
		text, _ := json.Marshal(backend.Reply{
			ID:    r.ID,
			Error: "run: RuntimeError: \x1b[1;31mno sizes\x1b[0m\x1b[2J\n  fake/good  PASS",
		})
		conn.Write(append(text, '\n'))
	case "raises":
		reply(r.ID, backend.RunReply{Launches: []backend.LaunchReply{{
			Status:  op.StatusCrash,
			Message: fmt.Sprintf("ValueError: oh no, process %d", os.Getpid()),
		}}})
	case "raises and ends":
		reply(r.ID, backend.RunReply{Launches: []backend.LaunchReply{{
			Status:  op.StatusCrash,
			Message: fmt.Sprintf("CUDA error 700, process %d", os.Getpid()),
		}}, Fatal: true})
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
		reply(r.ID, backend.RunReply{Launches: []backend.LaunchReply{{
			Status:  op.StatusPass,
			Message: "all is well",
		}}})
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

// plainReply claims that every output is all zero bits, which is what the shared memory holds only if the
// driver did not poison it.
func plainReply(r backend.Request) backend.RunReply {
	var reply backend.RunReply
	for _, l := range r.Run.Launches {
		launch := backend.LaunchReply{}
		for _, in := range r.Run.Inputs {
			launch.Inputs = append(launch.Inputs, in.CRC32)
		}
		for _, out := range l.Outputs {
			writeZeros(out)
			launch.Outputs = append(launch.Outputs, backend.OutputRef{
				Name: out.Name, Present: true, DType: out.DType.String(), Shape: out.Shape,
				Stride: out.Stride, CRC32: crc32.ChecksumIEEE(make([]byte, out.Bytes)),
			})
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

// sharedFile is the shared memory's descriptor in a fake worker. It is kept: a file that is collected closes
// its descriptor.
var sharedFile = sync.OnceValue(func() *os.File { return os.NewFile(4, "memory") })

// patient holds the options for fake workers that answer or end by themselves: on a machine that is busy with
// other tests they may take long.
var patient = Options{
	Grace: subprocess.Grace{Term: 20 * time.Second, Kill: 20 * time.Second}, MemoryBytes: 1 << 30,
	Limits: Limits{
		Build: time.Minute, Import: time.Minute, First: time.Minute, FirstCPU: time.Minute,
		CallLeast: time.Minute,
	},
}

// hangs lists the behaviours without an answer, so that its deadline has to pass; stays those in which the
// process does not end by itself, so that the deadline for that has to pass.
var (
	hangs = map[string]bool{"hangs": true, "hangs and stays broken": true, "ignores SIGTERM": true}
	stays = map[string]bool{
		"ignores SIGTERM": true, "sends an endless line": true, "closes its socket": true,
		"answers fewer launches": true,
		"judges itself":          true, "lies about a checksum": true, "breaks while it is timed": true,
	}
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
	a := &Adapter{
		BackendName: "fake", Options: o, Slot: func(string) string { return "" },
		Command: func(context.Context) (Command, error) {
			return Command{Path: self, Env: fakeEnvironment(mode)}, nil
		},
	}
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
