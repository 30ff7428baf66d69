package ownkernels

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"triad/cuda/build"
	"triad/internal/backend"
	"triad/internal/declaration"
	"triad/internal/fileversion"
	"triad/internal/harmless"
	"triad/internal/op"
	"triad/internal/ownfile"
	"triad/internal/ownfile/adapters"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/extents"
	"triad/internal/ownfile/launches"
	"triad/internal/ownfile/nearby"
	"triad/internal/ownfile/observed"
	"triad/internal/ownfile/params"
	"triad/internal/ownfile/pyfacts"
	"triad/internal/ownfile/shim"
	"triad/internal/userfile"
	"triad/internal/worker"
)

// Workers creates the processes that run kernels, and says where generated code is kept.
type Workers struct {
	CUDA   func() *worker.Adapter              // runs the kernels of a .cu
	Python func(folder string) *worker.Adapter // runs the operator file in a folder
	Cache  string                              // the folder of generated code, in its subfolder own
	Parse  pyfacts.Parser                      // of Python
	// Observe returns what the main() of a CUDA file does, or nil if that cannot be seen; nil: nothing can.
	// text replaces that of the file unless it is ""
	Observe func(file, text string, flags []string) *observed.Run
	GPU     bool
	// Accepts reports whether nvcc compiles a file; nil: there is none, or it may not run what it is given
	Accepts func(ctx context.Context, file string, flags []string) bool
	// Confine makes a worker run in a sandbox that shows it only these files and folders; nil: it sees all.
	// builds: it builds a library; otherwise it has none.
	Confine func(a *worker.Adapter, builds bool, sees []string)
}

// Interpretation selects how a file is understood.
type Interpretation struct {
	Request string // FILE[:function][@pass], the words of --add
	Stem    string // stands for the file in its name, as returned by ownfile.Stems; "": its own name does
	Flags   string // the user's flags for the file, as typed
	Spec    *op.Spec
	Passes  []op.Pass
	Options binding.Options
	Workers Workers

	launches string   // the file that launches the requested file's kernels, and is read instead
	beside   []string // files near a .cu that are compiled with it
}

// File is one added file, ready to be built and run.
type File struct {
	Name       string   // of the implementation: "mine/softmax", "mine/softmax:solve"
	Path       string   // absolute
	Matched    []string // sentences on what was understood of each function
	Parameters []string // of the functions that are judged
	Covers     Coverage
	Bindings   []*binding.Binding // of the functions that are judged, one for each pass
	Shares     bool               // its threads share memory
	NoBarrier  bool               // ... and it has no barrier

	interpretation Interpretation
	doubts         map[op.Pass][]backend.Doubt
	right          map[op.Pass]bool // in some call of a trial
	source         string           // hash of the file and of what it includes
	shim           string           // path of the code that triad wrote to call it
	inline         string           // the judged CUDA of a Python file; "" if it has none
	inlineAt       string           // the location of inline
	adapter        *worker.Adapter
	kept           kept     // outcomes of trials
	interpreted    bool     // its kernels run in Triton's interpreter
	launches       bool     // it has kernels of its own, besides the operations of a library
	lines          []string // of the file
	launchLines    []int    // the lines with a <<<
	dynamicShared  bool     // a kernel takes shared memory at its launch
	joined         bool     // the launches of its main() are judged
	proposed       map[op.Pass]declaration.Line
	written        []int // the lines, from 0, before which one was inserted, in order
}

// Each lists the requests that a request stands for: itself, or one for each function of the file that can be
// judged.
func (r Interpretation) Each() []string {
	var several *ownfile.SeveralError
	if _, err := r.Read(); !errors.As(err, &several) {
		return []string{r.Request}
	}
	request, err := ownfile.ParseRequest(r.Request)
	if err != nil {
		return []string{r.Request}
	}
	pass := ""
	if request.Pass != op.PassUnknown {
		pass = "@" + request.Pass.String()
	}
	var all []string
	for _, name := range several.Names {
		all = append(all, request.Path+":"+name+pass)
	}
	return all
}

