package main

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"

	"triad/internal/backend"
	"triad/internal/fileversion"
	"triad/internal/kernelfile"
	"triad/internal/op"
	"triad/internal/run"
	"triad/internal/submission"
	"triad/internal/userfile"
	"triad/internal/worker"
)

// kernelBenchModule is the Python module that calls submissions to problems of KernelBench.
const kernelBenchModule = "problem_kernelbench"

// imported holds what judges submissions to a problem.
type imported struct {
	submitted   []backend.Backend // the submissions, and the row of the problem
	submissions []*submission.Submission
}

// addSubmissions returns what judges submissions to an imported problem, and the problem's own row. What a
// stranger wrote runs in a sandbox, the reference too, unless --no-sandbox says that it is trusted.
func (a *app) addSubmissions(ctx context.Context, f *ownFlags, request *run.Request, g *gpu,
	e environmentFlags, o worker.Options,
) (*ownFiles, []error, error) {
	folder := folderOf(request)
	if err := f.check(request, folder); err != nil {
		return nil, nil, err
	}
	if len(f.mapped)+len(f.nvccFlags) > 0 || f.grid+f.block+f.shared+f.contract != "" || f.write {
		return nil, nil, usage("%s is an imported problem, and its format says how a submission is called: "+
			"--map, --contract, --grid, --block, --shared, --nvcc-flags and --write say nothing there",
			folder.Spec.Name)
	}
	workers, err := a.ownWorkers(folder, g, e, o, nil)
	if err != nil {
		return nil, nil, err
	}
	confine := f.box
	if confine == nil && !f.noSandbox {
		if confine, err = a.confine(ctx, g, f.database); err != nil {
			return nil, nil, err
		}
	}
	confined := func(adapter *worker.Adapter, sees ...string) *worker.Adapter {
		if confine != nil {
			confine(adapter, false, append(sees, folder.Dir))
		}
		return adapter
	}
	all := &ownFiles{folder: folder}
	truth := workers.truth
	workers.truth = func(dir string) *worker.Adapter { return confined(truth(dir)) }
	all.truth = a.truthOf(ctx, request.Operators[0], folder, workers)
	all.submitted = append(all.submitted, confined(workers.Python(folder.Dir)))
	var refused []error
	for _, text := range f.add {
		s, err := a.submitted(text, f.stems[text], folder.Spec.Name, folder.Dir, workers)
		if err != nil {
			refused = append(refused, err)
			continue
		}
		confined(s.Adapter, s.folder, filepath.Dir(s.Path))
		all.submitted = append(all.submitted, s.Submission)
		all.submissions = append(all.submissions, s.Submission)
	}
	if len(f.add) > 0 && len(refused) == len(f.add) {
		return nil, refused, refused[0]
	}
	f.ask(request, o.Limits)
	return all, refused, nil
}

// writtenSubmission is a submission with the folder of the code that calls it.
type writtenSubmission struct {
	*submission.Submission
	folder string
}

// submitted reads a word of --add that names a submission.
func (a *app) submitted(text, stem, operator, problem string, workers ownWorkers) (writtenSubmission, error) {
	none := writtenSubmission{}
	r, err := kernelfile.ParseRequest(text)
	if err != nil {
		return none, err
	}
	if r.Function != "" || r.Pass != op.PassUnknown || filepath.Ext(r.Path) != ".py" {
		return none, usage("--add %s: a submission to %s is a Python file with class ModelNew: want FILE.py",
			text, operator)
	}
	path, err := filepath.Abs(r.Path)
	if err != nil {
		return none, err
	}
	content, err := userfile.Read(path)
	if err != nil {
		return none, usage("--add %s: cannot read the file: %w", text, errors.Unwrap(err))
	}
	if !bytes.Contains(content, []byte("ModelNew")) {
		return none, usage("--add %s: it defines no class ModelNew, which a submission to a problem of "+
			"KernelBench has", text)
	}
	r.Stem = stem
	folder, err := submission.Write(workers.Cache, operator, problem, kernelBenchModule, path,
		r.Implementation())
	if err != nil {
		return none, err
	}
	return writtenSubmission{submission.New(workers.Python(folder), path, r.Implementation()), folder}, nil
}

// submissionVersions returns the paths of the submissions and the commits of their repositories.
func (o *ownFiles) submissionVersions(ctx context.Context) map[string]string {
	all := map[string]string{}
	for _, s := range o.submissions {
		all[s.Implementation] = s.Path + fileversion.Commit(ctx, s.Path)
	}
	return all
}
