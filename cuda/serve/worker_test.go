package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"triad"
	"triad/cuda/cudatest"
	"triad/internal/backend"
	"triad/internal/op"
)

// testCache is triad's own build cache, which every device in this process shares.
var testCache string

// TestMain is also the worker that the tests start: with TRIAD_TEST_WORKER set to a cache folder it serves
// descriptors 3 and 4; with "busy" it does so on a device that never answers.
func TestMain(m *testing.M) {
	if folder := os.Getenv("TRIAD_TEST_WORKER"); folder != "" {
		serve := func() error {
			device, conn, memory := NewEmulator(testSources(), folder), os.NewFile(3, "connection"),
				os.NewFile(4, "memory")
			return Serve(context.Background(), device, testSpec, conn, memory)
		}
		if folder == "busy" {
			serve = serveBusy
		}
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	testCache = cudatest.Cache()
	os.Exit(m.Run())
}

// testSpec knows the operator of testdata/worker/scale.cu.
func testSpec(name string) (*op.Spec, error) {
	if name != "scale" {
		return nil, fmt.Errorf("there is no operator %q", name)
	}
	tensors := func(names ...string) (list []op.TensorSpec) {
		for _, n := range names {
			list = append(list, op.TensorSpec{Name: n})
		}
		return list
	}
	return &op.Spec{
		Name: "scale", DTypes: []string{"fp16", "fp32"}, InputSpecs: tensors("x"),
		OutputSpecs: tensors("y", "again"),
		Backward:    &op.BackwardSpec{Inputs: []string{"grad_y"}, Outputs: []string{"grad_x"}},
	}, nil
}

// testSources returns the embedded sources with the test's kernel in addition to the real ones.
func testSources() fs.FS { return withKernel{triad.Files} }

type withKernel struct{ fs.FS }

func (w withKernel) Open(name string) (fs.File, error) {
	if name == "cuda/kernels/scale.cu" {
		return os.DirFS("testdata/worker").Open("scale.cu")
	}
	return w.FS.Open(name)
}

// worker is a worker as its driver sees it.
type worker struct {
	t       *testing.T
	conn    net.Conn
	replies *bufio.Reader
	memory  *os.File
	id      int64
	hello   backend.HelloReply
	process *exec.Cmd  // nil for a worker in this process
	ended   chan error // the result of Serve, or of the process
}

const testMemory = 1 << 20

// startWorker starts a worker, in this process or in another, and greets it.
func startWorker(t *testing.T, inProcess bool) *worker {
	t.Helper()
	var device Device // nil: the worker is a process of its own
	if inProcess {
		device = NewEmulator(testSources(), testCache)
	}
	w := startWorkerOn(t, device)
	versions := w.hello.Versions
	if w.hello.Device != "emulator" || versions["compiler"] == "" || len(versions["emulator"]) != 12 ||
		w.hello.PID == 0 {
		t.Fatalf("hello: %+v", w.hello)
	}
	return w
}

// startWorkerOn starts a worker on a device in this process, or in another process, and greets it.
func startWorkerOn(t *testing.T, device Device) *worker {
	t.Helper()
	cudatest.NeedCompiler(t)
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	mine, theirs := os.NewFile(uintptr(pair[0]), "driver"), os.NewFile(uintptr(pair[1]), "worker")
	memory, err := os.CreateTemp(t.TempDir(), "memory")
	if err != nil {
		t.Fatal(err)
	}
	if err := memory.Truncate(testMemory); err != nil {
		t.Fatal(err)
	}
	w := &worker{t: t, memory: memory, ended: make(chan error, 1)}
	if device != nil {
		go func() {
			err := Serve(context.Background(), device, testSpec, theirs, memory)
			theirs.Close()
			w.ended <- err
		}()
	} else {
		w.process = exec.Command(os.Args[0])
		w.process.Env = append(os.Environ(), "TRIAD_TEST_WORKER="+testCache)
		w.process.ExtraFiles = []*os.File{theirs, memory}
		w.process.Stderr = os.Stderr
		if err := w.process.Start(); err != nil {
			t.Fatal(err)
		}
		theirs.Close()
		go func() { w.ended <- w.process.Wait() }()
	}
	if w.conn, err = net.FileConn(mine); err != nil {
		t.Fatal(err)
	}
	mine.Close()
	w.replies = bufio.NewReaderSize(w.conn, backend.MaxLine)
	t.Cleanup(func() {
		w.conn.Close()
		if w.process != nil {
			_ = w.process.Process.Kill()
		}
		select {
		case <-w.ended:
		case <-time.After(10 * time.Second):
			t.Error("the worker did not end")
		}
		w.ended <- nil
		memory.Close()
	})
	greeting := &backend.HelloArgs{Protocol: backend.Protocol, MemoryBytes: testMemory}
	w.must(backend.Request{Do: backend.DoHello, Hello: greeting}, &w.hello)
	if w.hello.Protocol != backend.Protocol {
		t.Fatalf("hello: %+v", w.hello)
	}
	return w
}

// call sends a request and reads the reply into result; the error is the reply's, or io.EOF from a worker
// that ended.
func (w *worker) call(r backend.Request, result any) error {
	w.id++
	r.ID = w.id
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := w.conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		return err
	}
	if _, err := w.conn.Write(append(line, '\n')); err != nil {
		return err
	}
	if line, err = w.replies.ReadBytes('\n'); err != nil {
		return err
	}
	var reply backend.Reply
	if err := json.Unmarshal(line, &reply); err != nil {
		return err
	}
	if reply.ID != r.ID {
		return fmt.Errorf("reply %d to request %d", reply.ID, r.ID)
	}
	if reply.Error != "" {
		return errors.New(reply.Error)
	}
	return json.Unmarshal(reply.Result, result)
}