// Read reads a file, matches its functions and writes the code that calls them. The error is a *op.UsageError
// if the user can correct it, a *ownfile.SeveralError if several functions can be judged.
func (r Interpretation) Read() (*File, error) {
	request, err := ownfile.ParseRequest(r.Request)
	if err != nil {
		return nil, err
	}
	request.Stem, request.Parse = r.Stem, r.Workers.Parse
	path, content, err := r.open(request)
	if err != nil {
		return nil, err
	} else if f, ok := r.throughLauncher(request, path, content); ok {
		return f, nil
	}
	f := &File{Path: path, Name: request.Implementation(), interpretation: r}
	f.lines = strings.Split(string(content), "\n")
	if content, err = f.takeInline(&request, content); err != nil {
		return nil, r.refuse("%v", err)
	}
	content = f.withSingles(content, request.IsPython())
	if f.inline == "" && !request.IsPython() && harmless.Name(path, `"\\`) != path {
		f.inline = string(content) // no #include can name the file
	}
	asCUDA := cfacts.ReadCUDA(string(content)) // a .py may hold CUDA in a string
	f.launchLines, f.dynamicShared = asCUDA.LaunchLines(), asCUDA.TakesShared()
	f.Shares, f.NoBarrier = asCUDA.Shares, asCUDA.Shares && !asCUDA.Waits
	f.interpreted = request.IsPython() && !r.Workers.GPU && importsTriton(string(content))
	f.launches = !request.IsPython() || slices.ContainsFunc(kernelSigns,
		func(sign string) bool { return bytes.Contains(content, []byte(sign)) })
	if !request.IsPython() {
		r.Options.Flags = slices.Concat(r.Options.Flags, nearby.Headers(path, content, r.Options.Flags))
		f.interpretation = r
	}
	bindings, err := f.match(request, content)
	var several *ownfile.SeveralError
	if errors.As(err, &several) && len(several.Names) <= mostFunctions {
		return nil, several
	}
	if at := (*declaration.Error)(nil); errors.As(err, &at) {
		return nil, &op.UsageError{Message: fmt.Sprintf("%s:%v", request.Path, at)}
	}
	if err != nil {
		return nil, r.refuse("%v", err)
	}
	r = f.interpretation
	f.take(bindings)
	if request.IsPython() && usesLibraryAlone(f.Bindings) {
		f.launches, f.interpreted = false, false
	}
	if request.IsPython() {
		return f, f.writePython(shim.PythonShim(path, f.Name, bindings))
	}
	f.describeFlags(r.Options.Flags, r.Workers.GPU)
	for _, other := range r.beside {
		if near, err := filepath.Rel(filepath.Dir(path), other); err == nil {
			f.inline = f.text(content) + "\n#include " + strconv.Quote(filepath.ToSlash(near)) + "\n"
		}
	}
	return f, f.writeCUDA()
}

// Text returns the text of the file.
func (f *File) Text() string { return strings.Join(f.lines, "\n") }

// match matches the functions of a file, or the sequence of launches of its main().
func (f *File) match(request binding.Request, content []byte) ([]*binding.Binding, error) {
	if ownfile.Declares(request, string(content), f.interpretation.Options.Flags,
		f.interpretation.Spec.Name) {
		return f.interpretation.bind(request, f.Path, content)
	}
	for _, alone := range []bool{false, true} {
		if alone && request.Function == "" {
			break
		}
		if bindings, joined := f.bindJoined(request, content, alone); joined {
			return bindings, nil
		}
	}
	bindings, err := f.interpretation.bind(request, f.Path, content)
	clear := func(b *binding.Binding) bool { return b.Pass == op.Forward && !ownfile.Guesses(b) }
	if err != nil || slices.ContainsFunc(bindings, ownfile.Guesses) &&
		!slices.ContainsFunc(bindings, clear) {
		if joined, ok := f.bindJoined(request, content, true); ok {
			return joined, nil
		}
	}
	return bindings, err
}

// take keeps the functions of the requested passes.
func (f *File) take(bindings []*binding.Binding) {
	for _, b := range bindings {
		if !slices.Contains(f.interpretation.Passes, b.Pass) {
			continue
		}
		f.Matched = append(f.Matched, ownfile.Describe(b))
		f.Parameters = append(f.Parameters, b.Parameters()...)
		f.Bindings = append(f.Bindings, b)
		f.Covers.add(b.Pass, Coverage{
			DTypes: b.DTypes(), Pins: b.Pins(), Equal: extents.Equal(b), Dims: params.Fixed(b),
			Distributions: adapters.Distributions(b), LeftOut: adapters.LeftOut(b),
			Shapes: launches.MoreShapes(b),
		})
	}
}

