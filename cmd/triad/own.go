package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"triad/cuda"
	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/own"
	"triad/internal/panics"
	"triad/internal/record"
	"triad/internal/run"
	"triad/internal/worker"
	"triad/pybridge"
)

// ownFlags add kernels of the user's own to a run.
type ownFlags struct {
	add, nvccFlags      []string
	mapped              []string
	grid, block, shared string
}

func (f *ownFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringArrayVar(&f.add, "add", nil, "judge a file of your own beside ours: FILE.cu[:function][@pass] or FILE.py[:function][@pass]; may be repeated")
	fs.StringSliceVar(&f.mapped, "map", nil, "with --add: what a parameter stands for, e.g. out=y,N=cols")
	fs.StringArrayVar(&f.nvccFlags, "nvcc-flags", nil, "with --add of a .cu: flags for its compiler, e.g. \"-DTILE=32 -use_fast_math\"; without a GPU -D and -U alone apply")
	fs.StringVar(&f.grid, "grid", "", "with --add of a lone __global__ function: its grid over the sizes, e.g. \"ceildiv(cols, 16), rows\"")
	fs.StringVar(&f.block, "block", "", "with --add of a lone __global__ function: its block, e.g. 256 or \"16, 16\"")
	fs.StringVar(&f.shared, "shared", "", "with --add of a lone __global__ function: bytes of dynamic shared memory, e.g. \"4 * cols\"")
}

func (f *ownFlags) options(o op.Options) (own.Options, error) {
	options := own.Options{Map: map[string]string{}, Dims: o.Dims, Attrs: o.Attributes, Grid: f.grid, Block: f.block, Shared: f.shared}
	for _, word := range f.mapped {
		name, target, ok := strings.Cut(word, "=")
		if !ok || name == "" || target == "" {
			return options, usage("--map %q: want PARAMETER=NAME, e.g. out=y", word)
		}
		options.Map[name] = target
	}
	for _, text := range f.nvccFlags {
		options.Flags = append(options.Flags, strings.Fields(text)...)
	}
	if _, err := cuda.CheckFlags(options.Flags); err != nil {
		return options, usage("--nvcc-flags: %w", err)
	}
	return options, nil
}

// ownFile is one file of the user's own, ready to be built and run.
type ownFile struct {
	name    string // "mine/softmax", "mine/softmax:solve"
	path    string // absolute
	matched []string
	covers  coverage
	source  string // content hash of the file, what it includes and how it is called
	shim    string // path of the code that triad wrote around it
	adapter *worker.Adapter
	// interpreted: its kernels run in Triton's interpreter. unsynchronised: threads share memory and no barrier stands in the file.
	interpreted, unsynchronised bool
	// other is the file judged with another value of an attribute that neither a parameter nor --attr says; free names those with their values.
	other func(attribute, value string) (*ownFile, error)
	free  map[string][]string
	// launches are the lines of the file with a <<<.
	launches    []int
	parameters  []string // of the functions that are judged
	takesShared bool     // at the launch
}

// ownFiles are a backend: the files that --add names, each built and run on its own.
type ownFiles struct {
	files  []*ownFile
	folder *own.Folder     // of an operator of the user's own
	truth  *worker.Adapter // of that operator; it takes no part in a run
}

var _ backend.Backend = (*ownFiles)(nil)

// Name is the name of the backend.
func (o *ownFiles) Name() string { return "mine" }

// Families are the first parts of the names of its implementations.
func (o *ownFiles) Families() []string { return []string{"mine"} }

// Load builds every file, side by side; one that cannot be built does not keep the others.
func (o *ownFiles) Load(ctx context.Context, operator string) (backend.LoadReply, backend.HelloReply, error) {
	replies, hellos, failures := make([]backend.LoadReply, len(o.files)), make([]backend.HelloReply, len(o.files)), make([]error, len(o.files))
	var group panics.Group
	for i, f := range o.files {
		group.Go(func() { replies[i], hellos[i], failures[i] = f.load(ctx, operator) })
	}
	if err := group.Wait(); err != nil {
		return backend.LoadReply{}, backend.HelloReply{}, err
	}
	all, hello := backend.LoadReply{Implementations: []backend.Implementation{}}, backend.HelloReply{Versions: map[string]string{}}
	for i, reply := range replies {
		all.Implementations = append(all.Implementations, reply.Implementations...)
		all.Failed = append(all.Failed, reply.Failed...)
		if reply.Build != nil {
			all.Build = reply.Build
		}
		maps.Copy(hello.Versions, hellos[i].Versions)
	}
	return all, hello, errors.Join(failures...)
}

