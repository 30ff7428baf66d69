package advice

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"triad/internal/backend"
	"triad/internal/harmless"
	"triad/internal/op"
)

var (
	missingHeader = regexp.MustCompile(`fatal error: '?([^:'\n]+)'?` +
		`(?:: No such file or directory| file not found)`)
	missingModule = regexp.MustCompile(`(?:ModuleNotFoundError|ImportError): No module named '([\w.]+)'` +
		`(?:: (\S+ -m pip install \S+))?`)
	otherVersion = regexp.MustCompile(`ImportError: cannot import name '(\w+)' from '([\w.]+)' ` +
		`\(\S*site-packages/`)
	unknownName = regexp.MustCompile(`[‘']([\w:]+)[’'] (?:was not declared|has not been declared|` +
		`does not name a type|is not a member of)`)
	// a compiler's note behind a redefinition, about a line of the emulator
	definedTwice = regexp.MustCompile(`redefinition of [‘'][^’'\n]*?(\w+)(?:\([^’'\n]*)?[’'](?:[^\n]*\n)` +
		`(?:[^\n]*\n){0,6}?\S*cuda/emulator/\S+: note: `)
	undeclared = regexp.MustCompile( // of clang
		`(?:use of undeclared identifier|unknown type name) '([\w:]+)'`,
	)
	noNamespace = regexp.MustCompile(`[‘'](\w+)[’'] is not a ` +
		`(?:namespace-name|class, namespace, or enumeration)`)
	// headers of CUDA and its libraries; the emulator has its own versions of those that it knows
	toolkitHeader = regexp.MustCompile(`^(mma|nccl|curand\w*|cublas\w*|cudnn\w*|cusparse|` +
		`cusolver\w*|cufft\w*|` +
		`cuda\w*|nvtx\w*|nvToolsExt|cooperative_groups\w*|math_functions|sm_\w+|texture_\w+)\.h$|` +
		`^(cub|thrust|cuda|nvtx3|cooperative_groups)/`)
	notInExtension = regexp.MustCompile(
		`[‘'](?:class |struct |const )*(?:torch|at|c10)::[^’']*[’'] has no member ` +
			`named [‘'](\w+)[’']|[‘'](\w+)[’'] is not a member of [‘'](?:torch|at|c10)[^’']*[’']`,
	)
	notInterpreted = regexp.MustCompile(`(\w+) not supported in interpreter mode|` +
		`'(?:InterpreterBuilder|TensorHandle)' object has no attribute '(\w+)'`)
	// A libdevice function that the interpreter lacks is called as written, as if outside of a kernel, and
	// the message says so. Outside of a kernel the message is true.
	ofLibdevice = regexp.MustCompile(`\blibdevice\.\w+`)
	noSemantic  = "argument must be provided outside of JIT functions"
	// a line that requires a tensor of other sizes, whatever is in it
	unpacks      = regexp.MustCompile(`^ValueError: (?:too many|not enough) values to unpack \(expected \d+`)
	unpacksSizes = regexp.MustCompile(`,.*[^=]=\s*(\w+)\.(?:shape|size\(\))\s*(?:#.*)?$`)
	// exceptions of the interpreter's C++ about atomics on elements that it does not support, such as bf16
	noAtomics   = regexp.MustCompile(`^ValueError: Unsupported data type$`)
	ofPython2   = regexp.MustCompile(`^NameError: name '(xrange|unicode|raw_input)' is not defined`)
	notInTriton = regexp.MustCompile(`module '(triton[\w.]*)' has no attribute '(\w+)'`)
	notEmulated = regexp.MustCompile(`: (the emulator has no [^\n]*)`)
	wantsGPU    = regexp.MustCompile(`no NVIDIA driver|not compiled with CUDA|No CUDA GPUs are available|` +
		`no CUDA-capable device|0 active drivers`)
	// an import that another file than the judged one ended (pybridge/user_files/own_file.py)
	raisedBeyond = regexp.MustCompile(`\(raised in [^\n]*\)`)
	// torch's message about an extension that is compiled when a file is imported
	wantsCompiler = regexp.MustCompile(`CUDA_HOME environment variable is not set|` +
		`Ninja is required to load C\+\+ extensions|Error building extension`)
	// Python's message about one that was not compiled
	noExtension = regexp.MustCompile(`^ImportError: \S+\.so: cannot open shared object file`)
	// torch's message about an operator that an extension would have registered
	noOperator = regexp.MustCompile(`RuntimeError: operator (\w+)::(\w+) does not exist`)
	notLinked  = regexp.MustCompile(`undefined (?:symbol:|reference to) [\x60‘']?([^\s'’;]+)`)
	// an assert that checks the values of tensors, and not their sizes, dtypes or strides
	looksAtValues = regexp.MustCompile(
		`allclose|isnan|isfinite|isinf|\.(?:all|any|max|min|sum|item|equal)\(`,
	)
	checksGPU = regexp.MustCompile(`\bis_cuda\b|\.device\.type\b|\bis_available\b`)
)

