package serve

import (
	"errors"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"triad/cuda/build"
	"triad/cuda/cudatest"
	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/tensor"
)

var fourOrders = []backend.Launch{
	{Poison: "a", Order: "forward"},
	{Poison: "b", Order: "greedy:1"},
	{Poison: "a", Order: "greedy:2"},
	{Poison: "b", Order: "greedy:3"},
}

func TestLoadListsImplementations(t *testing.T) {
	w := startWorker(t, true)
	reply := w.load("scale")
	if len(reply.Failed) > 0 || reply.Build == nil || len(reply.Build.Flags) == 0 {
		t.Fatalf("load: %+v", reply)
	}
	byName := map[string]backend.Implementation{}
	for _, i := range reply.Implementations {
		byName[i.Name+" "+i.Pass.String()] = i
	}
	both := byName["cuda/both forward"]
	if strings.Join(both.Outputs, " ") != "y again" || strings.Join(both.Nondeterministic, " ") != "again" ||
		strings.Join(both.DTypes, " ") != "fp32" ||
		both.Contract != "fp32" || both.Constraint != "at most 1024 elements" || both.Device != "emulator" ||
		len(both.Source) != 32 {
		t.Errorf("cuda/both: %+v", both)
	}
	if back := byName["cuda/right backward"]; strings.Join(back.Outputs, " ") != "grad_x" ||
		back.Forward != "cuda/both" {
		t.Errorf("cuda/right, backward: %+v", back)
	}
	if again := w.load("scale"); len(again.Implementations) != len(reply.Implementations) {
		t.Errorf("the second load lists %d implementations, the first %d", len(again.Implementations),
			len(reply.Implementations))
	}
	var none backend.LoadReply
	if none = w.load("nowhere"); len(none.Failed) != 1 || none.Failed[0].Status != op.StatusUnavailable {
		t.Errorf("load of an operator without a kernel file: %+v", none)
	}
}

func TestRightKernels(t *testing.T) {
	w := startWorker(t, true)
	w.load("scale")
	for _, variant := range []string{"right", "workspace", "both"} {
		for _, n := range []int{1, 33, 1000} {
			args := w.scale(variant, n, []string{"y", "again"}, fourOrders...)
			reply, err := w.run(args)
			if err != nil || reply.Fatal || len(reply.Launches) != 4 {
				t.Fatalf("%s, %d elements: %+v, %v", variant, n, reply, err)
			}
			for i, l := range reply.Launches {
				if l.Status != op.StatusUnknown || len(l.Guards) > 0 || len(l.Inputs) != 1 ||
					l.Inputs[0] != args.Inputs[0].CRC32 || len(l.Outputs) != 2 {
					t.Fatalf("%s, %d elements, launch %d: %+v", variant, n, i, l)
				}
				for k, out := range l.Outputs {
					if want := k == 0 || variant == "both"; out.Present != want {
						t.Fatalf("%s: output %s present is %t, want %t", variant, out.Name, out.Present, want)
					}
					if !out.Present {
						continue
					}
					for e, got := range w.values(args.Launches[i].Outputs[k], out) {
						if want := 2 * float32(e+1); got != want {
							t.Fatalf("%s, %d elements, launch %d: %s[%d] = %v, want %v", variant, n, i,
								out.Name, e, got, want)
						}
					}
				}
			}
		}
	}
}

func TestEmptyTensor(t *testing.T) {
	w := startWorker(t, true)
	w.load("scale")
	reply, err := w.run(w.scale("right", 0, []string{"y"}, fourOrders...))
	if err != nil || len(reply.Launches) != 4 || reply.Fatal {
		t.Fatalf("%+v, %v", reply, err)
	}
	for i, l := range reply.Launches {
		if l.Status != op.StatusUnknown || !l.Outputs[0].Present || l.Outputs[0].Shape[0] != 0 {
			t.Errorf("launch %d: %+v", i, l)
		}
	}
}

// TestPoisonShows: elements that a kernel does not write come back as the poison of its launch.
func TestPoisonShows(t *testing.T) {
	w := startWorker(t, true)
	w.load("scale")
	args := w.scale("nothing", 5, []string{"y"}, fourOrders[:2]...)
	reply, err := w.run(args)
	if err != nil || len(reply.Launches) != 2 || reply.Fatal {
		t.Fatalf("%+v, %v", reply, err)
	}
	for i, l := range reply.Launches {
		want := make([]byte, 20)
		tensor.Poison(want, op.FP32, args.Launches[i].Poison)
		got := make([]byte, 20)
		if _, err := w.memory.ReadAt(got, args.Launches[i].Outputs[0].Offset); err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) || l.Status != op.StatusUnknown {
			t.Errorf("launch %d: output % x, want the poison % x; %+v", i, got, want, l)
		}
	}
}

