// Package doctor describes what triad uses on this machine, as findings with remedies.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"triad/cuda/build"
	"triad/cuda/gpuworker"
	"triad/internal/backend"
	"triad/internal/judge"
	"triad/internal/report"
	"triad/internal/sandbox"
	"triad/internal/timing"
	"triad/pybridge"
)

// HostCompiler returns the compiler for the emulator, or how to install one.
func HostCompiler(ctx context.Context) report.Finding {
	c, err := build.FindHostCompiler(ctx)
	if err != nil {
		return report.Finding{
			Subject: "C++ compiler", State: "missing", Detail: err.Error(),
			Remedy: "Debian and Ubuntu: apt install g++",
		}
	}
	return report.Finding{Subject: "C++ compiler", State: "ok", Detail: c.Version + " at " + c.Path}
}

// Sandbox returns what strangers' files and the main() of a user's file run in, or how to get it.
func Sandbox(ctx context.Context) report.Finding {
	if _, err := sandbox.Find(ctx); err != nil {
		return report.Finding{Subject: "sandbox", State: "note", Detail: err.Error()}
	}
	return report.Finding{
		Subject: "sandbox", State: "ok",
		Detail: "bubblewrap: strangers' files run in it, and the main() of yours",
	}
}

// Python returns the Python of an environment and the versions of its packages, or how to get one.
func Python(ctx context.Context, e *pybridge.Environment) []report.Finding {
	i, err := e.Find(ctx)
	var missing *backend.Unavailable
	if errors.As(err, &missing) {
		return []report.Finding{{
			Subject: "Python", State: "missing", Detail: missing.Sentence,
			Remedy: "triad setup",
		}}
	}
	if err != nil {
		return []report.Finding{{Subject: "Python", State: "broken", Detail: err.Error()}}
	}
	f := report.Finding{Subject: "Python", State: "ok", Detail: fmt.Sprintf("%s at %s (%s)", i.Version,
		i.Path, i.Source)}
	f = outside(f, i)
	packages := report.Finding{
		Subject: "packages", State: "ok",
		Detail: fmt.Sprintf("torch %s, triton %s, numpy %s", i.Torch, i.Triton, i.NumPy),
	}
	peers := report.Finding{Subject: "peers", State: "note", Detail: "not installed: Liger-Kernel, " +
		"quack-kernels, flash-attn-4, torchao and fla-core, to compare with on a GPU",
		Remedy: "triad setup --peers"}
	if dir := e.HavePeers(i); dir != "" {
		peers = report.Finding{Subject: "peers", State: "ok", Detail: dir}
	}
	cutile := report.Finding{Subject: "cuTile", State: "note", Detail: "not installed: NVIDIA's tile " +
		"language, for rows on a GPU", Remedy: "triad setup --cutile"}
	if dir := e.HaveCutile(i); dir != "" {
		cutile = report.Finding{Subject: "cuTile", State: "ok", Detail: dir}
	}
	return []report.Finding{f, packages, peers, cutile, Folder("Python environments", e.DataDir)}
}

// outside adds to the finding of an interpreter which of its versions is outside the tested range, such as a
// NumPy that Triton's interpreter does not work with, and how to get one inside it.
func outside(f report.Finding, i pybridge.Interpreter) report.Finding {
	if !i.Outside {
		return f
	}
	f.State, f.Detail = "note", f.Detail+", outside the tested range: "+i.Misfit
	f.Remedy = "install the versions that are wanted, or unset TRIAD_PYTHON: triad setup makes an environment"
	return f
}

// Folder reports the size of one of triad's folders.
func Folder(subject, path string) report.Finding {
	if _, err := os.Stat(path); err != nil {
		return report.Finding{Subject: subject, State: "note", Detail: path + " (not there yet)"}
	}
	return report.Finding{Subject: subject, State: "note", Detail: fmt.Sprintf("%s (%s)", path,
		size(pybridge.Size(path)))}
}

func size(bytes int64) string {
	switch {
	case bytes >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(bytes)/1e9)
	case bytes >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
	default:
		return fmt.Sprintf("%.1f kB", float64(bytes)/1e3)
	}
}

// clocksAgree is the relative difference up to which doctor says that two clocks agree.
const clocksAgree = 0.02

// ClocksFinding compares the times, in nanoseconds, that the workers of a GPU take for the same copy.
func ClocksFinding(subject string, clocks []timing.Clock) report.Finding {
	var words []string
	least, most := 0.0, 0.0
	for _, c := range clocks {
		if c.Why != "" {
			return report.Finding{
				Subject: subject, State: "note",
				Detail: fmt.Sprintf("the worker of %s timed no copy: %s", c.Backend, c.Why),
			}
		}
		words = append(words, fmt.Sprintf("%s %.1f us [%.1f, %.1f]", c.Backend, c.MedianNS/1e3,
			c.LowNS/1e3, c.HighNS/1e3))
		if least == 0 || c.MedianNS < least {
			least = c.MedianNS
		}
		most = max(most, c.MedianNS)
	}
	f := report.Finding{
		Subject: subject, State: "ok",
		Detail: fmt.Sprintf("the same copy: %s; they agree within %.1f %%", strings.Join(words, ", "),
			(most/least-1)*100),
	}
	if !(most/least-1 <= clocksAgree) {
		f.State = "broken"
		f.Detail = fmt.Sprintf("the same copy: %s; they differ by %.1f %%, more than %.0f %%",
			strings.Join(words, ", "), (most/least-1)*100, clocksAgree*100)
		f.Remedy = "nothing else may run on the GPU (nvidia-smi shows what does)"
	}
	return f
}

// GpusFound describes the GPUs that the worker at a path reports, and where their kernels come from.
func GpusFound(files fs.FS, path string, facts gpuworker.Facts) []report.Finding {
	var found []report.Finding
	for i, g := range facts.GPUs {
		f := report.Finding{
			Subject: fmt.Sprintf("GPU %d", i), State: "ok",
			Detail: fmt.Sprintf("%s, %s, compute capability %d.%d, driver %s, CUDA %d.%d", g.Name,
				size(g.MemoryBytes), g.Major, g.Minor, facts.Release, facts.CUDA/1000, facts.CUDA%1000/10),
		}
		if g.Major != judge.MeasuredMajor || g.Minor != judge.MeasuredMinor {
			f.Detail += fmt.Sprintf("; the judge's constants were measured on %d.%d", judge.MeasuredMajor,
				judge.MeasuredMinor)
		}
		found = append(found, f)
	}
	libraries := build.GPULibraries{
		Sources: files, Shipped: filepath.Join(filepath.Dir(path), "kernels"),
		Major: facts.GPUs[0].Major, Minor: facts.GPUs[0].Minor,
	}
	kernels := report.Finding{
		Subject: "GPU kernels", State: "ok",
		Detail: "shipped libraries of these sources in " + libraries.Shipped,
	}
	if !libraries.Fits() {
		kernels = report.Finding{
			Subject: "GPU kernels", State: "note",
			Detail: "built by nvcc on first use: " + libraries.Shipped + " has no libraries of these sources",
		}
	}
	return append(found, report.Finding{Subject: gpuworker.Binary, State: "ok", Detail: path}, kernels)
}