// toolkit lists prefixes of names that CUDA and its libraries define, and no user program.
var toolkit = []string{
	"cuda", "cublas", "cudnn", "curand", "cusparse", "cusolver", "cufft", "nvcuda", "nvtx", "nccl", "__nv_",
	"__cuda", "thrust", "cub", "wmma", "cooperative_groups", "cute", "cutlass", "cg", "at", "torch", "c10",
}

// cudaNames are the public device functions, intrinsics and types of CUDA 13.0's headers. A name that is not
// among them, such as __my_helper, is the file's own.
//
//go:embed cuda_names.txt
var cudaNames string

var isCUDAName = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for _, name := range strings.Fields(cudaNames) {
		names[name] = true
	}
	return names
})

// BuildLimit reports for a file that could not be built or imported whether something is missing here, rather
// than wrong in the file: UNAVAILABLE for a header, a package, a constant or a GPU, UNSUPPORTED for what the
// emulator lacks. ok is false if it is the file's fault. message is the failure's sentence, log the complete
// output. emulated means that no GPU runs it.
func BuildLimit(message, log string, emulated bool) (status op.Status, sentence string, ok bool) {
	text := message + "\n" + log
	if m := missingHeader.FindStringSubmatch(text); m != nil && emulated &&
		toolkitHeader.MatchString(m[1]) {
		return op.StatusUnsupported, fmt.Sprintf(
			"it includes %s, which the emulator does not have: run it "+
				"where a GPU is, or leave out what needs it",
			m[1],
		), true
	} else if m != nil {
		return op.StatusUnavailable, fmt.Sprintf("it includes %s, which is not here: name its folder, as in "+
			"--nvcc-flags -Iinclude, or leave out what needs it", m[1]), true
	}
	if name := Lacking(text); name != "" {
		return op.StatusUnavailable, fmt.Sprintf("it uses %s, which another file defines: triad builds "+
			"a file alone; include that file, or judge the function without what "+
			"needs it", name), true
	}
	if status, sentence := importLimit(message, emulated); sentence != "" {
		return status, sentence, true
	}
	if m := notEmulated.FindStringSubmatch(": " + text); m != nil && emulated {
		return op.StatusUnsupported, m[1] + ", or run it where a GPU is", true
	}
	if m := definedTwice.FindStringSubmatch(log); m != nil && emulated {
		return op.StatusUnsupported, fmt.Sprintf("it defines %s, which the emulator's headers define too: "+
			"leave that out, as CUDA has it, or run it where a GPU is", m[1]), true
	}
	if m := notInExtension.FindStringSubmatch(text); m != nil {
		return op.StatusUnsupported, fmt.Sprintf("triad's torch/extension.h, with which it is compiled, "+
			"does not have %s of PyTorch: leave it out, or judge the function that takes device "+
			"pointers (%s)",
			m[1]+m[2], harmless.FirstLine(message)), true
	}
	for _, pattern := range []*regexp.Regexp{unknownName, undeclared, noNamespace} {
		if m := pattern.FindStringSubmatch(text); m != nil && emulated && ofToolkit(m[1]) {
			return op.StatusUnsupported, fmt.Sprintf(
				"the emulator does not have %s: run it where a GPU is, "+
					"or leave it out (%s)",
				m[1],
				harmless.FirstLine(message),
			), true
		}
	}
	if at := strings.Index(message, "a macro that hides a "); at >= 0 && emulated {
		return op.StatusUnsupported, "a macro hides a launch, and the emulator reads it where it is " +
			"written: run it where a GPU is, or use " + message[at+strings.Index(message[at:], "cuda"):], true
	}
	sentence = undefinedConstants(message, log)
	return map[bool]op.Status{true: op.StatusUnavailable}[sentence != ""], sentence, sentence != ""
}