func TestInputsAreHashedAfterwards(t *testing.T) {
	w := startWorker(t, true)
	w.load("scale")
	args := w.scale("scribble", 7, []string{"y"}, fourOrders[:2]...)
	reply, err := w.run(args)
	if err != nil || len(reply.Launches) != 2 {
		t.Fatalf("%+v, %v", reply, err)
	}
	for i, l := range reply.Launches {
		if want := crc32.ChecksumIEEE(make([]byte, 28)); l.Inputs[0] != want {
			t.Errorf("launch %d: hash of x %08x, want %08x, that of zeros", i, l.Inputs[0], want)
		}
		if got := w.values(args.Launches[i].Outputs[0], l.Outputs[0]); got[6] != 14 {
			t.Errorf("launch %d: y[6] = %v, want 14: every launch gets fresh inputs", i, got[6])
		}
	}
}

func TestUnsupported(t *testing.T) {
	w := startWorker(t, true)
	w.load("scale")
	reply, err := w.run(w.scale("right", 1025, []string{"y"}, fourOrders...))
	if err != nil || len(reply.Launches) != 1 || reply.Fatal {
		t.Fatalf("%+v, %v", reply, err)
	}
	if l := reply.Launches[0]; l.Status != op.StatusUnsupported ||
		l.Message != "1025 elements, want at most 1024" {
		t.Errorf("%+v", l)
	}
}

// TestRaceDiffersBetweenOrders: a missing barrier gives other bits in some order.
func TestRaceDiffersBetweenOrders(t *testing.T) {
	w := startWorker(t, true)
	w.load("scale")
	args := w.scale("race", 256, []string{"y"}, fourOrders...)
	reply, err := w.run(args)
	if err != nil || len(reply.Launches) != 4 {
		t.Fatalf("%+v, %v", reply, err)
	}
	sums := map[uint32]bool{}
	for _, l := range reply.Launches {
		sums[l.Outputs[0].CRC32] = true
	}
	if len(sums) < 2 {
		t.Error("four orders gave the same bits, want a difference")
	}
}

// TestFindings: kernels that do not return normally end their worker, after a reply that describes what they
// did.
func TestFindings(t *testing.T) {
	for _, c := range []struct {
		variant string
		status  op.Status
		message string
		line    bool // the finding names the kernel's line
	}{
		{"wild", op.StatusOutOfBounds, "0x8", true},
		{"beyond", op.StatusOutOfBounds, "0 bytes past the end of buffer y of 132 bytes", true},
		{"before", op.StatusOutOfBounds, "4 bytes before the start of buffer y of 132 bytes", true},
		{
			"overruns_scratch", op.StatusOutOfBounds,
			"0 bytes past the end of buffer cudaMalloc at scale.cu", true,
		},
		{"diverge", op.StatusDivergent, "barriers", true},
		{"deadlock", op.StatusDeadlock, "shfl", true},
	} {
		t.Run(c.variant, func(t *testing.T) {
			w := startWorker(t, false)
			w.load("scale")
			reply, err := w.run(w.scale(c.variant, 33, []string{"y"}, fourOrders...))
			if err != nil || len(reply.Launches) != 1 || !reply.Fatal {
				t.Fatalf("%+v, %v", reply, err)
			}
			l := reply.Launches[0]
			if l.Status != c.status || !strings.Contains(l.Message, c.message) {
				t.Errorf("status %s, message %q, want %s and %q", l.Status, l.Message, c.status, c.message)
			}
			if c.line && (l.Where == nil || l.Where.Line == 0 || c.status == op.StatusOutOfBounds &&
				l.Where.Thread == nil || !strings.HasSuffix(l.Where.File, "scale.cu")) {
				t.Errorf("the finding points to %+v, want a line of scale.cu, and of an access the thread",
					l.Where)
			}
			if err := w.call(backend.Request{Do: backend.DoProbe}, &struct{}{}); err == nil {
				t.Error("the worker answers after a reply that was fatal")
			}
		})
	}
}