// open returns the path and the text of the requested file.
func (r Interpretation) open(request binding.Request) (path string, content []byte, err error) {
	if r.launches != "" {
		return r.launches, []byte(nearby.Text(r.launches)), nil
	}
	if path, err = filepath.Abs(request.Path); err != nil {
		return "", nil, fmt.Errorf("resolve %s: %w", request.Path, err)
	}
	if content, err = userfile.Read(path); err != nil {
		return "", nil, r.refuse("cannot read the file: %v", errors.Unwrap(err))
	}
	if n := definitions(request, content); n > mostDefinitions {
		return "", nil, r.refuse("it defines %d functions, and triad looks at %d at most: name the one that "+
			"is to be judged, with --add %s:FUNCTION", n, mostDefinitions, request.Path)
	}
	return path, content, nil
}

// usesLibraryAlone reports whether no judged function uses anything else of its file, such as a kernel.
func usesLibraryAlone(bindings []*binding.Binding) bool {
	return len(bindings) > 0 && !slices.ContainsFunc(bindings, func(b *binding.Binding) bool {
		return !b.UsesNothingOfItsFile()
	})
}

// takeInline replaces the file's text by the CUDA that a Python file passes to load_inline, unless a Python
// function is requested.
func (f *File) takeInline(request *binding.Request, content []byte) ([]byte, error) {
	if !request.IsPython() {
		return content, nil
	}
	code, ok, err := ownfile.InlineSources(f.interpretation.Workers.Parse(string(content)))
	if err != nil || !ok {
		return content, err
	}
	named := func(fn cfacts.Function) bool { return fn.Name == request.Function }
	if request.Function != "" && !slices.ContainsFunc(cfacts.ReadCUDA(code).Functions, named) {
		if !f.interpretation.Workers.GPU {
			return nil, fmt.Errorf("without a GPU load_inline builds nothing, so that %[1]s cannot be "+
				"called: leave :%[1]s out, and the CUDA source that is handed over is judged",
				request.Function)
		}
		return content, nil
	}
	request.Inline, f.inline = true, code
	f.Matched = append(f.Matched, "the CUDA source that it hands to load_inline is judged, without the "+
		"Python around it")
	return []byte(code), nil
}

// bind matches the functions of a file, or if it has none, those of the files that it includes.
func (r Interpretation) bind(
	request binding.Request, path string, content []byte,
) ([]*binding.Binding, error) {
	included := ""
	for _, header := range fileversion.Included(path, build.HeaderFolders(r.Options.Flags)) {
		included += "\n" + string(header.Text)
	}
	of := func(text string) ([]*binding.Binding, error) {
		file := ownfile.Read(request, text, r.Options.Flags)
		file.Includes(text, included)
		r.observe(file, path, string(content))
		return ownfile.Bind(file, request, r.Spec, r.Passes, r.Options)
	}
	bindings, err := of(string(content))
	var several *ownfile.SeveralError
	if err == nil || errors.As(err, &several) || request.IsPython() {
		return bindings, err
	}
	if bindings, again := of(string(content) + included); again == nil || errors.As(again, &several) {
		return bindings, again
	}
	return nil, err
}

// observe lets what is read of a CUDA file ask what its main() does, or those of files near it that launch
// its kernels.
func (r Interpretation) observe(file *cfacts.File, path, text string) {
	if r.Workers.Observe == nil || filepath.Ext(path) == ".py" {
		return
	}
	file.Observe(func() *observed.Run {
		if file.Main {
			return r.Workers.Observe(path, text, r.Options.Flags)
		}
		for _, near := range nearby.Launches(path, file.KernelsNotLaunched()) {
			if run := r.Workers.Observe(near, "", r.Options.Flags); run != nil {
				return run
			}
		}
		return nil
	})
}

// kernelSigns lists the signs of kernels in a Python file: of Triton, or CUDA in a string.
var kernelSigns = []string{
	"@triton.jit", "@jit", "@triton.autotune", "@autotune", "@triton.heuristics", "@heuristics", "__global__",
	"load_inline",
}

