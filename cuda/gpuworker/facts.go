package gpuworker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"triad/internal/backend"
	"triad/internal/subprocess"
)

// Facts is the output of "triad-cuda --facts": the visible GPUs and their driver.
type Facts struct {
	GPUs    []GPU  `json:"gpus"`
	Release string `json:"release"` // of the driver, "" if unknown
	CUDA    int    `json:"cuda"`    // the version of CUDA that the driver supports: 13000 for 13.0
	Sources string `json:"sources"` // hash of the worker's embedded kernel sources
}

// GPU is one visible GPU.
type GPU struct {
	Name        string `json:"name"`
	MemoryBytes int64  `json:"memory_bytes"`
	Major       int    `json:"major"` // the compute capability
	Minor       int    `json:"minor"`
	// its PCI bus address in NVML's form: 00000000:1B:00.0
	PCI string `json:"pci,omitempty"`
}

// oldestCUDA is the lowest version that the driver must support: the libraries and cu's calls are those of
// CUDA 13.0.
const oldestCUDA = 13000

// oldestRelease is the first release of the driver that supports it.
const oldestRelease = "580"

// patience is the time limit of a driver for listing its GPUs.
const patience = 60 * time.Second

// Ask starts the worker to list the GPUs. env is its whole environment. The error is a *backend.Unavailable
// with the reason why no GPU can be used.
func Ask(ctx context.Context, worker string, env []string) (Facts, error) {
	var log strings.Builder
	out, err := subprocess.Run(ctx, subprocess.Command{
		Path: worker, Args: []string{"--facts"}, Env: env, Stderr: &log,
		Deadline: patience,
	})
	if err != nil {
		if ctx.Err() != nil || errors.Is(err, subprocess.ErrDeadline) {
			return Facts{}, unavailable("the NVIDIA driver did not list its GPUs within %v: the GPU may be "+
				"wedged (nvidia-smi shows it)", patience)
		}
		return Facts{}, silence(worker, err, out+log.String())
	}
	var f Facts
	if err := json.Unmarshal([]byte(out), &f); err != nil {
		return f, unavailable("%s --facts printed %.80q: it belongs to another version of triad", worker, out)
	}
	if f.CUDA < oldestCUDA {
		return f, unavailable("the NVIDIA driver %s speaks CUDA %d.%d, triad needs 13.0: install driver %s "+
			"or newer", f.Release, f.CUDA/1000, f.CUDA%1000/10,
			oldestRelease)
	}
	if len(f.GPUs) == 0 {
		return f, unavailable("the NVIDIA driver shows no GPU (CUDA_VISIBLE_DEVICES may hide it)")
	}
	return f, nil
}

func unavailable(format string, a ...any) error {
	return &backend.Unavailable{Sentence: fmt.Sprintf(format, a...)}
}

// silence explains why a worker ended before it could answer: cu calls the driver before main, and the loader
// needs libcuda before that.
func silence(worker string, err error, printed string) error {
	var exit *exec.ExitError
	switch why := Explain(printed); {
	case why != "":
		return unavailable("%s", why)
	case errors.As(err, &exit):
		return unavailable("%s exited %d; it printed: %s", worker, exit.ExitCode(), lastLines(printed, 3))
	}
	return unavailable("cannot start %s: %v", worker, err)
}

// Explain returns a sentence for the output of a worker that could not use its GPU, "" if the output is about
// something else.
func Explain(printed string) string {
	_, what, refused := strings.Cut(printed, "triad-cuda: use the GPU ")
	switch {
	case strings.Contains(printed, "libcuda.so"):
		return fmt.Sprintf("the NVIDIA driver is not installed: libcuda.so.1 is not found; install driver "+
			"%s or newer", oldestRelease)
	case strings.Contains(printed, "NoDevice"):
		return "the NVIDIA driver finds no GPU (CUDA_VISIBLE_DEVICES may hide it, a container may not have " +
			"been given one; nvidia-smi says whether it fell off the bus)"
	case strings.Contains(printed, "SystemDriverMismatch"), strings.Contains(printed, "UnknownErrorCode:803"):
		return "the NVIDIA driver and its libcuda.so.1 are of different versions: reboot, or install both " +
			"from one release"
	case strings.Contains(printed, "Error in initialization"):
		_, what, _ := strings.Cut(strings.TrimSpace(printed), "details on: ")
		return "the NVIDIA driver does not start: " + what
	case refused && strings.Contains(what, "CUDA error 2,"):
		return "the GPU has no memory left for a worker: nvidia-smi shows which processes hold it; end " +
			"one, or choose another GPU with --gpu N"
	case refused && strings.Contains(what, "CUDA error 46,"):
		return "the GPU belongs to another process alone (its compute mode is exclusive: nvidia-smi -q -d " +
			"COMPUTE): end that one, or choose another GPU with --gpu N"
	case refused && strings.Contains(what, "CUDA error"):
		return "the GPU cannot be used: " + strings.TrimSpace(what) + "; nvidia-smi shows its state"
	}
	return ""
}
