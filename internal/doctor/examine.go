package doctor

import (
	"context"
	"errors"

	"triad"
	"triad/cuda/gpuworker"
	"triad/internal/backend"
	"triad/internal/host"
	"triad/internal/machine"
	"triad/internal/report"
	"triad/internal/timing"
	"triad/internal/worker"
)

// Examine checks everything that triad may use. It fetches nothing, and starts workers only to compare their
// clocks on a GPU.
func Examine(ctx context.Context, a *machine.Workers, limits worker.Limits) ([]report.Finding, error) {
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
	findings = append(findings, HostCompiler(ctx), Sandbox(ctx))
	findings = append(findings, gpuFindings(ctx, a)...)
	findings = append(findings, nvcc(ctx, a))
	findings = append(findings, Python(ctx, environment)...)
	if a.DriverHere() {
		findings = append(findings, clockFindings(ctx, a)...)
	}
	database, err := a.DatabasePath("")
	if err != nil {
		return nil, err
	}
	findings = append(findings,
		Folder("database", database),
		Folder("kernel cache", cache))
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
func gpuFindings(ctx context.Context, a *machine.Workers) []report.Finding {
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
	return GpusFound(a.Files, path, facts)
}

func nvcc(ctx context.Context, a *machine.Workers) report.Finding {
	if found, err := a.FindNVCC(ctx, machine.EnvironmentFlags{Offline: true}, false); err == nil {
		return report.Finding{Subject: "nvcc", State: "ok", Detail: found.Version + " at " + found.Path}
	}
	return report.Finding{
		Subject: "nvcc", State: "note",
		Detail: "not fetched: it is needed for a GPU and for the tests alone", Remedy: "triad setup --nvcc",
	}
}

// clockFindings times one copy through both workers.
func clockFindings(ctx context.Context, a *machine.Workers) []report.Finding {
	const subject = "clocks"
	f, e := machine.DeviceFlags{Device: "gpu", GPU: -1}, machine.EnvironmentFlags{Offline: true}
	options, err := machine.Options(nil)
	if err != nil {
		return []report.Finding{{Subject: subject, State: "broken", Detail: err.Error()}}
	}
	onGPU, err := a.ChooseGPU(ctx, &f, e)
	if err != nil || onGPU == nil {
		return nil // another line gives the reason
	}
	backends, err := a.Backends(onGPU, e, options)
	if err != nil {
		return []report.Finding{{Subject: subject, State: "broken", Detail: err.Error()}}
	}
	clocks, err := timing.Clocks(ctx, backends)
	for _, b := range backends {
		err = errors.Join(err, b.Close())
	}
	if err != nil {
		return []report.Finding{{Subject: subject, State: "broken", Detail: err.Error()}}
	}
	return []report.Finding{ClocksFinding(subject, clocks)}
}
