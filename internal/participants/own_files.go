package participants

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"triad/internal/fileversion"
	"triad/internal/machine"
	"triad/internal/op"
	"triad/internal/opfolder"
	"triad/internal/ownfile"
	"triad/internal/ownfile/added"
	"triad/internal/ownfile/declared"
	"triad/internal/ownkernels"
	"triad/internal/problem/submissions"
	"triad/internal/run"
	"triad/internal/worker"
)

// OwnFiles holds the added files of a run as one backend, with what belongs to a user's own operator.
type OwnFiles struct {
	ownkernels.Backend
	Folder *opfolder.Folder // nil for an operator of the catalog
	truth  *worker.Adapter  // computes the truth of the folder's operator; it takes no part in a run
	// Submissions are those to an imported problem.
	Submissions submissions.Added
}

// Close ends the workers of all files and that of the truth.
func (o *OwnFiles) Close() error {
	err := o.Backend.Close()
	if o.truth != nil {
		err = errors.Join(err, o.truth.Close())
	}
	return err
}

// Versions returns the paths of the files and of the operator's folder, and the version that was run of each.
func (o *OwnFiles) Versions(ctx context.Context) map[string]string {
	if o == nil {
		return map[string]string{}
	}
	all := o.Backend.Versions(ctx)
	maps.Copy(all, o.Submissions.Versions(ctx))
	if f := o.Folder; f != nil {
		all["operator "+f.Spec.Name] = f.Dir + fileversion.Commit(ctx, f.TOML)
		all["reference of "+f.Spec.Name] = "sha256 " + fileversion.Hash(nil, f.TOML, f.Python)
	}
	return all
}

// AddOwn reads the files that --add names, and the .cu of a folder that registers nothing, and returns the
// backend that runs them; nil if there is neither a file nor a folder.
func (a *Source) AddOwn(ctx context.Context, f *added.Flags, request *run.Request, g *machine.GPU,
	e machine.EnvironmentFlags, o worker.Options,
) (*OwnFiles, []error, error) {
	options, err := f.Options(request.Options)
	folder := opfolder.Of(request.Operators)
	if err == nil {
		err = f.Check(request.Impls, len(request.Operators), folder != nil)
	}
	if err != nil || len(f.Add) == 0 && folder == nil {
		return nil, nil, err
	}
	workers, err := a.OwnWorkers(folder, g, e, o, f.Confined())
	if err == nil {
		workers.Observe = a.ObservesMains(ctx)
		workers.Confine, err = a.BoxOf(ctx, f, g)
	}
	if err != nil {
		return nil, nil, err
	}
	operator := request.OperatorOfFiles(folder != nil)
	options.Operators = submissions.OperatorsWith(operator.Spec.Name)
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

// LeftOut gives the reason for every file whose backward is not judged.
func (o *OwnFiles) LeftOut() (sentences []string) {
	if o == nil {
		return nil
	}
	for _, f := range o.Files {
		for _, b := range f.Bindings {
			for _, note := range b.Notes {
				if why, is := strings.CutPrefix(note, ownfile.NoBackward); is {
					sentences = append(sentences, fmt.Sprintf("The backward of %s was not judged: %s.",
						f.Name, strings.TrimSuffix(why, ".")))
				}
				if others, is := strings.CutPrefix(note, declared.NotTaken); is {
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
func (a *Source) TellWritten(sentences []string, json bool) {
	for _, sentence := range sentences {
		fmt.Fprintln(a.Text(json), sentence)
	}
}

// TellMatched prints how every file was read, and which files were not understood.
func (a *Source) TellMatched(files *OwnFiles, refused []error, json bool) {
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