// load builds one file. What its author or the toolchain is to blame for is a failure of this implementation alone.
func (f *ownFile) load(ctx context.Context, operator string) (backend.LoadReply, backend.HelloReply, error) {
	reply, hello, err := f.adapter.Load(ctx, operator)
	failed := backend.LoadFailure{Implementation: f.name, Status: op.StatusBuildFail}
	var missing *backend.Unavailable
	var broken *backend.BuildFailure
	switch {
	case errors.As(err, &missing):
		failed.Status, failed.Message = op.StatusUnavailable, missing.Sentence
		return backend.LoadReply{Failed: []backend.LoadFailure{failed}}, hello, nil
	case errors.As(err, &broken):
		failed.Message, failed.Log = broken.Sentence, broken.Log
		return backend.LoadReply{Failed: []backend.LoadFailure{failed}}, hello, nil
	case err != nil:
		return reply, hello, err
	}
	for i := range reply.Implementations {
		reply.Implementations[i].Source = f.source
		if f.interpreted {
			reply.Implementations[i].Device = "interpreter"
		}
	}
	if len(reply.Failed) > 0 {
		failed = reply.Failed[0]
		failed.Implementation = f.name
		failed.Message = own.ExplainBuild(f.blame(failed.Message, failed.Log))
		reply.Failed = []backend.LoadFailure{failed}
	}
	return reply, hello, nil
}

// blame places a compiler's first message in the author's file, or says that the fault is in what triad wrote.
func (f *ownFile) blame(message, log string) string {
	at, line, text, found := cuda.CompilerMessage(log)
	_, inPython, raised := strings.Cut(message, "ImportError: triad: ")
	switch {
	case raised:
		return inPython
	case found && !strings.Contains(at, filepath.Base(f.shim)):
		return fmt.Sprintf("%s:%s: %s", at, line, text)
	case strings.Contains(message, filepath.Base(f.shim)):
		return message + "; this line is in the code that triad wrote to call your function, not in your file: check the types of its parameters, or name them with --map"
	}
	return message
}

func (o *ownFiles) Run(ctx context.Context, job backend.Job) (backend.Outcome, error) {
	for _, f := range o.files {
		if f.name == job.Implementation.Name {
			outcome, err := f.adapter.Run(ctx, job)
			if err == nil && emptyOutputs(job) {
				own.ExplainEmpty(&outcome, f.takesShared)
			}
			if err == nil {
				own.Explain(&outcome, f.launches, f.takesShared)
			}
			if outcome.Where != nil && outcome.Where.File == f.shim {
				outcome.Where = nil // a line of what triad wrote around the file tells its author nothing
			}
			return outcome, err
		}
	}
	return backend.Outcome{}, fmt.Errorf("run %s: no file of that name was added", job.Implementation.Name)
}

// emptyOutputs says whether a job has nothing to write.
func emptyOutputs(job backend.Job) bool {
	return !slices.ContainsFunc(job.Outputs, func(t op.TensorType) bool { return t.Elements() > 0 })
}

// Measure prepares a call to be timed, in the worker of its file.
func (o *ownFiles) Measure(ctx context.Context, job backend.MeasureJob) (backend.Arm, backend.Outcome, error) {
	for _, f := range o.files {
		if f.name == job.Implementation.Name {
			return f.adapter.Measure(ctx, job)
		}
	}
	return nil, backend.Outcome{}, fmt.Errorf("time %s: no file of that name was added", job.Implementation.Name)
}

// Close ends the workers of every file.
func (o *ownFiles) Close() error {
	var all error
	for _, f := range o.files {
		all = errors.Join(all, f.adapter.Close())
	}
	if o.truth != nil {
		all = errors.Join(all, o.truth.Close())
	}
	return all
}

// maker makes the adapter that runs a shim.
type maker struct {
	cuda   func() *worker.Adapter
	python func(folder string) *worker.Adapter
	truth  func(folder string) *worker.Adapter
	cache  string
	gpu    bool
	spec   string // path of the spec of an operator that is not of the catalog; "" for one that is
}

