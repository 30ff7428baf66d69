package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"triad"
	"triad/cuda/build"
	"triad/cuda/gpuworker"
	"triad/cuda/serve"
	"triad/internal/backend"
	"triad/internal/op"
)

// The environment variables with which a script configures the fake GPU; only these tests read them.
const (
	// a folder with triad-cuda and nvcc; if set, triad sees the fake GPU
	fakeFolder = "TRIAD_TEST_GPU"
	fakePython = "TRIAD_TEST_GPU_PYTHON" // the folder of fake_cuda.py
	// the GPU's memory in bytes: small, so that the emulator is quick
	fakeMemory = "TRIAD_TEST_GPU_MEMORY"
	fakeFree   = "TRIAD_TEST_GPU_FREE" // how much of it is free; a ceiling has room unless this is set
	fakeDoes   = "TRIAD_TEST_GPU_DOES" // its misbehaviour: "hangs cuda/tiled", see behaviour
)

// fakeCapability lists the compute capabilities of the fake GPUs: the judge was made for the first, the
// second is older.
var fakeCapability = [][2]int{{9, 0}, {8, 6}}

// behaviour is a misbehaviour of the fake GPU, and the implementation that it affects; "": all.
type behaviour struct{ does, whom string }

func behaviours(getenv func(string) string) []behaviour {
	var all []behaviour
	for _, text := range strings.Split(getenv(fakeDoes), ",") {
		does, whom, _ := strings.Cut(strings.TrimSpace(text), " ")
		all = append(all, behaviour{does, whom})
	}
	return all
}

// fakeGPU is the emulator behind the interface of a GPU: memory of its own size, no schedule orders, CUDA's
// words for the emulator's findings, and a clock. No part of it is in a released binary.
type fakeGPU struct {
	serve.Device
	free   int64
	sizes  map[uintptr]int64
	filled int // how often memory was filled
	does   []behaviour
	tool   string                 // of compute-sanitizer
	timers map[uintptr]*fakeTimer // by their streams
	opened int                    // timers
	gpus   int                    // that calls are spread over
}

var (
	_ serve.Clocked = (*fakeGPU)(nil)
	_ serve.Spread  = (*fakeGPU)(nil)
)

// Spread returns the number of GPUs that the worker was started with.
func (g *fakeGPU) Spread() (int, string) {
	return g.gpus, "this run has one of 2, and --gpus 0,1 gives it two"
}

// AllocSpread allocates memory of the one that there is.
func (g *fakeGPU) AllocSpread(name string, bytes, _ int64) (serve.Buffer, error) {
	return g.Alloc(name, bytes)
}

func (g *fakeGPU) behaves(does, whom string) bool {
	for _, b := range g.does {
		if b.does == does && (b.whom == whom || b.whom == "") {
			return true
		}
	}
	return false
}

func (g *fakeGPU) Name() string   { return "gpu" }
func (g *fakeGPU) Unfilled() bool { return g.tool == "initcheck" }

func (g *fakeGPU) Versions() map[string]string {
	return map[string]string{"gpu": "Fake GPU", "cuda-driver": "13.0"}
}

func (g *fakeGPU) Library(ctx context.Context, file string) (build.Library, error) {
	if file == build.RuntimeName {
		if g.behaves("clockless", "") {
			return build.Library{}, &backend.Unavailable{Sentence: "the runtime library is not here"}
		}
		return build.Library{Path: "the fake runtime library"}, nil
	}
	return g.Device.Library(ctx, file)
}

