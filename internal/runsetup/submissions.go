package runsetup

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"triad/internal/backend"
	"triad/internal/console"
	"triad/internal/fileversion"
	"triad/internal/kernelfile"
	"triad/internal/machine"
	"triad/internal/op"
	"triad/internal/ownfile/added"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownkernels"
	"triad/internal/problem"
	"triad/internal/run"
	"triad/internal/submission"
	"triad/internal/userfile"
	"triad/internal/worker"
)

// imported holds what judges submissions to a problem.
type imported struct {
	submitted   []backend.Backend // the submissions, and the row of the problem
	submissions []*submission.Submission
	theirs      []theirCheck // of the format's own, one for each submission
}

// addSubmissions returns what judges submissions to an imported problem, and the problem's own row. What a
// stranger wrote runs in a sandbox, the reference too, unless --no-sandbox says that it is trusted.
func (a *Setup) addSubmissions(ctx context.Context, f *added.Flags, request *run.Request, g *machine.GPU,
	e machine.EnvironmentFlags, o worker.Options,
) (*OwnFiles, []error, error) {
	folder := FolderOf(request)
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
	workers, err := a.ownWorkers(folder, g, e, o, true)
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
	all.submitted = append(all.submitted, confined(workers.Python(folder.Dir)))
	workers.Confine = confine
	var refused []error
	for _, text := range f.Add {
		err := all.addSubmission(text, f.Stems[text], plan, request.Options, workers, confined)
		if err == nil {
			err = all.addCheck(text, f.Stems[text], plan, environment, workers.Cache, confined)
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

// addSubmission adds the submission that a word of --add names.
func (o *OwnFiles) addSubmission(text, stem string, plan *problem.Plan, options op.Options,
	workers ownWorkers, confined func(*worker.Adapter, ...string) *worker.Adapter,
) error {
	if len(plan.Parameters) > 0 {
		return o.addFunction(text, stem, plan, options, workers)
	}
	return o.addClass(text, stem, plan, workers, confined)
}

// addClass adds the submission that a word of --add names.
func (o *OwnFiles) addClass(text, stem string, plan *problem.Plan, workers ownWorkers,
	confined func(*worker.Adapter, ...string) *worker.Adapter,
) error {
	s, err := submitted(text, stem, o.Folder.Spec.Name, o.Folder.Dir, plan, workers)
	if err != nil {
		return err
	}
	confined(s.Adapter, s.folder, filepath.Dir(s.Path))
	o.submitted = append(o.submitted, s.Submission)
	o.submissions = append(o.submissions, s.Submission)
	return nil
}

// addFunction adds the file with a function of C or Python that a word of --add names.
func (o *OwnFiles) addFunction(text, stem string, plan *problem.Plan, options op.Options,
	workers ownWorkers,
) error {
	file, err := functionIn(text, stem, plan, o.Folder.Spec, options, workers)
	if err == nil {
		o.Files = append(o.Files, file)
	}
	return err
}

// writtenSubmission is a submission with the folder of the code that calls it.
type writtenSubmission struct {
	*submission.Submission
	folder string
}

// submitted reads a word of --add that names a submission.
func submitted(text, stem, operator, folder string, plan *problem.Plan,
	workers ownWorkers,
) (writtenSubmission, error) {
	none := writtenSubmission{}
	r, err := requestOf(text, plan)
	if err != nil {
		return none, err
	}
	packed := plan.Packs(r.Path)
	if r.Function != "" || r.Pass != op.PassUnknown || !packed && filepath.Ext(r.Path) != ".py" {
		return none, op.Usagef("--add %s: a submission to %s is a Python file that defines %s: want FILE.py",
			text, operator, plan.Entry())
	}
	path, err := filepath.Abs(r.Path)
	if err != nil {
		return none, err
	}
	content, err := userfile.Read(path)
	if err != nil {
		return none, console.Usage("--add %s: cannot read the file: %w", text, errors.Unwrap(err))
	}
	if !packed && !bytes.Contains(content, []byte(plan.Entry())) {
		return none, op.Usagef("--add %s: it defines no %s, which a submission to a problem of the format "+
			"%s has", text, plan.Entry(), plan.Format)
	}
	r.Stem = stem
	written, err := submission.Write(workers.Cache, operator, folder, plan.Module(), path,
		r.Implementation())
	if err != nil {
		return none, err
	}
	made := submission.New(workers.Python(written), path, r.Implementation(), plan.Makes)
	return writtenSubmission{made, written}, nil
}

// requestOf parses a word of --add that names a submission.
func requestOf(text string, plan *problem.Plan) (kernelfile.Request, error) {
	if plan.Packs(text) {
		return kernelfile.Request{Path: text}, nil
	}
	return kernelfile.ParseRequest(text)
}

// functionIn reads a word of --add that names a file with the function of the format. The problem says what
// each parameter is, in their order, so that nothing of it is guessed.
func functionIn(text, stem string, plan *problem.Plan, spec *op.Spec, o op.Options,
	workers ownWorkers,
) (*ownkernels.File, error) {
	r, err := kernelfile.ParseRequest(text)
	if err != nil {
		return nil, err
	}
	entry := plan.Entry()
	if r.Function != "" && r.Function != entry || r.Pass != op.PassUnknown {
		return nil, op.Usagef("--add %s: a submission to %s is a file with a function %s: want its path "+
			"alone", text, spec.Name, entry)
	}
	content, err := userfile.Read(r.Path)
	if err != nil {
		return nil, console.Usage("--add %s: cannot read the file: %w", text, errors.Unwrap(err))
	}
	read := cfacts.ReadCUDA
	if r.IsPython() {
		read = func(text string, _ ...string) *cfacts.File {
			return kernelfile.ReadPython(text, workers.Parse)
		}
	}
	functions := slices.DeleteFunc(read(string(content)).Functions,
		func(fn cfacts.Function) bool { return fn.Name != entry })
	if len(functions) != 1 {
		return nil, op.Usagef("--add %s: it has %d functions called %s, and a submission to %s has one", text,
			len(functions), entry, spec.Name)
	}
	options := kernelfile.Options{
		Map: map[string]string{}, DTypes: o.DTypes, Dims: o.Dims, Attrs: o.Attributes,
		Operators: namesWith(spec.Name),
	}
	params := functions[0].Params
	if len(params) != len(plan.Parameters) {
		return nil, op.Usagef("--add %s: %s takes %d parameters, and that of %s takes %d: %s", text,
			entry, len(params), spec.Name, len(plan.Parameters), strings.Join(plan.Parameters, ", "))
	}
	for i, p := range params {
		options.Map[p.Name] = plan.Parameters[i]
	}
	interpretation := ownkernels.Interpretation{
		Request: r.Path + ":" + entry, Stem: cmp.Or(stem, kernelfile.Stems([]string{r.Path})[0]), Spec: spec,
		Passes: []op.Pass{op.Forward}, Options: options, Workers: workers.Workers,
	}
	return interpretation.Read()
}

// submissionVersions returns the paths of the submissions and the commits of their repositories.
func (o *OwnFiles) submissionVersions(ctx context.Context) map[string]string {
	all := map[string]string{}
	for _, s := range o.submissions {
		all[s.Implementation] = s.Path + fileversion.Commit(ctx, s.Path)
	}
	return all
}