// importsTriton reports whether a line imports Triton, alone or among others.
func importsTriton(text string) bool {
	return slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool {
		words := cfacts.Words(line)
		return len(words) > 1 && (words[0] == "import" || words[0] == "from") &&
			slices.Contains(words, "triton")
	})
}

func (r Interpretation) refuse(format string, a ...any) error {
	return &op.UsageError{Message: fmt.Sprintf("--add %s: ", r.Request) + fmt.Sprintf(format, a...)}
}

// describeFlags adds to the description of what was understood the flags that the file is compiled with.
func (f *File) describeFlags(flags []string, gpu bool) {
	if len(flags) == 0 {
		return
	}
	text := "compiled with " + strings.Join(flags, " ")
	if emulated, _ := build.CheckFlags(flags); !gpu && len(emulated) < len(flags) {
		known := func(word string) bool { return slices.Contains(emulated, word) }
		without := strings.Join(slices.DeleteFunc(slices.Clone(flags), known), " ")
		text = "compiled for the emulator, where these flags say nothing: " + without
		if len(emulated) > 0 {
			text = "compiled with " + strings.Join(emulated, " ") +
				"; in the emulator these flags say nothing: " + without
		}
	}
	f.Matched = append(f.Matched, text)
}

// IsPython reports whether the file is a .py that is judged as Python.
func (f *File) IsPython() bool { return filepath.Ext(f.Path) == ".py" && f.inline == "" }

// Close ends the worker of the file.
func (f *File) Close() error { return f.adapter.Close() }

// Assumed returns the attributes whose value no parameter, no line of the file and no flag gives, with their
// other values.
func (f *File) Assumed() map[string][]string {
	assumed := map[string][]string{}
	for _, a := range f.interpretation.Spec.Attributes {
		value, pinned := f.Covers.Pins[a.Name]
		asked := func(b *binding.Binding) bool { return b.Options.Attrs[a.Name] != "" }
		if slices.ContainsFunc(f.Bindings, asked) || !pinned || value == "" {
			continue
		}
		for _, v := range a.Choices() {
			if v != value {
				assumed[a.Name] = append(assumed[a.Name], v)
			}
		}
	}
	return assumed
}

// Doubt records for a pass why a wrong answer is no verdict: what was assumed when the file was read.
func (f *File) Doubt(pass op.Pass, why backend.Doubt) {
	if why.Why == "" {
		return
	}
	if f.doubts == nil {
		f.doubts = map[op.Pass][]backend.Doubt{}
	}
	f.doubts[pass] = append(f.doubts[pass], why)
}

// WasRight records that a pass was right in some call.
func (f *File) WasRight(pass op.Pass) {
	if f.right == nil {
		f.right = map[op.Pass]bool{}
	}
	f.right[pass] = true
}

// With rereads the file in another way. The new one has its own worker; what was found for passes that were
// tried before is kept.
func (f *File) With(other binding.Alternative) (*File, error) {
	changed := f.interpretation
	changed.Options = f.interpretation.Options.With(other)
	read, err := changed.Read()
	if err == nil {
		read.Matched = append(read.Matched, "read so since it is wrong otherwise: "+other.Flags)
		read.right, read.doubts = maps.Clone(f.right), maps.Clone(f.doubts)
	}
	return read, err
}

// WithAttribute rereads the file to judge it with another value of an attribute.
func (f *File) WithAttribute(name, value string) (*File, error) {
	changed := f.interpretation
	changed.Options.Attrs = maps.Collect(maps.All(f.interpretation.Options.Attrs)) // a copy, and never nil
	changed.Options.Attrs[name] = value
	return changed.Read()
}

// On rereads the file as it was settled, for other workers.
func (f *File) On(workers Workers) (*File, error) {
	changed := f.interpretation
	changed.Workers = workers
	return changed.Read()
}

// withSingles reads a CUDA file with some of its doubles as floats, if its interpretation requests that.
func (f *File) withSingles(content []byte, python bool) []byte {
	if values := f.interpretation.Options.Singles; len(values) > 0 && !python {
		f.inline = cfacts.WithSingles(string(content), values)
		return []byte(f.inline)
	}
	return content
}
