// Package machine finds the workers of this machine: the Python environment, compilers, a GPU, and the
// sandbox of added files. Verbs that run something embed it.
package machine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"triad/internal/backend"
	"triad/internal/console"
	"triad/internal/host"
	"triad/internal/worker"
	"triad/pybridge"
)

// Workers finds the workers of this machine: Python, compilers, a GPU.
type Workers struct {
	*console.Console
	Passed []string                         // environment variables that workers get besides the usual ones
	Space  func(dir string) (uint64, error) // the free bytes of a file system; nil: asked of the system
	Spread bool                             // a call may be spread over two GPUs
	// DriverHere reports whether an NVIDIA driver is installed, OwnFolder returns the folder of triad's own
	// binary.
	DriverHere func() bool
	OwnFolder  func() string
	Telemetry  func(pci, visible string) Card
	// Rest waits between timed calls; nil: real time passes
	Rest func(ctx context.Context, d time.Duration)
}

// New returns what finds the workers of the machine that triad runs on.
func New(c *console.Console) *Workers {
	return &Workers{Console: c, DriverHere: NvidiaDriver, OwnFolder: ownFolder, Telemetry: nvml}
}

// Options returns the deadlines that --limit sets.
func Options(limits []string) (worker.Options, error) {
	all := worker.DefaultLimits
	for _, text := range limits {
		if err := all.Set(text); err != nil {
			return worker.Options{}, console.Usage("%w", err)
		}
	}
	return worker.Options{Limits: all}, nil
}

// Backends returns the adapters of this machine: CUDA kernels, on the GPU or, if g is nil, in the emulator,
// and Python.
func (a *Workers) Backends(g *GPU, f EnvironmentFlags, options worker.Options) ([]backend.Backend, error) {
	cache, err := a.CacheDir()
	if err != nil {
		return nil, err
	}
	environment, err := a.With(g).Environment(f, g != nil)
	if err != nil {
		return nil, err
	}
	kernels := a.CUDABackend(cache, options)
	if g != nil {
		kernels = a.GPUBackend(g, cache, f, options)
		environment.GPUs = g.devices()
	}
	python := pybridge.Backend(environment, cache, options)
	if g != nil {
		memory := host.UsableMemory(os.DirFS("/"), host.Machine().MemoryBytes)
		python.Spread = spreadOver(runtime.GOMAXPROCS(0), memory, g.MemoryBytes)
		RunsUnder(python, g.WrapPython)
	}
	return []backend.Backend{kernels, python}, nil
}

// RunsUnder makes the workers of a backend run under a tool, one after the other; nil: without one.
func RunsUnder(b *worker.Adapter, wrap func(worker.Command) worker.Command) {
	if wrap == nil {
		return
	}
	start := b.Command
	b.Spread = 0
	b.Command = func(ctx context.Context) (worker.Command, error) {
		c, err := start(ctx)
		if err != nil {
			return c, err
		}
		return wrap(c), nil
	}
}

// The needs of a Python process that judges on a GPU: a core to compile on, and memory for torch on the host
// and for its context on the GPU.
const (
	mostPythons       = 14
	pythonBytes       = 5 << 30
	pythonBytesOnCard = 3 << 30
)

// spreadOver returns the number of Python processes that share the judging on a GPU; 0 if only a few fit.
func spreadOver(cores int, memory, onCard int64) int {
	n := min(mostPythons, int64(cores)-2, memory/pythonBytes, onCard/pythonBytesOnCard)
	if n < 4 {
		return 0
	}
	return int(n)
}

// CUDABackend returns the adapter of the worker that runs CUDA kernels in the emulator; cache is triad's.
func (a *Workers) CUDABackend(cache string, options worker.Options) *worker.Adapter {
	return &worker.Adapter{
		BackendName: "cuda",
		FamilyNames: []string{"cuda"},
		Options:     options,
		Command: func(context.Context) (worker.Command, error) {
			self, err := os.Executable()
			if err != nil {
				return worker.Command{}, fmt.Errorf("find triad's own executable: %w", err)
			}
			return worker.Command{Path: self, Args: []string{
				"worker", "cuda", "--cache", filepath.Join(cache, "cuda"),
				"--stall", options.Limits.Stall.String(),
			}, Env: append(a.CompilerEnv(), emulatorThreads())}, nil
		},
		// A separate process for each implementation: in the emulator a wild write must not reach another's
		// result.
		Slot: func(implementation string) string { return strings.TrimPrefix(implementation, "cuda/") },
	}
}

// emulatorThreads returns the environment variable that gives the emulator as many threads as a container
// leaves cores, since the emulator does not check.
func emulatorThreads() string { return fmt.Sprintf("CUEMU_WORKERS=%d", runtime.GOMAXPROCS(0)) }

// CompilerEnv returns the part of our environment that a worker that compiles sees.
func (a *Workers) CompilerEnv() []string {
	var env []string
	for _, name := range append(a.Passed, "PATH", "HOME", "LANG", "TMPDIR", "CXX", "CUDA_HOME", "CUDA_PATH",
		"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_CACHE_PATH", "LD_LIBRARY_PATH", "CPATH",
		"LIBRARY_PATH",
		"CUEMU_SHARED_BYTES", "CUEMU_CAPABILITY") {
		if v := a.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	if value, set := a.Lookup("CUDA_VISIBLE_DEVICES"); set && value == "" {
		env = append(env, "CUDA_VISIBLE_DEVICES=") // set to nothing, it hides every GPU
	}
	return env
}