// Lacking returns the function that a file lacks whose library could not be linked or loaded, or "".
func Lacking(log string) string {
	if m := notLinked.FindStringSubmatch(log); m != nil {
		return plainSymbol(m[1])
	}
	return ""
}

// importLimit returns what a failed import lacks on this machine, or "" if nothing is missing.
func importLimit(message string, emulated bool) (status op.Status, sentence string) {
	if m := missingModule.FindStringSubmatch(message); m != nil && m[1] == "cuda.tile" ||
		strings.Contains(message, "ImportError: cannot import name 'tile' from 'cuda' ") {
		return op.StatusUnavailable, "it imports cuda.tile, whose kernels run on a GPU alone: run it where " +
			"one is, after triad setup --cutile"
	} else if m != nil {
		install := m[2]
		if install == "" {
			install = "pip install it there (triad doctor names that Python)"
		}
		return op.StatusUnavailable, fmt.Sprintf("it imports %s, which is not in the Python that runs it: "+
			"%s, or leave the import out", m[1], install)
	}
	if m := otherVersion.FindStringSubmatch(message); m != nil {
		return op.StatusUnavailable, fmt.Sprintf("it imports %s from %s, which the version here does not "+
			"have: triad doctor names the versions; leave the import out, or install another one", m[1],
			m[2])
	}
	if m := noOperator.FindStringSubmatch(message); m != nil && m[1] != "aten" {
		return op.StatusUnavailable, fmt.Sprintf("it names torch.ops.%s.%s, which nothing that it imports "+
			"registers: import the extension in the file, or judge the .cu that has it, with --add", m[1],
			m[2])
	}
	// Python 3.11 cannot tell an f-string with quotes or backslashes within braces from one without its end.
	if strings.Contains(message, "SyntaxError: f-string: expecting '}'") ||
		strings.Contains(message, "SyntaxError: f-string expression part cannot include a backslash") {
		return op.StatusUnavailable, "its f-string is none before Python 3.12, where braces may hold any " +
			"quotes (" + harmless.FirstLine(message) + "): use other quotes in it, or name a newer Python " +
			"in TRIAD_PYTHON"
	}
	if strings.Contains(message, ": SystemExit: ") {
		return op.StatusUnavailable, "it ends the process when it is imported: put what runs at the top of " +
			"the file under if __name__ == \"__main__\": (" + harmless.FirstLine(message) + ")"
	}
	if emulated && wantsGPU.MatchString(message) {
		return op.StatusUnavailable, "it needs a GPU when it is imported, and there is none here: put what " +
			"runs at the top of the file under if __name__ == \"__main__\":, or run it where a GPU is (" +
			harmless.FirstLine(message) + ")"
	}
	if emulated && raisedBeyond.MatchString(message) {
		return op.StatusUnsupported, "what it imports fails where no GPU is (" + harmless.FirstLine(message) +
			"): leave the import out, or run it where a GPU is"
	}
	if emulated && wantsCompiler.MatchString(message) {
		return op.StatusUnavailable, "it compiles an extension when it is imported, which wants nvcc and a " +
			"GPU: judge the .cu that it loads, with --add, or run it where a GPU is (" +
			harmless.FirstLine(message) + ")"
	}
	return op.StatusUnknown, ""
}

// ofToolkit reports whether a name belongs to CUDA or to a library that comes with it.
func ofToolkit(name string) bool {
	return isCUDAName()[name] || slices.ContainsFunc(toolkit, func(prefix string) bool {
		if strings.HasPrefix(prefix, "_") || strings.HasSuffix(prefix, "_") || len(prefix) > 3 {
			return strings.HasPrefix(name, prefix)
		}
		return name == prefix || strings.HasPrefix(name, prefix+"::") || prefix == "cub" &&
			strings.HasPrefix(name, "cub")
	})
}

