package participants

import (
	"context"
	"io"

	"triad/internal/console"
	"triad/internal/machine"
	"triad/internal/op"
	"triad/internal/opfolder"
	"triad/internal/ownfile/added"
	"triad/internal/problem"
	"triad/internal/problem/submissions"
	"triad/internal/record"
	"triad/internal/run"
	"triad/internal/worker"
)

// addSubmissions returns what judges submissions to an imported problem, and the problem's own row. What a
// stranger wrote runs in a sandbox, the reference too, unless --no-sandbox says that it is trusted.
func (a *Source) addSubmissions(ctx context.Context, f *added.Flags, request *run.Request, g *machine.GPU,
	e machine.EnvironmentFlags, o worker.Options,
) (*OwnFiles, []error, error) {
	folder := opfolder.Of(request.Operators)
	if err := f.Check(request.Impls, len(request.Operators), folder != nil); err != nil {
		return nil, nil, err
	}
	if len(f.Mapped)+len(f.NVCCFlags) > 0 || f.Grid+f.Block+f.Shared+f.Contract != "" || f.Write {
		return nil, nil,
			console.Usage("%s is an imported problem, and its format says how a submission is called: "+
				"--map, --contract, --grid, --block, --shared, --nvcc-flags and --write say nothing there",
				folder.Spec.Name)
	}
	plan, err := problem.ReadPlan(folder.Problem)
	if err != nil {
		return nil, nil, console.Usage("%s: %w", folder.Spec.Name, err)
	}
	workers, err := a.OwnWorkers(folder, g, e, o, true)
	if err != nil {
		return nil, nil, err
	}
	environment, err := a.With(g).Environment(e, g != nil)
	if err != nil {
		return nil, nil, err
	}
	confine := f.Box
	if confine == nil && !f.NoSandbox {
		if confine, err = a.Confine(ctx, g, f.Database); err != nil {
			return nil, nil, err
		}
	}
	confined := func(adapter *worker.Adapter, sees ...string) *worker.Adapter {
		if confine != nil {
			confine(adapter, false, append(sees, folder.Dir))
		}
		return adapter
	}
	all := &OwnFiles{Folder: folder}
	truth := workers.truth
	workers.truth = func(dir string) *worker.Adapter { return confined(truth(dir)) }
	all.truth = a.truthOf(ctx, request.Operators[0], folder, workers)
	all.Submissions.Backends = append(all.Submissions.Backends, confined(workers.Python(folder.Dir)))
	workers.Confine = confine
	reader := &submissions.Reader{Plan: plan, Spec: folder.Spec, Dir: folder.Dir, Workers: workers.Workers}
	var refused []error
	for _, text := range f.Add {
		err := all.addSubmission(reader, text, f.Stems[text], request.Options, confined)
		if err == nil {
			err = all.Submissions.AddCheck(reader, text, f.Stems[text], environment, confined)
		}
		if err != nil {
			refused = append(refused, err)
		}
	}
	if len(f.Add) > 0 && len(refused) == len(f.Add) {
		return nil, refused, refused[0]
	}
	ask(f, request, o.Limits)
	return all, refused, nil
}

// addSubmission adds the submission that a word of --add names: to the files if triad calls its function.
func (o *OwnFiles) addSubmission(r *submissions.Reader, text, stem string, options op.Options,
	confined submissions.Confined,
) error {
	file, err := o.Submissions.Add(r, text, stem, options, confined)
	if file != nil {
		o.Files = append(o.Files, file)
	}
	return err
}

// PrintChecks prints a line for each submission: the verdict of its format's own check, and triad's.
func (o *OwnFiles) PrintChecks(ctx, stop context.Context, to io.Writer, records []record.Record) error {
	if o == nil {
		return nil
	}
	return o.Submissions.PrintChecks(ctx, stop, to, records)
}