func (a *app) maker(g *gpu, e environmentFlags, o worker.Options) (maker, error) {
	cache, err := a.cacheDir()
	if err != nil {
		return maker{}, err
	}
	environment, err := a.with(g).environment(e, g != nil)
	if err != nil {
		return maker{}, err
	}
	if g == nil {
		o.Limits = o.Limits.OfOwn()
	}
	kernels := func() *worker.Adapter {
		if g != nil {
			return a.gpuBackend(g, cache, e, o)
		}
		return a.cudaBackend(cache, o)
	}
	kept := func(adapter *worker.Adapter) *worker.Adapter {
		if g == nil { // on a GPU a process that waits holds memory
			adapter.Reserve = a.reserve
		}
		return adapter
	}
	python := func(folder string) *worker.Adapter { return kept(pybridge.OwnBackend(environment, cache, folder, o)) }
	truth := func(folder string) *worker.Adapter {
		return kept(pybridge.OwnTruthBackend(environment, cache, folder, o))
	}
	return maker{cuda: kernels, python: python, truth: truth, cache: cache, gpu: g != nil}, nil
}

// participants are the backends of a run: the implementations of the operator, of the catalog or of a folder, and the user's files. What cannot be
// understood of those is said, and the rest goes on: the error is that of the flags, or of the only file.
func (a *app) participants(ctx context.Context, f *ownFlags, request *run.Request, g *gpu, e environmentFlags, o worker.Options) (all []backend.Backend, mine *ownFiles,
	refused []error, err error) {
	if folder := folderOf(request); folder != nil {
		all, err = a.folderBackends(folder, g, e, o)
	} else {
		all, err = a.backends(g, e, o)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	if mine, refused, err = a.addOwn(ctx, f, request, g, e, o); err == nil && mine != nil {
		all = append(all, mine)
	}
	if a.around != nil {
		all = a.around(all)
	}
	return all, mine, refused, err
}

// addOwn reads the files that --add names, and the .cu of a folder that registers nothing, and makes the backend that runs them.
func (a *app) addOwn(ctx context.Context, f *ownFlags, request *run.Request, g *gpu, e environmentFlags, o worker.Options) (*ownFiles, []error, error) {
	options, err := f.options(request.Options)
	if err != nil {
		return nil, nil, err
	}
	folder := folderOf(request)
	switch {
	case len(f.add) == 0 && folder == nil && (len(f.mapped)+len(f.nvccFlags) > 0 || f.grid+f.block+f.shared != ""):
		return nil, nil, usage("--map, --grid, --block, --shared and --nvcc-flags speak of a file that --add names")
	case len(f.add) == 0 && folder == nil && slices.ContainsFunc(request.Impls, func(p string) bool { return p == "mine" || strings.HasPrefix(p, "mine/") }):
		return nil, nil, usage("--impl %s: no file of your own is here; name it with --add FILE", strings.Join(request.Impls, ","))
	case len(f.add) == 0 && folder == nil:
		return nil, nil, nil
	case len(request.Operators) != 1:
		return nil, nil, usage("--add speaks of one operator: name the one that the file implements")
	}
	make, err := a.maker(g, e, o)
	if err != nil {
		return nil, nil, err
	}
	all := &ownFiles{}
	options.Several = len(f.add) > 1
	var refused []error
	spec := request.Operators[0].Spec
	add := func(text string, passes []op.Pass) {
		file, err := readOwn(text, spec, passes, options, make)
		if err == nil && slices.ContainsFunc(all.files, func(x *ownFile) bool { return x.name == file.name }) {
			err = usage("--add %s: %s is there already: two files of one name cannot be told apart, rename one", text, file.name)
		}
		if err != nil {
			refused = append(refused, err)
			return
		}
		file.free = freeAttributes(spec, file.covers.pins, options.Attrs)
		file.other = func(attribute, value string) (*ownFile, error) {
			changed := options
			changed.Attrs = maps.Clone(options.Attrs)
			if changed.Attrs == nil {
				changed.Attrs = map[string]string{}
			}
			changed.Attrs[attribute] = value
			return readOwn(text, spec, passes, changed, make)
		}
		all.files = append(all.files, file)
	}
	if folder != nil {
		make.spec = folder.TOML
		all.truth = a.truthOf(ctx, request.Operators[0], folder, make)
		all.folder = folder
		if b := spec.Backward; b != nil && b.Chained && !folder.Formula && len(request.Options.Saved) == 0 {
			request.Options.Saved = []string{"own"} // autograd starts from the inputs: it knows no gradient behind given saved tensors
		}
		if folder.CUDA != "" && !folder.Registers {
			add(folder.CUDA, spec.Passes())
		}
	}
	passes := request.Options.Passes
	if len(passes) == 0 {
		passes = []op.Pass{op.Forward, op.Backward}
	}
	for _, text := range f.add {
		add(text, passes)
	}
	for _, name := range slices.Sorted(maps.Keys(options.Map)) {
		if len(refused) == 0 && !slices.ContainsFunc(all.files, func(x *ownFile) bool { return slices.Contains(x.parameters, name) }) {
			return nil, nil, usage("--map %s=%s: no added file has a parameter called %s", name, options.Map[name], name)
		}
	}
	if len(all.files) == 0 && folder == nil {
		return nil, nil, errors.Join(refused...)
	}
	if folder == nil {
		all.narrow(&request.Options)
	}
	if len(request.Impls) > 0 && len(f.add) > 0 && !slices.ContainsFunc(request.Impls, func(p string) bool { return strings.HasPrefix(p, "mine") }) {
		request.Impls = append(slices.Clone(request.Impls), "mine")
	}
	return all, refused, nil
}

// versions say of every file where it lies and at which commit of its repository.
func (o *ownFiles) versions(ctx context.Context) map[string]string {
	all := map[string]string{}
	if o == nil {
		return all
	}
	for _, f := range o.files {
		all[f.name] = f.path + commitOf(ctx, f.path)
	}
	if o.folder != nil {
		all["operator "+o.folder.Spec.Name] = o.folder.Dir + commitOf(ctx, o.folder.TOML)
		all["reference of "+o.folder.Spec.Name] = "sha256 " + hashOf(o.folder.TOML, o.folder.Python)
	}
	return all
}

// commitOf is ", commit 0123abcd" of the repository that a file lies in, with a word where the file is not as committed; "" where there is
// none.
func commitOf(ctx context.Context, path string) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	git := func(args ...string) (string, error) {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", filepath.Dir(path)}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	commit, err := git("log", "-1", "--format=%h", "--", path)
	if err != nil || commit == "" {
		return ""
	}
	if state, err := git("status", "--porcelain", "--", path); err != nil || state != "" {
		return ", commit " + commit + ", changed since"
	}
	return ", commit " + commit
}

// words are the flags as a session keeps them: files by absolute path, then what was said of them.
func (f *ownFlags) words() []string {
	var all []string
	for _, text := range f.add {
		if r, err := own.ParseRequest(text); err == nil {
			if abs, err := filepath.Abs(r.Path); err == nil {
				text = abs + strings.TrimPrefix(text, r.Path)
			}
		}
		all = append(all, text)
	}
	for _, m := range f.mapped {
		all = append(all, "--map="+m)
	}
	for _, flags := range f.nvccFlags {
		all = append(all, "--nvcc-flags="+flags)
	}
	for name, value := range map[string]string{"grid": f.grid, "block": f.block, "shared": f.shared} {
		if value != "" {
			all = append(all, "--"+name+"="+value)
		}
	}
	slices.Sort(all[len(f.add):])
	return all
}

// wordsOf are the words of the flags, and the folder where the operator lies in one.
func (f *ownFlags) wordsOf(mine *ownFiles) []string {
	words := f.words()
	if mine != nil && mine.folder != nil {
		words = append(words, record.FolderWord+mine.folder.Dir)
	}
	return words
}

// tellMatched says what was understood of every file.
func (a *app) tellMatched(files *ownFiles, refused []error, json bool) {
	to := a.style().Wrap(a.out)
	if json {
		to = a.err
	}
	if files == nil {
		return
	}
	for _, f := range files.files {
		for _, text := range f.matched {
			fmt.Fprintf(to, "%s: %s\n\n", f.name, text)
		}
	}
	for _, err := range refused {
		fmt.Fprintf(a.err, "triad: %v\n", err)
	}
}

// wordsOf are the words of a session that concern one added file: the file, and what was said of all.
func wordsOf(impl string, added []string) []string {
	return slices.DeleteFunc(slices.Clone(added), func(word string) bool {
		r, err := own.ParseRequest(word)
		return !strings.HasPrefix(word, "--") && (err != nil || nameOf(r) != impl)
	})
}

// nameOf is the name of the implementation that a file becomes.
func nameOf(r own.Request) string {
	name := "mine/" + strings.TrimSuffix(filepath.Base(r.Path), filepath.Ext(r.Path))
	if r.Function != "" {
		name += ":" + r.Function
	}
	return name
}
