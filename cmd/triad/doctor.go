package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"triad/cuda"
	"triad/internal/backend"
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
				return report.Doctor(a.out, a.style(), findings)
			}
			for _, f := range findings {
				if err := report.JSON(a.out, f); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	cmd.Flags().StringArrayVar(&limits, "limit", nil, "a deadline, NAME=DURATION, as compare takes it")
	return cmd
}

// examine looks at everything triad may use. It starts no worker, builds and fetches nothing.
func (a *app) examine(ctx context.Context, limits worker.Limits) ([]report.Finding, error) {
	cache, err := a.cacheDir()
	if err != nil {
		return nil, err
	}
	environment, err := a.environment(environmentFlags{offline: true}, false)
	if err != nil {
		return nil, err
	}
	findings := []report.Finding{{Subject: "triad", State: "ok", Detail: version + " " + commit()}}
	findings = append(findings, hostCompiler(ctx), gpu(), a.nvcc(ctx, environment))
	findings = append(findings, python(ctx, environment)...)
	data, err := a.dataDir()
	if err != nil {
		return nil, err
	}
	findings = append(findings,
		folder("database", filepath.Join(data, "results.db")),
		folder("kernel cache", cache))
	for _, name := range worker.LimitNames() {
		findings = append(findings, report.Finding{Subject: "limit " + name, State: "note", Detail: limits.Value(name).String()})
	}
	return findings, nil
}

func hostCompiler(ctx context.Context) report.Finding {
	c, err := cuda.FindHostCompiler(ctx)
	if err != nil {
		return report.Finding{Subject: "C++ compiler", State: "missing", Detail: err.Error(), Remedy: "Debian and Ubuntu: apt install g++"}
	}
	return report.Finding{Subject: "C++ compiler", State: "ok", Detail: c.Version + " at " + c.Path}
}

// gpu says whether the kernel's side of an NVIDIA driver is here; asking the driver itself is a GPU worker's work.
func gpu() report.Finding {
	if _, err := os.Stat("/proc/driver/nvidia/version"); err != nil {
		return report.Finding{Subject: "GPU", State: "note", Detail: "none found: CUDA kernels run in the emulator, Triton in its interpreter, torch on the CPU"}
	}
	return report.Finding{Subject: "GPU", State: "note", Detail: "an NVIDIA driver is here; this build judges on the CPU"}
}

func (a *app) nvcc(ctx context.Context, e *pybridge.Environment) report.Finding {
	if path, err := e.NVCC(ctx, false); err == nil {
		return report.Finding{Subject: "nvcc", State: "ok", Detail: path}
	}
	return report.Finding{Subject: "nvcc", State: "note", Detail: "not fetched: it is needed for a GPU and for the tests alone", Remedy: "triad setup --nvcc"}
}

func python(ctx context.Context, e *pybridge.Environment) []report.Finding {
	i, err := e.Find(ctx)
	var missing *backend.Unavailable
	if errors.As(err, &missing) {
		return []report.Finding{{Subject: "Python", State: "missing", Detail: missing.Sentence, Remedy: "triad setup"}}
	}
	if err != nil {
		return []report.Finding{{Subject: "Python", State: "broken", Detail: err.Error()}}
	}
	f := report.Finding{Subject: "Python", State: "ok", Detail: fmt.Sprintf("%s at %s (%s)", i.Version, i.Path, i.Source)}
	if i.Outside {
		f.Detail += ", outside the tested range"
	}
	packages := report.Finding{Subject: "packages", State: "ok", Detail: fmt.Sprintf("torch %s, triton %s, numpy %s", i.Torch, i.Triton, i.NumPy)}
	return []report.Finding{f, packages, folder("Python environments", e.DataDir)}
}

// folder says how large something of ours is.
func folder(subject, path string) report.Finding {
	if _, err := os.Stat(path); err != nil {
		return report.Finding{Subject: subject, State: "note", Detail: path + " (not there yet)"}
	}
	return report.Finding{Subject: subject, State: "note", Detail: fmt.Sprintf("%s (%s)", path, size(pybridge.Size(path)))}
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