// Alloc allocates memory of the emulator, up to the size of the GPU's. The buffers of a ceiling, whose
// contents nobody reads, take no time.
func (g *fakeGPU) Alloc(name string, bytes int64) (serve.Buffer, error) {
	if bytes > g.free {
		return serve.Buffer{}, &serve.OutOfMemory{Message: fmt.Sprintf("no room on the GPU for %s, %d "+
			"bytes: "+
			"%d are free", name, bytes, g.free)}
	}
	var b serve.Buffer
	var err error
	if strings.HasPrefix(name, "ceiling ") {
		var memory []byte
		memory, err = syscall.Mmap(-1, 0, int(bytes), syscall.PROT_READ|syscall.PROT_WRITE,
			syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
		if err == nil {
			b = serve.Buffer{
				Name: name, Pointer: uintptr(unsafe.Pointer(unsafe.SliceData(memory))),
				Bytes: bytes,
			}
		}
	} else {
		b, err = g.Device.Alloc(name, bytes)
	}
	if err == nil {
		g.free -= bytes
		g.sizes[b.Pointer] = bytes
	}
	return b, err
}

func (g *fakeGPU) Free(b serve.Buffer) *backend.GuardReport {
	g.free += g.sizes[b.Pointer]
	delete(g.sizes, b.Pointer)
	if strings.HasPrefix(b.Name, "ceiling ") {
		return nil
	}
	report := g.Device.Free(b)
	if g.tool != "" {
		return nil // under a tool there are no guards
	}
	return report
}

func (g *fakeGPU) Fill(b serve.Buffer, pattern []byte) error {
	g.filled++
	if strings.HasPrefix(b.Name, "ceiling ") {
		return nil
	}
	return g.Device.Fill(b, pattern)
}

func (g *fakeGPU) Copy(to, from serve.Buffer) error {
	bytes := make([]byte, from.Bytes)
	if err := g.CopyOut(bytes, from); err != nil {
		return err
	}
	return g.CopyIn(to, bytes)
}

// Launch runs a kernel in the emulator. A finding without a name in CUDA becomes an illegal address, after
// which nothing works.
func (g *fakeGPU) Launch(c *serve.Call, order string) (serve.Finding, error) {
	if order != "" {
		return serve.Finding{}, fmt.Errorf("schedule order %q: a GPU has none", order)
	}
	if g.behaves("dies", c.Implementation()) {
		os.Exit(7)
	}
	f, err := g.Device.Launch(c, "")
	switch f.Status {
	case op.StatusOutOfBounds, op.StatusDivergent, op.StatusDeadlock:
		f = serve.Finding{
			Status:  op.StatusCrash,
			Message: "an illegal memory access was encountered (CUDA error 700)", Dirty: true,
		}
	}
	return f, err
}

func (g *fakeGPU) Probe() error {
	if g.behaves("sick", "") {
		return fmt.Errorf("probe the GPU: 3 is not 4")
	}
	return g.Device.Probe()
}

func (g *fakeGPU) Clock(string) (serve.Clock, error) { return &fakeClock{g}, nil }

// visibleFakes returns the numbers of the fake GPUs that CUDA_VISIBLE_DEVICES shows, all of them if it is not
// set.
func visibleFakes() (all []int) {
	text, set := os.LookupEnv("CUDA_VISIBLE_DEVICES")
	for i := range fakeCapability {
		if !set || slices.Contains(strings.Split(text, ","), strconv.Itoa(i)) {
			all = append(all, i)
		}
	}
	return all
}

// serveFakeGPU is the triad-cuda of the fake GPU, as triad starts it.
func serveFakeGPU() {
	facts := flag.Bool("facts", false, "")
	cache := flag.String("cache", "", "")
	tool := flag.String("under", "", "")
	spec := flag.String("spec", "", "")
	gpus := flag.Int("gpus", 1, "")
	for _, ignored := range []string{"kernels", "environment"} {
		flag.String(ignored, "", "")
	}
	_ = flag.CommandLine.Parse(os.Args[1:])
	number := func(name string, otherwise int64) int64 {
		if n, err := strconv.ParseInt(os.Getenv(name), 10, 64); err == nil {
			return n
		}
		return otherwise
	}
	memory := number(fakeMemory, 4<<30)
	var files fs.FS = triad.Files
	if dir := os.Getenv("TRIAD_TEST_OVERLAY"); dir != "" {
		files = overlay{os.DirFS(dir), triad.Files}
	}
	if *facts {
		f := gpuworker.Facts{CUDA: 13000, Release: "580.95.05", Sources: build.SourcesHash(files)}
		for i, c := range fakeCapability {
			if !slices.Contains(visibleFakes(), i) {
				continue
			}
			f.GPUs = append(f.GPUs, gpuworker.GPU{
				Name: fmt.Sprintf("Fake GPU %d", i), MemoryBytes: memory,
				Major: c[0], Minor: c[1], PCI: fmt.Sprintf("00000000:%02X:00.0", 0x1b+i),
			})
		}
		_ = json.NewEncoder(os.Stdout).Encode(f)
		return
	}
	g := &fakeGPU{
		Device: serve.Stalling(serve.NewEmulator(files, *cache), 10*time.Second),
		free:   number(fakeFree, 4<<30),
		sizes:  map[uintptr]int64{},
		does:   behaviours(os.Getenv), tool: *tool, timers: map[uintptr]*fakeTimer{}, gpus: *gpus,
	}
	if err := serve.Catalog(context.Background(), g, *spec, os.NewFile(3, "connection"),
		os.NewFile(4, "memory")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
