package runsetup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"triad/internal/backend"
	"triad/internal/catalog"
	"triad/internal/fileversion"
	"triad/internal/kernelfile"
	"triad/internal/machine"
	"triad/internal/op"
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

// OwnFiles holds the added files of a run as one backend, with what belongs to a user's own operator.
type OwnFiles struct {
	ownkernels.Backend
	Folder *opfolder.Folder // nil for an operator of the catalog
	truth  *worker.Adapter  // computes the truth of the folder's operator; it takes no part in a run
	imported
}

// Close ends the workers of all files and that of the truth.
func (o *OwnFiles) Close() error {
	err := o.Backend.Close()
	if o.truth != nil {
		err = errors.Join(err, o.truth.Close())
	}
	return err
}

// versions returns the paths of the files and of the operator's folder, and the version that was run of each.
func (o *OwnFiles) versions(ctx context.Context) map[string]string {
	if o == nil {
		return map[string]string{}
	}
	all := o.Backend.Versions(ctx)
	maps.Copy(all, o.submissionVersions(ctx))
	if f := o.Folder; f != nil {
		all["operator "+f.Spec.Name] = f.Dir + fileversion.Commit(ctx, f.TOML)
		all["reference of "+f.Spec.Name] = "sha256 " + fileversion.Hash(nil, f.TOML, f.Python)
	}
	return all
}

// ownWorkers creates the processes that run a user's kernels, and those that compute the truth of a folder's
// operator.
type ownWorkers struct {
	ownkernels.Workers
	truth func(folder string) *worker.Adapter
}

