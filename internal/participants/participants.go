// Package participants makes the backends of a run: triad's own implementations, what an operator's folder
// registers, the files that --add names, and the submissions to an imported problem.
package participants

import (
	"context"

	"triad/internal/backend"
	"triad/internal/machine"
	"triad/internal/opfolder"
	"triad/internal/ownfile/added"
	"triad/internal/ownfile/pyparser"
	"triad/internal/ownkernels"
	"triad/internal/panics"
	"triad/internal/run"
	"triad/internal/truth"
	"triad/internal/worker"
	"triad/pybridge"
)

// Source makes the backends of runs on this machine.
type Source struct {
	*machine.Workers
	Reserve *worker.Reserve  // of a watch; nil elsewhere
	Parent  *pybridge.Parent // forks the workers of added Python files
	// Around replaces the backends of a run in tests; nil: they are unchanged.
	Around func([]backend.Backend) []backend.Backend
}

// Participants returns the backends of a run: the implementations of the operator, of the catalog or of a
// folder, and the user's files. refused holds the errors of files that were not understood; the others
// continue. err is an error of the flags, or of the files if none was understood.
func (a *Source) Participants(ctx context.Context, f *added.Flags, request *run.Request, g *machine.GPU,
	e machine.EnvironmentFlags,
	o worker.Options,
) (all []backend.Backend, mine *OwnFiles, refused []error, err error) {
	add := a.AddOwn
	if folder := opfolder.Of(request.Operators); folder != nil {
		if all, err = a.folderBackends(folder, g, e, o); folder.Problem != "" {
			add = a.addSubmissions
		}
	} else {
		all, err = a.Backends(g, e, o)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	if mine, refused, err = add(ctx, f, request, g, e, o); err == nil && mine != nil {
		all = append(append(all, mine), mine.Submissions.Backends...)
	}
	if a.Around != nil {
		all = a.Around(all)
	}
	return all, mine, refused, err
}

// OwnWorkers creates the processes that run a user's kernels, and those that compute the truth of a folder's
// operator.
type OwnWorkers struct {
	ownkernels.Workers
	truth func(folder string) *worker.Adapter
}

// OwnWorkers returns the workers of a GPU, or of the emulator if g is nil. folder is the operator's; nil if
// the operator is of the catalog. The workers of Python files are forked, unless they are confined.
func (a *Source) OwnWorkers(folder *opfolder.Folder, g *machine.GPU, e machine.EnvironmentFlags,
	o worker.Options, confined bool,
) (OwnWorkers, error) {
	parent := a.Parent
	if confined {
		parent = nil // what runs in a sandbox starts in it
	}
	cache, err := a.CacheDir()
	if err != nil {
		return OwnWorkers{}, err
	}
	environment, err := a.With(g).Environment(e, g != nil)
	if err != nil {
		return OwnWorkers{}, err
	}
	if g == nil {
		o.Limits = o.Limits.OfOwn()
	}
	kernels := func() *worker.Adapter {
		adapter := a.CUDABackend(cache, o)
		if g != nil {
			adapter = a.GPUBackend(g, cache, e, o)
		}
		if folder != nil {
			AddSpec(adapter, folder.TOML)
		}
		return adapter
	}
	reserved := func(adapter *worker.Adapter) *worker.Adapter {
		if g == nil { // on a GPU a waiting process holds memory
			adapter.Reserve = a.Reserve
		}
		return adapter
	}
	python := func(dir string) *worker.Adapter {
		adapter := reserved(pybridge.OwnBackend(environment, cache, dir, o, parent))
		if g != nil {
			machine.RunsUnder(adapter, g.WrapPython)
		}
		return adapter
	}
	truth := func(dir string) *worker.Adapter {
		return reserved(pybridge.OwnTruthBackend(environment, cache, dir, o))
	}
	workers := ownkernels.Workers{
		CUDA: kernels, Python: python, Cache: cache, GPU: g != nil, Accepts: a.NVCCAccepts(e),
		Parse: pyparser.New(environment.Parses),
	}
	return OwnWorkers{workers, truth}, nil
}

// AddSpec makes an operator outside the catalog known to a worker.
func AddSpec(adapter *worker.Adapter, spec string) {
	start := adapter.Command
	adapter.Command = func(ctx context.Context) (worker.Command, error) {
		c, err := start(ctx)
		if err == nil {
			c.Args = append(c.Args, "--spec", spec)
		}
		return c, err
	}
}

// folderBackends returns the adapters of what a folder registers: kernels of its .cu, rows of its .py.
func (a *Source) folderBackends(f *opfolder.Folder, g *machine.GPU, e machine.EnvironmentFlags,
	o worker.Options,
) ([]backend.Backend, error) {
	workers, err := a.OwnWorkers(f, g, e, o, false)
	if err != nil {
		return nil, err
	}
	var all []backend.Backend
	if f.Registers {
		kernels := workers.CUDA()
		kernels.Names = func(string) string { return f.CUDA }
		all = append(all, kernels)
	}
	if f.Rows && f.Problem == "" { // that of a problem runs in a sandbox
		all = append(all, workers.Python(f.Dir))
	}
	return all, nil
}

// truthOf sets the process that computes the truth of a folder's operator.
func (a *Source) truthOf(ctx context.Context, operator *truth.Operator, f *opfolder.Folder,
	workers OwnWorkers,
) *worker.Adapter {
	truth := workers.truth(f.Dir)
	operator.Reference = &opfolder.Reference{Folder: f, Backend: truth, Context: ctx}
	// Torch is imported while kernels are built; a request for a truth reports what went wrong.
	panics.Go(func() { _, _, _ = truth.Load(ctx, f.Spec.Name) }, a.Broke)
	return truth
}