func (w *worker) must(r backend.Request, result any) {
	w.t.Helper()
	if err := w.call(r, result); err != nil {
		w.t.Fatalf("%s: %v", r.Do, err)
	}
}

func (w *worker) load(name string) (reply backend.LoadReply) {
	w.t.Helper()
	w.must(backend.Request{Do: backend.DoLoad, Load: &backend.LoadArgs{Op: name}}, &reply)
	return reply
}

// scale requests y = 2x with n elements; n outputs start at the second page of the memory. Each launch has
// its own outputs.
func (w *worker) scale(variant string, n int, outputs []string, launches ...backend.Launch) backend.RunArgs {
	w.t.Helper()
	x := make([]byte, 4*n)
	for i := range n {
		bits := math.Float32bits(float32(i) + 1)
		x[4*i], x[4*i+1], x[4*i+2], x[4*i+3] = byte(bits), byte(bits>>8), byte(bits>>16), byte(bits>>24)
	}
	if _, err := w.memory.WriteAt(x, 0); err != nil {
		w.t.Fatal(err)
	}
	ref := func(name string, offset int64) backend.TensorRef {
		return backend.TensorRef{
			Name: name, DType: op.FP32, Shape: []int64{int64(n)}, Stride: []int64{1},
			Offset: offset, Bytes: int64(4 * n),
		}
	}
	in := ref("x", 0)
	in.CRC32 = crc32.ChecksumIEEE(x)
	args := backend.RunArgs{
		Op: "scale", Implementation: "cuda/" + variant, Pass: op.Forward, DType: "fp32",
		Contract: "fp32", Inputs: []backend.TensorRef{in},
	}
	for i, l := range launches {
		for k, name := range outputs {
			l.Outputs = append(l.Outputs, ref(name, int64(8192*(1+i*len(outputs)+k))))
		}
		args.Launches = append(args.Launches, l)
	}
	return args
}

func (w *worker) run(args backend.RunArgs) (reply backend.RunReply, err error) {
	return reply, w.call(backend.Request{Do: backend.DoRun, Run: &args}, &reply)
}

// values reads the elements of a reply's output.
func (w *worker) values(ref backend.TensorRef, out backend.OutputRef) []float32 {
	w.t.Helper()
	bytes := make([]byte, ref.Bytes)
	if _, err := w.memory.ReadAt(bytes, ref.Offset); err != nil {
		w.t.Fatal(err)
	}
	if sum := crc32.ChecksumIEEE(bytes); sum != out.CRC32 {
		w.t.Errorf("output %s: crc32 %08x announced, %08x found", out.Name, out.CRC32, sum)
	}
	var all []float32
	for i := 0; i < len(bytes); i += 4 {
		all = append(all, math.Float32frombits(uint32(bytes[i])|uint32(bytes[i+1])<<8|uint32(bytes[i+
			2])<<16|uint32(bytes[i+3])<<24))
	}
	return all
}