// givesFP32 is the message of an extension's shim if the extension returns another dtype than the operator's.
const givesFP32 = "it returns fp32 for 16 bits"

// ExplainThrown makes a CUDA call UNSUPPORTED if its host code threw, as a failed TORCH_CHECK does: the shim
// returns that. The run tests whether it declines only for the data.
func ExplainThrown(o *backend.Outcome) {
	if o.Status == op.StatusCrash && strings.Contains(o.Sentence, "returned TRIAD_UNSUPPORTED") {
		o.Status = op.StatusUnsupported
		o.Sentence = "it declines this call, as an assert or a TORCH_CHECK does that does not hold, or by " +
			"returning false; triad results show has its words"
		if strings.Contains(o.Log, givesFP32) {
			o.Sentence = givesFP32 + ", and is judged where both have one dtype: let it return a tensor of " +
				"the dtype that it takes"
		}
	}
}

// refusedByTriton matches Triton's messages about sizes and addresses that it does not support: tiles that
// are not powers of two, and descriptors of tensors that do not begin at a multiple of 16 bytes.
var refusedByTriton = regexp.MustCompile(`arange's range must be a power of 2|` +
	`Shape element \d+ must be a power of 2|(?:base|stride) must be 16-byte aligned`)

// Raised describes where a Python function raised an exception: the line of the user's file, "" if unknown;
// the decorators and parameters of the enclosing function; and the line that begins the enclosing block,
// which says when it is raised. Text is the text of the file.
type Raised struct{ Line, Head, Guard, Text string }

// itself matches a line of a function that raises an exception of its own.
var itself = regexp.MustCompile(
	`^(?:(?:if|elif|else)\b.*:\s*)?raise\s+[\w.]*(?:Error|Exception|Unsupported\w*)\b`,
)

// declines reports whether the author raises on purpose for a call that is not supported: for sizes, dtypes,
// devices or layouts. An exception raised after another failure reports that failure.
func (r Raised) declines() bool {
	return itself.MatchString(strings.TrimSpace(r.Line)) && !strings.Contains(r.Line, " from ") &&
		r.Guard != "" && !strings.HasPrefix(strings.TrimSpace(r.Guard), "except") &&
		!looksAtValues.MatchString(r.Guard)
}

// ExplainDeclined makes a Python exception UNSUPPORTED if it only means that the function does not take such
// a call: there is no GPU, an assert about sizes, dtypes or strides fails, or its lines raise. As for every
// function that declines, the run tests whether it declines only for the data.
func ExplainDeclined(o *backend.Outcome, raised Raised, emulated bool) {
	if o.Status != op.StatusCrash {
		return
	}
	line, head := strings.TrimSpace(raised.Line), raised.Head
	what := harmless.FirstLine(o.Sentence)
	if line != "" {
		what = line
	}
	what = strings.TrimSuffix(what, ".")
	if emulated && explainInterpreter(o, line, head, what) || explainAbsent(o, raised.Text) {
		return
	}
	if m := unpacksSizes.FindStringSubmatch(line); m != nil && unpacks.MatchString(o.Sentence) &&
		hasParameter(head, m[1]) {
		o.Status, o.Sentence = op.StatusUnsupported, "it takes tensors with another number of sizes: "+what
		return
	}
	if m := ofPython2.FindStringSubmatch(o.Sentence); m != nil {
		o.Status, o.Sentence = op.StatusUnsupported, "it is written for Python 2, which has "+m[1]
		return
	}
	if noAtomics.MatchString(o.Sentence) && emulated && !strings.HasPrefix(line, "raise ") {
		o.Status, o.Sentence = op.StatusUnsupported, "Triton's interpreter, which runs it here, does not "+
			"have atomics on this dtype ("+what+"): run it where a GPU is"
		return
	}
	if m := notInTriton.FindStringSubmatch(o.Sentence); m != nil {
		o.Status, o.Sentence = op.StatusUnsupported, fmt.Sprintf(
			"the version of Triton that is here has no "+
				"%s.%s (%s): triad doctor names the version",
			m[1],
			m[2],
			what,
		)
		return
	}
	if m := refusedByTriton.FindString(o.Sentence); m != "" {
		o.Status, o.Sentence = op.StatusUnsupported, "Triton refuses this call, whatever the data: "+m
		return
	}
	asserts := strings.HasPrefix(o.Sentence, "AssertionError") && (strings.HasPrefix(line, "assert ") ||
		strings.HasPrefix(line, "tl.static_assert("))
	switch {
	case emulated && (wantsGPU.MatchString(o.Sentence) || asserts && checksGPU.MatchString(line)):
		o.Sentence = "it asks for a GPU, and none is here: " + what + ". Make tensors with device=x.device " +
			"and leave such checks out, or run it where a GPU is"
	case asserts && !looksAtValues.MatchString(line):
		o.Sentence = "it declines this call: " + what
	case raised.declines() && emulated && checksGPU.MatchString(raised.Guard):
		o.Sentence = "it asks for a GPU, and none is here: " + ofItself(o.Sentence) + ". Leave such checks " +
			"out, or run it where a GPU is"
	case raised.declines():
		o.Sentence = "it declines this call: " + ofItself(o.Sentence)
	default:
		return
	}
	o.Status = op.StatusUnsupported
}