// ownWorkers returns the workers of a GPU, or of the emulator if g is nil. folder is the operator's; nil if
// the operator is of the catalog. The workers of Python files are forked, unless they are confined.
func (a *Setup) ownWorkers(folder *opfolder.Folder, g *machine.GPU, e machine.EnvironmentFlags,
	o worker.Options, confined bool,
) (ownWorkers, error) {
	parent := a.Parent
	if confined {
		parent = nil // what runs in a sandbox starts in it
	}
	cache, err := a.CacheDir()
	if err != nil {
		return ownWorkers{}, err
	}
	environment, err := a.With(g).Environment(e, g != nil)
	if err != nil {
		return ownWorkers{}, err
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
	return ownWorkers{workers, truth}, nil
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

// Participants returns the backends of a run: the implementations of the operator, of the catalog or of a
// folder, and the user's files. refused holds the errors of files that were not understood; the others
// continue. err is an error of the flags, or of the files if none was understood.
func (a *Setup) Participants(ctx context.Context, f *added.Flags, request *run.Request, g *machine.GPU,
	e machine.EnvironmentFlags, o worker.Options,
) (all []backend.Backend, mine *OwnFiles, refused []error, err error) {
	add := a.AddOwn
	if folder := FolderOf(request); folder != nil {
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
		all = append(append(all, mine), mine.submitted...)
	}
	if a.Around != nil {
		all = a.Around(all)
	}
	return all, mine, refused, err
}

// AddOwn reads the files that --add names, and the .cu of a folder that registers nothing, and returns the
// backend that runs them; nil if there is neither a file nor a folder.
func (a *Setup) AddOwn(ctx context.Context, f *added.Flags, request *run.Request, g *machine.GPU,
	e machine.EnvironmentFlags, o worker.Options,
) (*OwnFiles, []error, error) {
	options, err := f.Options(request.Options)
	folder := FolderOf(request)
	if err == nil {
		err = f.Check(request.Impls, len(request.Operators), folder != nil)
	}
	if err != nil || len(f.Add) == 0 && folder == nil {
		return nil, nil, err
	}
	workers, err := a.ownWorkers(folder, g, e, o, f.Confined())
	if err == nil {
		workers.Observe = a.ObservesMains(ctx)
		workers.Confine, err = a.BoxOf(ctx, f, g)
	}
	if err != nil {
		return nil, nil, err
	}
	operator := request.Operators[0]
	options.Operators = namesWith(operator.Spec.Name)
	interpretation := ownkernels.Interpretation{
		Spec: operator.Spec, Passes: operator.Spec.Passes(), Options: options,
		Workers: workers.Workers, Flags: strings.Join(f.Words()[len(f.Add):], " "),
	}
	all := &OwnFiles{Folder: folder}
	var refused []error
	if folder != nil {
		all.truth = a.truthOf(ctx, operator, folder, workers)
		if b := operator.Spec.Backward; b != nil && b.Chained && !folder.Formula &&
			len(request.Options.Saved) == 0 {
			// Autograd starts from the inputs: it has no graph behind given saved tensors.
			request.Options.Saved = []string{"own"}
		}
		if folder.CUDA != "" && !folder.Registers {
			refused = all.read(interpretation, []string{folder.CUDA}, nil)
		}
	}
	interpretation.Passes = request.Options.Passes
	if len(interpretation.Passes) == 0 {
		interpretation.Passes = []op.Pass{op.Forward, op.Backward}
	}
	refused = append(refused, all.read(interpretation, f.Add, f.Stems)...)
	if len(refused) == 0 {
		if err := all.checkMap(options.Map); err != nil {
			return nil, nil, err
		}
	}
	if len(all.Files) == 0 && folder == nil {
		return nil, nil, errors.Join(refused...)
	}
	if err := a.settle(ctx, all.Files, *request, o.Limits.Interpretations); err != nil {
		return nil, nil, err
	}
	if folder == nil {
		all.Narrow(&request.Options)
	}
	ask(f, request, o.Limits)
	return all, refused, nil
}

// namesWith returns the operators that a line may name: those of the catalog, and the requested one.
func namesWith(operator string) []string {
	return slices.Compact(slices.Sorted(slices.Values(append(catalog.Names(), operator))))
}

// ask makes a request for named implementations run the added files too, and limits the time of their cases
// with --quick.
func ask(f *added.Flags, request *run.Request, limits worker.Limits) {
	own := func(impl string) bool { return strings.HasPrefix(impl, ownkernels.Family) }
	if len(f.Add) > 0 && len(request.Impls) > 0 && !slices.ContainsFunc(request.Impls, own) {
		request.Impls = append(slices.Clone(request.Impls), ownkernels.Family)
	}
	if request.Options.Level == op.LevelQuick {
		request.CasesLimit = limits.Cases
		request.Limited = func(name string) bool { return strings.HasPrefix(name, ownkernels.Family+"/") }
	}
}

// read reads files and adds those that are understood; it returns the errors of the others. stems are those
// of added.Flags.
func (o *OwnFiles) read(interpretation ownkernels.Interpretation, files []string, stems map[string]string,
) (refused []error) {
	type function struct{ request, stem string }
	var each []function
	for _, text := range files {
		interpretation.Request = text
		for _, one := range interpretation.Each() {
			each = append(each, function{one, stems[text]})
		}
	}
	interpretation.Options.Several = len(each) > 1
	for _, f := range each {
		interpretation.Request, interpretation.Stem = f.request, f.stem
		file, err := interpretation.Read()
		if err == nil && o.File(file.Name) != nil {
			err = op.Usagef("--add %s: %s is there already: name each function once", f.request, file.Name)
		}
		if err != nil {
			refused = append(refused, err)
			continue
		}
		o.Files = append(o.Files, file)
	}
	return refused
}

// checkMap rejects a word of --map that names no parameter of any file.
func (o *OwnFiles) checkMap(mapped map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(mapped)) {
		has := func(x *ownkernels.File) bool { return slices.Contains(x.Parameters, name) }
		if !slices.ContainsFunc(o.Files, has) {
			return op.Usagef("--map %s=%s: no added file has a parameter called %s", name, mapped[name], name)
		}
	}
	return nil
}

// FolderOf returns the folder of a request's operator; nil if the operator is of the catalog.
func FolderOf(request *run.Request) *opfolder.Folder {
	for _, o := range request.Operators {
		if r, ok := o.Reference.(*opfolder.Reference); ok {
			return r.Folder
		}
	}
	return nil
}

// folderBackends returns the adapters of what a folder registers: kernels of its .cu, rows of its .py.
func (a *Setup) folderBackends(f *opfolder.Folder, g *machine.GPU, e machine.EnvironmentFlags,
	o worker.Options,
) ([]backend.Backend, error) {
	workers, err := a.ownWorkers(f, g, e, o, false)
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
func (a *Setup) truthOf(ctx context.Context, operator *truth.Operator, f *opfolder.Folder,
	workers ownWorkers,
) *worker.Adapter {
	truth := workers.truth(f.Dir)
	operator.Reference = &opfolder.Reference{Folder: f, Backend: truth, Context: ctx}
	// Torch is imported while kernels are built; a request for a truth reports what went wrong.
	panics.Go(func() { _, _, _ = truth.Load(ctx, f.Spec.Name) }, a.Broke)
	return truth
}

// leftOut says for every file whose backward is not judged why it is not.
func (o *OwnFiles) leftOut() (sentences []string) {
	if o == nil {
		return nil
	}
	for _, f := range o.Files {
		for _, b := range f.Bindings {
			for _, note := range b.Notes {
				if why, is := strings.CutPrefix(note, kernelfile.NoBackward); is {
					sentences = append(sentences, fmt.Sprintf("The backward of %s was not judged: %s.",
						f.Name, strings.TrimSuffix(why, ".")))
				}
				if others, is := strings.CutPrefix(note, kernelfile.NotTaken); is {
					sentences = append(sentences, fmt.Sprintf("In the file of %s these were not taken: %s.",
						f.Name, others))
				}
			}
		}
	}
	return sentences
}

// WriteLines writes above the functions of the added files the lines that say how they were read, and reports
// what it did.
func (o *OwnFiles) WriteLines() (sentences []string) {
	return ownkernels.WriteLines(slices.DeleteFunc(slices.Clone(o.Files), func(f *ownkernels.File) bool {
		return o.Folder != nil && f.Path == o.Folder.CUDA
	}))
}

// TellWritten prints the results of writing the lines.
func (a *Setup) TellWritten(sentences []string, json bool) {
	for _, sentence := range sentences {
		fmt.Fprintln(a.Text(json), sentence)
	}
}

// TellMatched prints how every file was read, and which files were not understood.
func (a *Setup) TellMatched(files *OwnFiles, refused []error, json bool) {
	to := a.Style().Wrap(a.Out)
	if json {
		to = a.Err
	}
	if files == nil {
		return
	}
	for _, f := range files.Files {
		for _, text := range f.Matched {
			fmt.Fprintf(to, "%s: %s\n\n", f.Name, text)
		}
	}
	for _, err := range refused {
		fmt.Fprintf(a.Err, "triad: %v\n", err)
	}
}
