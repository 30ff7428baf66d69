package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"triad/cmd/triad/console"
	"triad/cuda"
	"triad/internal/backend"
	"triad/internal/host"
	"triad/internal/sandbox"
	"triad/internal/session"
	"triad/internal/worker"
	"triad/pybridge"
)

// workerCommand is the command with which triad starts itself again as the process that runs CUDA kernels on
// a CPU: a kernel that writes anywhere, exits or hangs then takes nothing else with it.
func (a *app) workerCommand() *cobra.Command {
	var cache, spec string
	var stall time.Duration
	cmd := &cobra.Command{
		Use:       "worker cuda",
		Short:     "run CUDA kernels in the emulator; started by triad itself",
		Hidden:    true,
		ValidArgs: []string{"cuda"},
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			conn, memory := os.NewFile(3, "conn"), os.NewFile(4, "memory")
			if conn == nil || memory == nil || cache == "" {
				return console.Usage(
					"worker cuda is started by triad, not by hand: it needs a socket, shared " +
						"memory and --cache")
			}
			if err := sandbox.LimitSelf(os.Getenv); err != nil {
				return session.Fail(session.ExitBad, fmt.Errorf("worker cuda: %w", err))
			}
			if err := cuda.ServeCatalog(cmd.Context(), cuda.Stalling(cuda.NewEmulator(a.Files, cache), stall),
				spec, conn, memory); err != nil {
				return session.Fail(session.ExitBad, fmt.Errorf("worker cuda: %w", err))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&cache, "cache", "", "folder of the built libraries")
	cmd.Flags().DurationVar(&stall, "stall", 0, "how long no block of a kernel may finish")
	cmd.Flags().StringVar(&spec, "spec", "", "the spec of an operator that is not of the catalog")
	return cmd
}

// backends returns the adapters of this machine: CUDA kernels, on the GPU or, if g is nil, in the emulator,
// and Python.
func (a *app) backends(g *gpu, f environmentFlags, options worker.Options) ([]backend.Backend, error) {
	cache, err := a.CacheDir()
	if err != nil {
		return nil, err
	}
	environment, err := a.with(g).environment(f, g != nil)
	if err != nil {
		return nil, err
	}
	kernels := a.cudaBackend(cache, options)
	if g != nil {
		kernels = a.gpuBackend(g, cache, f, options)
	}
	python := pybridge.Backend(environment, cache, options)
	if g != nil {
		memory := host.UsableMemory(os.DirFS("/"), host.Machine().MemoryBytes)
		python.Spread = spreadOver(runtime.GOMAXPROCS(0), memory, g.MemoryBytes)
		runsUnder(python, g.wrapPython)
	}
	return []backend.Backend{kernels, python}, nil
}

// runsUnder makes the workers of a backend run under a tool, one after the other; nil: without one.
func runsUnder(b *worker.Adapter, wrap func(worker.Command) worker.Command) {
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

func (a *app) cudaBackend(cache string, options worker.Options) *worker.Adapter {
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
			}, Env: append(a.compilerEnv(), emulatorThreads())}, nil
		},
		// A separate process for each implementation: in the emulator a wild write must not reach another's
		// result.
		Slot: func(implementation string) string { return strings.TrimPrefix(implementation, "cuda/") },
	}
}

// emulatorThreads returns the environment variable that gives the emulator as many threads as a container
// leaves cores, since the emulator does not check.
func emulatorThreads() string { return fmt.Sprintf("CUEMU_WORKERS=%d", runtime.GOMAXPROCS(0)) }

// compilerEnv returns the part of our environment that a worker that compiles sees.
func (a *app) compilerEnv() []string {
	var env []string
	for _, name := range append(a.passed, "PATH", "HOME", "LANG", "TMPDIR", "CXX", "CUDA_HOME", "CUDA_PATH",
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