// ofItself returns the message of an exception, in one line, without triad's note about calls that began.
func ofItself(sentence string) string {
	words, _, _ := strings.Cut(sentence, " (a call that began is no call declined")
	return strings.TrimSuffix(harmless.FirstLine(words), ".")
}

// explainInterpreter makes what Triton's interpreter lacks UNSUPPORTED, and an extension that nobody compiles
// here UNAVAILABLE, and reports whether it is one of these.
func explainInterpreter(o *backend.Outcome, line, head, what string) bool {
	if wantsCompiler.MatchString(o.Sentence) || noExtension.MatchString(o.Sentence) {
		o.Status, o.Sentence = op.StatusUnavailable, "it compiles an extension when it is called, "+
			"which wants nvcc and a GPU: judge the .cu that it loads, with --add, or run it where a GPU is ("+
			harmless.FirstLine(o.Sentence)+")"
		return true
	}
	if m := notInterpreted.FindStringSubmatch(o.Sentence); m != nil {
		o.Status, o.Sentence = op.StatusUnsupported, "Triton's interpreter, which runs it here, "+
			"does not have "+
			m[1]+m[2]+" ("+what+"): run it where a GPU is"
		return true
	}
	if m := ofLibdevice.FindString(line); m != "" && strings.Contains(o.Sentence, noSemantic) &&
		kernelHead.MatchString(head) {
		o.Status, o.Sentence = op.StatusUnsupported, "Triton's interpreter, which runs it here, does not "+
			"have "+m+" ("+what+"): run it where a GPU is"
		return true
	}
	return false
}

// kernelHead matches the decorator of a Triton kernel.
var kernelHead = regexp.MustCompile(`(?m)^\s*@(?:triton\.)?jit\b`)

// hasParameter reports whether a name is a parameter of a function; otherwise the function created it itself.
func hasParameter(head, name string) bool {
	_, definition, _ := strings.Cut(head, "def ")
	_, parameters, _ := strings.Cut(definition, "(")
	return regexp.MustCompile(`(?:^|[,*(])\s*` + regexp.QuoteMeta(name) + `\b`).MatchString(parameters)
}

// symbolPart matches a name within a mangled C++ symbol: its length precedes it.
var symbolPart = regexp.MustCompile(`^(\d+)(\w+)`)

// plainSymbol returns the name that a symbol stands for: Timer::total for _ZN5Timer5totalE.
func plainSymbol(symbol string) string {
	rest, nested := strings.CutPrefix(symbol, "_ZN")
	if !nested {
		var mangled bool
		if rest, mangled = strings.CutPrefix(symbol, "_Z"); !mangled {
			return symbol
		}
	}
	rest = strings.TrimLeft(rest, "KVr") // of a member function: const and the like
	var parts []string
	for {
		m := symbolPart.FindStringSubmatch(rest)
		if m == nil {
			break
		}
		n, err := strconv.Atoi(m[1])
		if err != nil || n > len(m[2]) {
			break
		}
		parts = append(parts, m[2][:n])
		rest = rest[len(m[1])+n:]
		if !nested {
			break
		}
	}
	if len(parts) == 0 {
		return symbol
	}
	return strings.Join(parts, "::")
}