// A launch that CUDA refuses leaves the worker unchanged.
func TestRefusedLaunchIsClean(t *testing.T) {
	w := startWorker(t, false)
	w.load("scale")
	reply, err := w.run(w.scale("large", 33, []string{"y"}, fourOrders...))
	if err != nil || len(reply.Launches) != 1 || reply.Fatal || reply.Launches[0].Status != op.StatusCrash ||
		!strings.Contains(reply.Launches[0].Message, "returned CUDA error 9: invalid configuration") {
		t.Fatalf("%+v, %v", reply, err)
	}
	if reply, err := w.run(w.scale("right", 33, []string{"y"}, fourOrders...)); err != nil ||
		len(reply.Launches) != 4 || reply.Fatal {
		t.Errorf("the next call: %+v, %v", reply, err)
	}
}

// TestWorkerDies: the driver notices a kernel that ends the process, or never ends.
func TestWorkerDies(t *testing.T) {
	w := startWorker(t, false)
	w.load("scale")
	if reply, err := w.run(w.scale("exit", 3, []string{"y"}, fourOrders...)); !errors.Is(err, io.EOF) &&
		!errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("exit(0) in a launch: %+v, %v, want the end of the connection", reply, err)
	}

	w = startWorker(t, false)
	w.load("scale")
	args := w.scale("forever", 3, []string{"y"}, fourOrders...)
	done := make(chan error, 1)
	go func() { _, err := w.run(args); done <- err }()
	select {
	case err := <-done:
		t.Errorf("an endless loop returned within a second: %v", err)
	case <-time.After(time.Second):
	}
	if err := w.process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil {
		t.Error("a killed worker answered")
	}
}

// TestPrintsDoNotDisturb: 100 MB on stdout are a log, not part of the protocol.
func TestPrintsDoNotDisturb(t *testing.T) {
	w := startWorker(t, false) // its stdout is /dev/null
	w.load("scale")
	args := w.scale("print", 3, []string{"y"}, fourOrders[0])
	reply, err := w.run(args)
	if err != nil || len(reply.Launches) != 1 || reply.Launches[0].Status != op.StatusUnknown {
		t.Fatalf("%+v, %v", reply, err)
	}
	if got := w.values(args.Launches[0].Outputs[0], reply.Launches[0].Outputs[0]); got[2] != 6 {
		t.Errorf("y[2] = %v, want 6", got[2])
	}
}

// TestCompileErrorNamesTheLine: a file that does not compile is a BUILD_FAIL with the first message, and the
// worker lives on.
func TestCompileErrorNamesTheLine(t *testing.T) {
	w := startWorker(t, true)
	for _, c := range []struct{ file, want string }{
		{"testdata/worker/typo.cu", "testdata/worker/typo.cu:6: "},
		{"testdata/worker/hidden_launch.cu", "testdata/worker/hidden_launch.cu:3: "},
		{"testdata/worker/unregistered.cu", "triad_kernels"},
		{"testdata/worker/unresolved.cu", "nowhere_defined"},
	} {
		file, err := filepath.Abs(c.file)
		if err != nil {
			t.Fatal(err)
		}
		reply := w.load(file)
		if len(reply.Failed) != 1 || reply.Failed[0].Status != op.StatusBuildFail ||
			!strings.Contains(reply.Failed[0].Message, c.want) {
			t.Errorf("%s: %+v, want a message with %q", c.file, reply, c.want)
		}
	}
	if reply := w.load("scale"); len(reply.Failed) > 0 {
		t.Errorf("load after failures: %+v", reply)
	}
}

