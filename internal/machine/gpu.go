package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"triad/cuda/build"
	"triad/cuda/gpuworker"
	"triad/internal/backend"
	"triad/internal/console"
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/session"
	"triad/internal/worker"
)

// GPU is the GPU that a command uses.
type GPU struct {
	gpuworker.GPU
	worker  string // the path of triad-cuda
	release string // of the driver
	visible string // CUDA_VISIBLE_DEVICES of the workers, "" if it is unchanged
	Count   int    // of the visible GPUs
	// the other one of two that calls are spread over; nil: none
	second *gpuworker.GPU
	// each implementation runs in its own process, side by side with the others: nothing is timed
	Apart bool
	// Wrap makes the command of the worker run under a tool; nil: it runs alone.
	Wrap       func(worker.Command) worker.Command
	WrapPython func(worker.Command) worker.Command // the same for Python's workers
}

// DeviceFlags holds the flags that choose what judges.
type DeviceFlags struct {
	Device string
	GPU    int // a number among the visible GPUs, -1 for none
}

// ChooseGPU finds the GPU that the flags choose: nil for the CPU. "auto" takes a usable GPU and says why if
// there is a driver but no such GPU; "gpu" insists.
func (a *Workers) ChooseGPU(ctx context.Context, f *DeviceFlags, e EnvironmentFlags) (*GPU, error) {
	if f.Device == "cpu" {
		return nil, nil
	}
	insist := f.Device == "gpu" || f.GPU >= 0
	switch here := a.DriverHere(); { // checked first: what uses a GPU takes minutes to fetch and to build
	case !here && insist:
		return nil, session.Fail(session.ExitNothing, errors.New("--device gpu: there is no NVIDIA driver "+
			"on this machine (neither /dev/nvidiactl nor /dev/dxg is here); "+
			"--device cpu judges the same kernels in the emulator"))
	case !here:
		return nil, nil
	}
	g, err := a.findGPU(ctx, f.GPU, e)
	var missing *backend.Unavailable
	switch {
	case err == nil:
		a.remark(g)
		return g, nil
	case !errors.As(err, &missing):
		return nil, err
	case insist:
		return nil, session.Fail(session.ExitNothing, fmt.Errorf("--device gpu: %s; --device cpu judges "+
			"the same kernels in the emulator", missing.Sentence))
	}
	fmt.Fprintf(a.Err, "triad: the GPU is not used: %s; kernels run on the CPU\n", missing.Sentence)
	return nil, nil
}

// remark prints what a reader of the results must know about a GPU.
func (a *Workers) remark(g *GPU) {
	if g.Major != judge.MeasuredMajor || g.Minor != judge.MeasuredMinor {
		fmt.Fprintf(a.Err, "triad: the constants of the judge were measured on compute capability %d.%d; "+
			"this GPU, %s, has %d.%d\n",
			judge.MeasuredMajor, judge.MeasuredMinor, g.Name, g.Major, g.Minor)
	}
}

// findGPU finds the worker and asks it for the GPU with this number among the visible ones; -1 is the first.
func (a *Workers) findGPU(ctx context.Context, number int, f EnvironmentFlags) (*GPU, error) {
	places, err := a.WorkerPlaces(f)
	if err != nil {
		return nil, err
	}
	path, err := places.Find(ctx)
	if err != nil {
		return nil, err
	}
	facts, err := gpuworker.Ask(ctx, path, a.CompilerEnv())
	if err != nil {
		return nil, err
	}
	if own := build.SourcesHash(a.Files); facts.Sources != own {
		return nil, &backend.Unavailable{Sentence: path +
			" carries other kernels than this triad: build both from one version"}
	}
	g := &GPU{worker: path, release: facts.Release, Count: len(facts.GPUs)}
	if number >= len(facts.GPUs) {
		return nil, console.Usage("--gpu %d: the visible GPUs have the numbers 0 to %d", number,
			len(facts.GPUs)-1)
	}
	g.GPU = facts.GPUs[max(number, 0)]
	if a.Spread && number < 0 && len(facts.GPUs) > 1 {
		g.second = &facts.GPUs[1]
	}
	if number >= 0 {
		g.visible = a.VisibleAs(number)
	}
	return g, nil
}

// WorkerPlaces returns where to look for the worker for a GPU.
func (a *Workers) WorkerPlaces(f EnvironmentFlags) (gpuworker.Places, error) {
	cache, err := a.CacheDir()
	if err != nil {
		return gpuworker.Places{}, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return gpuworker.Places{}, fmt.Errorf("find the working directory: %w", err)
	}
	return gpuworker.Places{
		OwnFolder: a.OwnFolder(), Cache: filepath.Join(cache, "cuda"), Dir: dir, Log: console.Raw(a.Err),
		Headers: func(ctx context.Context) (string, error) { return a.Headers(ctx, f) },
	}, nil
}

// Headers returns the folder with the toolkit's cuda.h: that of the nvcc that is found, else one fetched with
// it.
func (a *Workers) Headers(ctx context.Context, f EnvironmentFlags) (string, error) {
	compiler, err := a.FindNVCC(ctx, f, true)
	if err != nil {
		return "", err
	}
	folder := filepath.Join(filepath.Dir(filepath.Dir(compiler.Path)), "include")
	if _, err := os.Stat(filepath.Join(folder, "cuda.h")); err != nil {
		return "", &backend.Unavailable{Sentence: fmt.Sprintf("%s has no cuda.h beside it (%s)",
			compiler.Path, folder)}
	}
	return folder, nil
}

