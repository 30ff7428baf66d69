// Package submissions reads the files that --add names when the operator is an imported problem, as the
// format of the problem says: a Python file that defines its entry, or a file with its function.
package submissions

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"triad/internal/backend"
	"triad/internal/catalog"
	"triad/internal/fileversion"
	"triad/internal/op"
	"triad/internal/ownfile"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownkernels"
	"triad/internal/problem"
	"triad/internal/submission"
	"triad/internal/userfile"
	"triad/internal/worker"
)

// Added holds the submissions of a run.
type Added struct {
	Backends    []backend.Backend // the submissions of Python, and the row of the problem
	submissions []Written
	checks      []formatCheck // of the format's own, one for each submission
}

// Reader reads the submissions to one problem.
type Reader struct {
	Plan    *problem.Plan
	Spec    *op.Spec
	Dir     string // of the problem
	Workers ownkernels.Workers
}

// Confined makes the worker of a submission run in a sandbox that sees these folders. For trusted files it
// changes nothing.
type Confined func(adapter *worker.Adapter, sees ...string) *worker.Adapter

// Add adds the submission that a word of --add names. A format of functions has triad call the function: Add
// returns its file. For the others it returns nil, and the submission is one of a.Backends.
func (a *Added) Add(r *Reader, text, stem string, o op.Options, confined Confined) (*ownkernels.File, error) {
	if len(r.Plan.Parameters) > 0 {
		return r.Function(text, stem, o)
	}
	s, err := r.Submission(text, stem)
	if err != nil {
		return nil, err
	}
	confined(s.Adapter, s.folder, filepath.Dir(s.Path))
	a.Backends = append(a.Backends, s.Submission)
	a.submissions = append(a.submissions, s)
	return nil, nil
}

// Versions returns the paths of the submissions and the commits of their repositories.
func (a *Added) Versions(ctx context.Context) map[string]string {
	all := map[string]string{}
	for _, s := range a.submissions {
		all[s.Implementation] = s.Path + fileversion.Commit(ctx, s.Path)
	}
	return all
}

// OperatorsWith returns the operators that a line above a function may name: those of the catalog, and the
// requested one.
func OperatorsWith(operator string) []string {
	return slices.Compact(slices.Sorted(slices.Values(append(catalog.Names(), operator))))
}

// Written is a submission with the folder of the code that calls it.
type Written struct {
	*submission.Submission
	folder string
}

// Submission reads a word of --add that names a Python file, and writes the code that calls it.
func (r *Reader) Submission(text, stem string) (Written, error) {
	none, plan, operator := Written{}, r.Plan, r.Spec.Name
	asked, err := requestOf(text, plan)
	if err != nil {
		return none, err
	}
	packed := plan.Packs(asked.Path)
	if asked.Function != "" || asked.Pass != op.PassUnknown || !packed && filepath.Ext(asked.Path) != ".py" {
		return none, op.Usagef("--add %s: a submission to %s is a Python file that defines %s: want FILE.py",
			text, operator, plan.Entry())
	}
	path, err := filepath.Abs(asked.Path)
	if err != nil {
		return none, err
	}
	content, err := userfile.Read(path)
	if err != nil {
		return none, op.Usagef("--add %s: cannot read the file: %w", text, errors.Unwrap(err))
	}
	if !packed && !bytes.Contains(content, []byte(plan.Entry())) {
		return none, op.Usagef("--add %s: it defines no %s, which a submission to a problem of the format "+
			"%s has", text, plan.Entry(), plan.Format)
	}
	asked.Stem = stem
	written, err := submission.Write(r.Workers.Cache, operator, r.Dir, plan.Module(), path,
		asked.Implementation())
	if err != nil {
		return none, err
	}
	made := submission.New(r.Workers.Python(written), path, asked.Implementation(), plan.Makes)
	return Written{made, written}, nil
}

// requestOf parses a word of --add that names a submission.
func requestOf(text string, plan *problem.Plan) (binding.Request, error) {
	if plan.Packs(text) {
		return binding.Request{Path: text}, nil
	}
	return ownfile.ParseRequest(text)
}

// Function reads a word of --add that names a file with the function of the format. The problem says what
// each parameter is, in their order, so that nothing of it is guessed.
func (r *Reader) Function(text, stem string, o op.Options) (*ownkernels.File, error) {
	plan, spec := r.Plan, r.Spec
	asked, err := ownfile.ParseRequest(text)
	if err != nil {
		return nil, err
	}
	entry := plan.Entry()
	if asked.Function != "" && asked.Function != entry || asked.Pass != op.PassUnknown {
		return nil, op.Usagef("--add %s: a submission to %s is a file with a function %s: want its path "+
			"alone", text, spec.Name, entry)
	}
	content, err := userfile.Read(asked.Path)
	if err != nil {
		return nil, op.Usagef("--add %s: cannot read the file: %w", text, errors.Unwrap(err))
	}
	read := cfacts.ReadCUDA
	if asked.IsPython() {
		read = func(text string, _ ...string) *cfacts.File {
			return ownfile.ReadPython(text, r.Workers.Parse)
		}
	}
	functions := slices.DeleteFunc(read(string(content)).Functions,
		func(fn cfacts.Function) bool { return fn.Name != entry })
	if len(functions) != 1 {
		return nil, op.Usagef("--add %s: it has %d functions called %s, and a submission to %s has one", text,
			len(functions), entry, spec.Name)
	}
	options := binding.Options{
		Map: map[string]string{}, DTypes: o.DTypes, Dims: o.Dims, Attrs: o.Attributes,
		Operators: OperatorsWith(spec.Name),
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
		Request: asked.Path + ":" + entry, Spec: spec,
		Stem:   cmp.Or(stem, binding.Stems([]string{asked.Path})[0]),
		Passes: []op.Pass{op.Forward}, Options: options, Workers: r.Workers,
	}
	return interpretation.Read()
}