func TestBadRequests(t *testing.T) {
	w := startWorker(t, true)
	w.load("scale")
	good := func() backend.RunArgs { return w.scale("right", 4, []string{"y"}, fourOrders[0]) }
	for _, c := range []struct {
		name, want string
		spoil      func(*backend.RunArgs)
	}{
		{
			"unknown implementation", "nothing loaded",
			func(a *backend.RunArgs) { a.Implementation = "cuda/none" },
		},
		{"other dtype", "nothing loaded", func(a *backend.RunArgs) { a.DType = "fp16" }},
		{"outside the memory", "outside", func(a *backend.RunArgs) { a.Inputs[0].Offset = testMemory - 1 }},
		{"negative offset", "outside", func(a *backend.RunArgs) { a.Inputs[0].Offset = -4 }},
		{"overflow", "outside", func(a *backend.RunArgs) { a.Inputs[0].Offset = math.MaxInt64 }},
		{"view past its storage", "last element", func(a *backend.RunArgs) { a.Inputs[0].Start = 1 }},
		{
			"stride past its storage", "fit",
			func(a *backend.RunArgs) { a.Inputs[0].Stride = []int64{math.MaxInt64 / 2} },
		},
		{"changed memory", "crc32", func(a *backend.RunArgs) { a.Inputs[0].CRC32++ }},
		{"no launch", "without a launch", func(a *backend.RunArgs) { a.Launches = nil }},
		{"poison", "poison", func(a *backend.RunArgs) { a.Launches[0].Poison = "c" }},
		{"order", "schedule order", func(a *backend.RunArgs) { a.Launches[0].Order = "sideways" }},
		{
			"strided output", "contiguous",
			func(a *backend.RunArgs) { a.Launches[0].Outputs[0].Stride = []int64{0} },
		},
	} {
		args := good()
		c.spoil(&args)
		if _, err := w.run(args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
	if _, err := w.run(good()); err != nil {
		t.Errorf("a good request after bad ones: %v", err)
	}
}

// TestNoCompilerIsUnavailable: without a compiler there is nothing to judge, and the reply says how to get
// one.
func TestNoCompilerIsUnavailable(t *testing.T) {
	t.Setenv("CXX", "")
	t.Setenv("PATH", t.TempDir())
	s := &server{device: NewEmulator(testSources(), t.TempDir()), specs: testSpec}
	reply, err := s.load(t.Context(), "scale")
	if err != nil || len(reply.Failed) != 1 || reply.Failed[0].Status != op.StatusUnavailable ||
		!strings.Contains(reply.Failed[0].Message, "install g++") {
		t.Errorf("%+v, %v", reply, err)
	}
}

// TestSecondEmulatorIsRefused: kernels would run in the first one, in that one's last order.
func TestSecondEmulatorIsRefused(t *testing.T) {
	cudatest.NeedCompiler(t)
	first := NewEmulator(testSources(), testCache)
	if _, err := first.Library(t.Context(), "scale"); err != nil {
		t.Fatal(err)
	}
	second := NewEmulator(testSources(), cacheWithEmulator(t))
	if _, err := second.Library(t.Context(), "scale"); err == nil ||
		!strings.Contains(err.Error(), "another build") {
		t.Errorf("a second emulator: %v", err)
	}
}

// cacheWithEmulator returns a new cache that holds only the emulator, copied since it takes seconds to
// compile.
func cacheWithEmulator(t *testing.T) string {
	t.Helper()
	b := build.Builder{Sources: testSources(), Cache: testCache, Compiler: cudatest.NeedCompiler(t)}
	library, err := b.Emulator(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	built, fresh := filepath.Dir(library.Path), t.TempDir()
	if err := os.CopyFS(filepath.Join(fresh, filepath.Base(built)), os.DirFS(built)); err != nil {
		t.Fatal(err)
	}
	return fresh
}

// TestWorkersBuildOnce: two processes that need the same library at once get it from one build.
func TestWorkersBuildOnce(t *testing.T) {
	fresh := cacheWithEmulator(t)
	defer func(shared string) { testCache = shared }(testCache)
	testCache = fresh
	first, second := startWorker(t, false), startWorker(t, false)
	replies := make(chan backend.LoadReply, 2)
	for _, w := range []*worker{first, second} {
		go func() {
			var reply backend.LoadReply
			if err := w.call(backend.Request{Do: backend.DoLoad, Load: &backend.LoadArgs{Op: "scale"}},
				&reply); err != nil {
				t.Error(err)
			}
			replies <- reply
		}()
	}
	a, b := <-replies, <-replies
	if a.Build == nil || b.Build == nil || a.Build.Cached == b.Build.Cached {
		t.Errorf("builds %+v and %+v, want one from the cache of the other", a.Build, b.Build)
	}
}

func TestByeEndsTheWorker(t *testing.T) {
	w := startWorker(t, true)
	w.must(backend.Request{Do: backend.DoProbe}, &struct{}{})
	w.must(backend.Request{Do: backend.DoBye}, &struct{}{})
	err := <-w.ended
	w.ended <- err
	if err != nil {
		t.Errorf("serve ended with %v", err)
	}
}
