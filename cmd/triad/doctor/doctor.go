// Package doctor is the verb doctor.
package doctor

import (
	"context"

	"github.com/spf13/cobra"

	"triad"
	"triad/cuda/gpuworker"
	"triad/internal/backend"
	"triad/internal/doctor"
	"triad/internal/host"
	"triad/internal/machine"
	"triad/internal/report"
	"triad/internal/worker"
)

// Options holds the flags of doctor.
type Options struct {
	asJSON bool
	limits []string
}

// verb runs triad doctor.
type verb struct{ *machine.Workers }

// New returns the command triad doctor; run replaces what it does, nil: it examines this machine.
func New(w *machine.Workers, run func(context.Context, *Options) error) *cobra.Command {
	var o Options
	if run == nil {
		run = (&verb{w}).doctor
	}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "what was found on this machine, what is missing, how to get it",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), &o) },
	}
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "one JSON object a line")
	cmd.Flags().StringArrayVar(&o.limits, "limit", nil, "a deadline, NAME=DURATION, as compare takes it")
	return cmd
}

// doctor prints what it found.
func (a *verb) doctor(ctx context.Context, o *Options) error {
	options, err := machine.Options(o.limits)
	if err != nil {
		return err
	}
	findings, err := a.examine(ctx, options.Limits)
	if err != nil {
		return err
	}
	if !o.asJSON {
		return report.Doctor(a.Out, a.Style(), findings)
	}
	return report.JSONLines(a.Out, findings)
}

// examine checks everything that triad may use. It fetches nothing, and starts workers only to compare their
// clocks on a GPU.
func (a *verb) examine(ctx context.Context, limits worker.Limits) ([]report.Finding, error) {
	cache, err := a.CacheDir()
	if err != nil {
		return nil, err
	}
	environment, err := a.Environment(machine.EnvironmentFlags{Offline: true}, a.DriverHere())
	if err != nil {
		return nil, err
	}
	findings := []report.Finding{{
		Subject: "triad", State: "ok",
		Detail: triad.Version + " " + host.Commit(ctx),
	}}
	findings = append(findings, doctor.HostCompiler(ctx))
	findings = append(findings, a.gpuFindings(ctx)...)
	findings = append(findings, a.nvcc(ctx))
	findings = append(findings, doctor.Python(ctx, environment)...)
	if a.DriverHere() {
		findings = append(findings, a.clockFindings(ctx)...)
	}
	database, err := a.DatabasePath("")
	if err != nil {
		return nil, err
	}
	findings = append(findings,
		doctor.Folder("database", database),
		doctor.Folder("kernel cache", cache))
	for _, name := range worker.LimitNames() {
		findings = append(findings, report.Finding{
			Subject: "limit " + name, State: "note",
			Detail: limits.Value(name).String(),
		})
	}
	return findings, nil
}

// gpuFindings asks the NVIDIA driver for its GPUs through triad-cuda, if both are installed; it builds
// nothing.
func (a *verb) gpuFindings(ctx context.Context) []report.Finding {
	if !a.DriverHere() {
		return []report.Finding{{
			Subject: "GPU", State: "note",
			Detail: "none found: CUDA kernels run in the emulator, Triton in its interpreter, torch on " +
				"the CPU",
		}}
	}
	places, err := a.WorkerPlaces(machine.EnvironmentFlags{Offline: true})
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
	facts, err := gpuworker.Ask(ctx, path, a.CompilerEnv())
	if err != nil {
		return []report.Finding{{
			Subject: "GPU", State: "missing", Detail: err.Error(),
			Remedy: "--device cpu judges the same kernels in the emulator",
		}}
	}
	return doctor.GpusFound(a.Files, path, facts)
}

func (a *verb) nvcc(ctx context.Context) report.Finding {
	if found, err := a.FindNVCC(ctx, machine.EnvironmentFlags{Offline: true}, false); err == nil {
		return report.Finding{Subject: "nvcc", State: "ok", Detail: found.Version + " at " + found.Path}
	}
	return report.Finding{
		Subject: "nvcc", State: "note",
		Detail: "not fetched: it is needed for a GPU and for the tests alone", Remedy: "triad setup --nvcc",
	}
}
