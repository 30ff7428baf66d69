package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"triad"
	"triad/cuda"
	"triad/cuda/gpuworker"
	"triad/internal/backend"
	"triad/internal/host"
	"triad/internal/report"
	"triad/internal/worker"
	"triad/pybridge"
)

func (a *app) doctorCommand() *cobra.Command {
	var asJSON bool
	var limits []string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "what was found on this machine, what is missing, how to get it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f := caseFlags{limits: limits}
			options, err := f.workerOptions()
			if err != nil {
				return err
			}
			findings, err := a.examine(cmd.Context(), options.Limits)
			if err != nil {
				return err
			}
			if !asJSON {
				return report.Doctor(a.Out, a.Style(), findings)
			}
			return report.JSONLines(a.Out, findings)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	cmd.Flags().StringArrayVar(&limits, "limit", nil, "a deadline, NAME=DURATION, as compare takes it")
	return cmd
}

// examine checks everything that triad may use. It fetches nothing, and starts workers only to compare their
// clocks on a GPU.
func (a *app) examine(ctx context.Context, limits worker.Limits) ([]report.Finding, error) {
	cache, err := a.CacheDir()
	if err != nil {
		return nil, err
	}
	environment, err := a.environment(environmentFlags{offline: true}, a.driverHere())
	if err != nil {
		return nil, err
	}
	findings := []report.Finding{{
		Subject: "triad", State: "ok",
		Detail: triad.Version + " " + host.Commit(ctx),
	}}
	findings = append(findings, hostCompiler(ctx))
	findings = append(findings, a.gpuFindings(ctx)...)
	findings = append(findings, a.nvcc(ctx))
	findings = append(findings, python(ctx, environment)...)
	if a.driverHere() {
		findings = append(findings, a.clockFindings(ctx)...)
	}
	database, err := a.DatabasePath("")
	if err != nil {
		return nil, err
	}
	findings = append(findings,
		folder("database", database),
		folder("kernel cache", cache))
	for _, name := range worker.LimitNames() {
		findings = append(findings, report.Finding{
			Subject: "limit " + name, State: "note",
			Detail: limits.Value(name).String(),
		})
	}
	return findings, nil
}

func hostCompiler(ctx context.Context) report.Finding {
	c, err := cuda.FindHostCompiler(ctx)
	if err != nil {
		return report.Finding{
			Subject: "C++ compiler", State: "missing", Detail: err.Error(),
			Remedy: "Debian and Ubuntu: apt install g++",
		}
	}
	return report.Finding{Subject: "C++ compiler", State: "ok", Detail: c.Version + " at " + c.Path}
}

// gpuFindings asks the NVIDIA driver for its GPUs through triad-cuda, if both are installed; it builds
// nothing.
func (a *app) gpuFindings(ctx context.Context) []report.Finding {
	if !a.driverHere() {
		return []report.Finding{{
			Subject: "GPU", State: "note",
			Detail: "none found: CUDA kernels run in the emulator, Triton in its interpreter, torch on " +
				"the CPU",
		}}
	}
	places, err := a.workerPlaces(environmentFlags{offline: true})
	if err != nil {
		return []report.Finding{{Subject: "GPU", State: "broken", Detail: err.Error()}}
	}
	places.Headers = func(context.Context) (string, error) {
		return "", &backend.Unavailable{Sentence: gpuworker.Binary +
			" is not built yet: triad compare builds it"}
	}
	path, err := places.Find(ctx)
	if err != nil {
		return []report.Finding{{
			Subject: "GPU", State: "missing", Detail: err.Error(),
			Remedy: "triad setup --gpu DIR in triad's own folder",
		}}
	}
	facts, err := gpuworker.Ask(ctx, path, a.compilerEnv())
	if err != nil {
		return []report.Finding{{
			Subject: "GPU", State: "missing", Detail: err.Error(),
			Remedy: "--device cpu judges the same kernels in the emulator",
		}}
	}
	var found []report.Finding
	for i, g := range facts.GPUs {
		f := report.Finding{
			Subject: fmt.Sprintf("GPU %d", i), State: "ok",
			Detail: fmt.Sprintf("%s, %s, compute capability %d.%d, driver %s, CUDA %d.%d", g.Name,
				size(g.MemoryBytes), g.Major, g.Minor, facts.Release, facts.CUDA/1000, facts.CUDA%1000/10),
		}
		if g.Major != measuredMajor || g.Minor != measuredMinor {
			f.Detail += fmt.Sprintf("; the judge's constants were measured on %d.%d", measuredMajor,
				measuredMinor)
		}
		found = append(found, f)
	}
	libraries := cuda.GPULibraries{
		Sources: a.Files, Shipped: filepath.Join(filepath.Dir(path), "kernels"),
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

func (a *app) nvcc(ctx context.Context) report.Finding {
	if found, err := a.findNVCC(ctx, environmentFlags{offline: true}, false); err == nil {
		return report.Finding{Subject: "nvcc", State: "ok", Detail: found.Version + " at " + found.Path}
	}
	return report.Finding{
		Subject: "nvcc", State: "note",
		Detail: "not fetched: it is needed for a GPU and for the tests alone", Remedy: "triad setup --nvcc",
	}
}

func python(ctx context.Context, e *pybridge.Environment) []report.Finding {
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
	if i.Outside {
		f.Detail += ", outside the tested range"
	}
	packages := report.Finding{
		Subject: "packages", State: "ok",
		Detail: fmt.Sprintf("torch %s, triton %s, numpy %s", i.Torch, i.Triton, i.NumPy),
	}
	peers := report.Finding{Subject: "peers", State: "note", Detail: "not installed: Liger-Kernel, " +
		"quack-kernels and flash-attn-4, to compare with on a GPU", Remedy: "triad setup --peers"}
	if dir := e.HavePeers(i); dir != "" {
		peers = report.Finding{Subject: "peers", State: "ok", Detail: dir}
	}
	return []report.Finding{f, packages, peers, folder("Python environments", e.DataDir)}
}

// folder reports the size of one of triad's folders.
func folder(subject, path string) report.Finding {
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
