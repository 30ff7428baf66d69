package binding

import (
	"fmt"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/indexing"
	"triad/internal/ownfile/match"
	"triad/internal/ownfile/pyfacts"
)

// onlyRead reports whether a kernel reads what a pointer points to and writes at least as many others as
// there are outputs, or a function of library operations returns its result and leaves the parameter alone:
// then it is no output, whatever its name. A pointer that is passed on may be written there.
func (b *Binding) onlyRead(p cfacts.Param) bool {
	if b.UsesNothingOfItsFile() {
		said, whole := b.Function.FactsOf(p.Name), b.Function.Parsed()
		filled := func(h pyfacts.Handed) bool { return h.Name == "out" }
		return whole.Gives && !said.Changed && !said.Renamed && !slices.Contains(whole.GivesBack, p.Name) &&
			!slices.ContainsFunc(said.Handed, filled)
	}
	written := len(Those(b.Function.Params, isWritten))
	return b.Function.Kind == cfacts.Kernel && indexing.OnlyRead(b.Function.Body, p.Name) &&
		(written >= len(b.OutputSpecs) || slices.ContainsFunc(b.Function.Params, b.WrittenAlone))
}

func isWritten(p cfacts.Param) bool { return p.Pointer && p.Writing.Any() }

// WrittenAlone reports whether a pointer is the only one that the lines of a CUDA function write, and each
// other one is only read: it is the output, if there is one.
func (b *Binding) WrittenAlone(p cfacts.Param) bool {
	others := func(o cfacts.Param) bool {
		return o.Pointer && o.Name != p.Name && (o.Writing.Any() || b.Function.Kind == cfacts.Kernel &&
			!o.Const && !indexing.OnlyRead(b.Function.Body, o.Name))
	}
	return isWritten(p) && !b.Function.ReturnsTensors && !p.Reread && !p.Added && len(b.Required()) == 1 &&
		!slices.ContainsFunc(b.Function.Params, others) && (b.Function.Kind == cfacts.Kernel ||
		b.Function.Kind == cfacts.Host && len(b.File.HostArrays(b.Function)) > 0)
}

// blockNames lists common names for the number of threads in a block.
var blockNames = []string{
	"block_size", "blocksize", "threads", "num_threads", "nthreads", "n_threads",
	"block_dim", "tpb", "threads_per_block",
}

// CountsThreads reports whether a parameter is, by its name, the number of threads in a block.
func CountsThreads(p cfacts.Param) bool {
	return p.IsInteger() && slices.Contains(blockNames, match.Snake(p.Name))
}

// ScoreOutput returns how well a name that says that it is an output fits an output: output_lse.
func (b *Binding) ScoreOutput(p cfacts.Param, target string) int {
	for _, prefix := range []string{"output_", "out_", "o_"} {
		if rest, ok := strings.CutPrefix(match.Snake(p.Name), prefix); ok {
			return match.Score(b.Spec, b.Pass, rest, target)
		}
	}
	return 0
}

// The forms of what a Python file defines.
const (
	PlainForm  = pyfacts.Plain   // NAME(a=..., b=...)
	AppliedTo  = pyfacts.Applied // its apply takes positional arguments
	ModuleForm = pyfacts.Module  // it is created, and called with our weights
	PackedForm = pyfacts.Packed  // custom_kernel(data), where data holds all tensors
	KernelForm = pyfacts.Kernel  // we launch it
)

// GradientNames returns the gradients that a backward computes, and the positions of their inputs.
func (b *Binding) GradientNames() (names []string, positions []int) {
	_, outputs := b.Spec.Tensors(op.Backward)
	for _, t := range outputs {
		of, found := strings.CutPrefix(t.Name, "grad_")
		if i := slices.IndexFunc(b.InputSpecs, func(in op.TensorSpec) bool { return in.Name == of }); found &&
			i >= 0 {
			names, positions = append(names, t.Name), append(positions, i)
		}
	}
	return names, positions
}

// ReturnedNames returns the names of the values that a Python function returns, "" for a value that is not a
// name; nil if it does not return several values, the same in every return.
func (b *Binding) ReturnedNames() []string {
	if b.Pass != op.Forward || b.Each || b.Fills() || b.Function.Form == AppliedTo {
		return nil
	}
	return b.Function.Parsed().Tuple
}

// givesDType returns the dtype in which a Python function creates its result whatever it takes, or "" if the
// lines do not give one.
func (b *Binding) givesDType() string {
	if b.Function.Kind != cfacts.Python || b.Function.Form == AppliedTo {
		return ""
	}
	follows := len(b.OutputSpecs) > 0 && (b.OutputSpecs[0].DType == "" || b.OutputSpecs[0].DType == "$1")
	if d := b.Function.Parsed().MadeAs; d != "" && follows {
		return d
	}
	return ""
}

// ReturnsItself reports whether a Python function returns the input itself; it then gets a copy.
func (b *Binding) ReturnsItself(a Argument) bool {
	return a.Role == Input && b.Function.Kind == cfacts.Python && b.Function.Form == PlainForm &&
		b.Pass == op.Forward && slices.Contains(b.Function.Parsed().GivesBack, a.Name)
}

// AttributePython returns the Python value passed for an attribute. For a switch that replaces an enumeration
// with a value none, it is whether the value is another one.
func (b *Binding) AttributePython(a Argument) string {
	t := b.Spec.Attributes[a.Index]
	if t.Type == "enum" && a.Base == "bool" && slices.Contains(t.Values, "none") {
		return fmt.Sprintf("attributes[%q] != %q", a.Target, "none")
	}
	return fmt.Sprintf("attributes[%q]", a.Target)
}

// Fills reports whether outputs are parameters of the function.
func (b *Binding) Fills() bool {
	return slices.ContainsFunc(b.Args, func(a Argument) bool { return a.Role == Output })
}

func PythonName(dim string) string { return "dim_" + dim }

func PythonSize(target string) string {
	dims := DimsOf(target)
	if !strings.Contains(target, "*") {
		dims = dims[:1]
	}
	for i := range dims {
		if dims[i][0] < '0' || dims[i][0] > '9' { // of twice a size
			dims[i] = PythonName(dims[i])
		}
	}
	return strings.Join(dims, " * ")
}

// TakeHostArrays finds the tensors that a function takes as pointers to host memory, to read and write.
func (b *Binding) TakeHostArrays() {
	if b.Extension || b.Each {
		return
	}
	names := b.File.HostArrays(b.Function)
	for i := range b.Args {
		a := &b.Args[i]
		tensor := a.Role == Input || a.Role == Output
		if tensor && a.Pointer && !a.TorchTensor && slices.Contains(names, a.Name) {
			a.Host = true
		}
	}
}