// FindNVCC finds nvcc on this machine or in the private environment, and fetches it if it is missing and
// fetch is set.
func (a *Workers) FindNVCC(ctx context.Context, f EnvironmentFlags, fetch bool) (build.NVCC, error) {
	e, err := a.Environment(f, true)
	if err != nil {
		return build.NVCC{}, err
	}
	folder, err := e.NVCCFolder()
	if err != nil {
		return build.NVCC{}, err
	}
	found, err := build.FindNVCC(ctx, folder)
	var missing *backend.Unavailable
	if err == nil || !fetch || !errors.As(err, &missing) {
		return found, err
	}
	if _, err := e.NVCC(ctx, true); err != nil {
		return build.NVCC{}, err
	}
	return build.FindNVCC(ctx, folder)
}

// NVCCAccepts returns a function that asks nvcc, if it is on this machine, whether it compiles a file, once
// each.
func (a *Workers) NVCCAccepts(e EnvironmentFlags) func(ctx context.Context, file string,
	flags []string) bool {
	var mu sync.Mutex
	accepted := map[string]bool{}
	return func(ctx context.Context, file string, flags []string) bool {
		mu.Lock()
		defer mu.Unlock()
		key := file + " " + build.JoinFlags(flags)
		if _, known := accepted[key]; !known {
			nvcc, err := a.FindNVCC(ctx, e, false)
			accepted[key] = err == nil && nvcc.Accepts(ctx, file, flags)
		}
		return accepted[key]
	}
}

// GPUBackend runs CUDA kernels in triad-cuda: one process for all implementations, replaced after anything
// but a plain return.
func (a *Workers) GPUBackend(g *GPU, cache string, f EnvironmentFlags,
	options worker.Options,
) *worker.Adapter {
	shipped := filepath.Join(filepath.Dir(g.worker), "kernels")
	kernels := &worker.Adapter{
		BackendName: "cuda",
		FamilyNames: []string{"cuda"},
		GPU:         true,
		Options:     options,
		Explain:     gpuworker.Explain,
		Command: func(ctx context.Context) (worker.Command, error) {
			e, err := a.Environment(f, true)
			if err != nil {
				return worker.Command{}, err
			}
			folder, err := e.NVCCFolder()
			if err != nil {
				return worker.Command{}, err
			}
			libraries := build.GPULibraries{
				Sources: a.Files, Shipped: shipped, Major: g.Major, Minor: g.Minor,
			}
			if !libraries.Fits() {
				var missing *backend.Unavailable
				if _, err := a.FindNVCC(ctx, f, true); err != nil && !errors.As(err, &missing) {
					// without an environment the worker says which library it cannot build
					return worker.Command{}, err
				}
			}
			// the folders in which a kernel that calls one of NVIDIA's libraries looks for it
			folders := strings.Join(e.CUDALibraries(ctx), string(filepath.ListSeparator))
			command := worker.Command{
				Path: g.worker, Env: append(a.With(g).CompilerEnv(), "TRIAD_CUDA_LIBRARIES="+folders),
				Args: []string{
					"--cache", filepath.Join(cache, "cuda"), "--kernels", shipped, "--environment",
					folder, "--gpus", strconv.Itoa(g.devices()),
				},
			}
			return command, nil
		},
		Slot: func(implementation string) string {
			if g.Apart {
				return implementation
			}
			return "gpu"
		},
	}
	RunsUnder(kernels, g.Wrap)
	return kernels
}

// devices returns the number of GPUs that a worker may use.
func (g *GPU) devices() int {
	if g.second != nil {
		return 2
	}
	return 1
}

// With returns an app whose environment shows only one GPU.
func (a *Workers) With(g *GPU) *Workers {
	if g == nil || g.visible == "" {
		return a
	}
	narrow, shell := *a, *a.Console
	narrow.Console = &shell
	narrow.Getenv = func(name string) string {
		if name == "CUDA_VISIBLE_DEVICES" {
			return g.visible
		}
		return a.Getenv(name)
	}
	narrow.Lookup = func(name string) (string, bool) { v := narrow.Getenv(name); return v, v != "" }
	return &narrow
}

// Apply sets the options of a request to the GPU's; without a GPU they are unchanged.
func (g *GPU) Apply(o *op.Options) {
	if g != nil {
		o.Device, o.Memory = "gpu", g.MemoryBytes
	}
}

// Describe adds the GPU to what is known of a machine.
func (g *GPU) Describe(m record.Machine) record.Machine {
	if g != nil {
		m.GPU, m.GPUMemoryBytes, m.GPUDriver = g.Name, g.MemoryBytes, g.release
	}
	return m
}

// NvidiaDriver reports whether the kernel part of an NVIDIA driver is installed: its device files, or those
// of the Windows Subsystem for Linux.
func NvidiaDriver() bool {
	for _, file := range []string{
		"/dev/nvidiactl", "/dev/nvidia0", "/proc/driver/nvidia/version",
		"/dev/dxg",
	} {
		if _, err := os.Stat(file); err == nil {
			return true
		}
	}
	return false
}

// ownFolder returns the folder of triad's executable, "" if it is not known.
func ownFolder() string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	return filepath.Dir(self)
}

// VisibleAs returns the CUDA_VISIBLE_DEVICES of a process that sees only one of the visible GPUs.
func (a *Workers) VisibleAs(number int) string {
	if some := a.Getenv("CUDA_VISIBLE_DEVICES"); some != "" {
		return strings.TrimSpace(strings.Split(some, ",")[number])
	}
	return strconv.Itoa(number)
}
