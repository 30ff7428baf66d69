package binding

import (
	"fmt"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/layout"
	"triad/internal/ownfile/match"
)

// HasAdapter reports whether an argument has an adapter.
func (b *Binding) HasAdapter(adapter layout.Adapter) bool {
	return slices.ContainsFunc(b.Args, func(a Argument) bool { return a.Adapter == adapter })
}

func (b *Binding) IsDim(name string) bool {
	return slices.ContainsFunc(b.Spec.Dims, func(d op.DimSpec) bool { return d.Name == name })
}

// LayBSHD gives the tensors that may be BSHD that layout, unless another one was chosen or said.
func (b *Binding) LayBSHD() {
	for i := range b.Args {
		a := &b.Args[i]
		tensor := (a.Role == Input || a.Role == Output) && slices.Contains(b.Spec.Own.Tokens, a.Target)
		if tensor && a.Adapter == layout.AsItLies && !a.Stated {
			a.Adapter = layout.BSHD
		}
	}
}

// Flat reports whether a Python function that takes the number of elements takes one tensor for several, one
// after the other, or is read so: its tensors have no rows then.
func (b *Binding) Flat() bool {
	if b.Options.Flat && b.Function.Kind == cfacts.Python {
		return true
	}
	return b.Function.Kind == cfacts.Python && b.TakesSizes() &&
		slices.ContainsFunc(b.Args, func(a Argument) bool {
			return a.Adapter == layout.Packed && a.Lies == layout.WholeTensors
		})
}

// Condition is a test of a call, as an expression of its sizes and attributes or as Python, and the sentence
// to report if it fails.
type Condition struct{ Code, Sentence string }

// UsesNothingOfItsFile reports whether a Python function names nothing else that its file defines: it
// consists of library operations.
func (b *Binding) UsesNothingOfItsFile() bool {
	return b.Function.Kind == cfacts.Python && b.Function.Form == PlainForm && !b.Function.Parsed().UsesFile
}

// Body is a kernel's body, searched for the launch that it is written for.
type Body struct {
	B      *Binding
	File   *cfacts.File
	Tokens []cfacts.Token
}

// Options holds what a user specifies in addition to the file.
type Options struct {
	Map                 map[string]string // parameter -> tensor, size or attribute of the operator
	Several             bool              // Map is for several files: not every name is of this one
	Dims                map[string]int64  // sizes that --dims fixes
	Bound               map[string]int64  // sizes of a file's only launch, if it is read so
	Attrs               map[string]string // attributes that --attr fixes
	Grid, Block, Shared string            // of a lone kernel, over the dims; "": one is proposed
	Arguments           []string          // of a template
	Without             []string          // sizes of 1 that the tensors of a Python function lack
	Leading             int               // the number of additional leading sizes of 1 that they have
	Flat                bool              // they have one size, their number of elements
	Square              bool              // the matrices of a Python function are squares
	DTypes              []string          // requested by --dtype; none: all
	Singles             []float64         // doubles among the numbers of a CUDA file that are read as floats
	Only                []string          // the dtypes that trials left; none: all
	Contract            string            // declared by the functions; "": see Binding.contract
	Flags               []string          // for nvcc; definitions for the emulator's compiler too
	Operators           []string          // which lines of files may name; none: any
	Said                *Said             // what the line above the function says; nil: there is none
}

// Role is the kind of thing that a parameter stands for.
type Role uint8

// The roles of a parameter.
const (
	Nothing Role = iota
	Input
	Output
	Size
	Attribute
	Stream
	Stride   // of a tensor, as Triton kernels take it
	Constant // a number: threads of a block, or a factor of a size that is another parameter
)

// Argument is a parameter with its meaning: Target is the spec's name, or for a size "rows", "rows * cols" or
// "seq_q = seq_kv".
type Argument struct {
	cfacts.Param
	Role   Role
	Target string
	Index  int    // of a tensor or attribute in the spec; the value of a constant
	Over   string // the input in whose place an output is written; "" if it has its own buffer
	layout.Adapted
	Share int // of a size that several parameters are the factors of: 1 is the smaller factor, 2 the larger
}

// Binding is a function matched to a pass of an operator.
type Binding struct {
	Spec        *op.Spec
	Pass        op.Pass
	Function    cfacts.Function
	Args        []Argument
	Cases       []Instance
	Options     Options
	Given       Options // before the lines of the file changed them
	Launch      *Launch // of a kernel; nil for a host function
	Notes       []string
	Draws       string   // why its forward cannot be judged: it draws random numbers of its own
	Kernels     []string // the file's
	Numbers     []string // proposed for its template: "BLOCK is 256"
	Varies      bool     // the last bits of its outputs may differ from run to run
	InputSpecs  []op.TensorSpec
	OutputSpecs []op.TensorSpec
	Open        map[string]bool  // parameters whose names fit several things equally well
	Covered     map[string]bool  // dims that need no parameter, since they have a default
	Implied     map[string]int64 // dims without a parameter, with their assumed sizes
	// sizes that constants of the file give, and that it allocates nothing with
	GuessedSizes map[string]int64
	Extension    bool          // its file includes torch/extension.h
	Plan         *Plan         // what the shim takes at run time
	Triton       *TritonLaunch // of a Triton kernel
	Forward      *Binding      // of a backward that goes through autograd: its forward
	Literals     []float64     // the numbers in the file
	Doubles      []float64     // those of them that are doubles, and others in fp32
	Asked        []string      // the dtypes that its lines request
	Narrow       bool          // its file names a type of 16 bits, or the dtype of its tensors
	Sixteen      bool          // its file names a type of 16 bits
	away         bool          // its file rounds halves away from zero, or up
	WithoutDType bool          // nothing requests a dtype: its tensors are taken for fp32
	Stores       bool          // its kernels convert everything they store to the requested dtype
	// the parameters that the file's lines show to be the length of a pointer's rows, by the pointer's name
	Rows    map[string]string
	Places  map[string][]string // the indexes of each pointer
	Squared map[string]bool     // sizes whose square occurs in the lines
	Vectors map[string]string   // what bounds the variable that a pointer is indexed with
	// how it is called if its tensors are not laid out as the operator's (adapters.go)
	Without  map[string]bool   // tensors without a parameter of their own
	Each     bool              // it is called once for each of a pair of tensors
	Bshd     bool              // tensors are laid out as BSHD
	Ordered  bool              // the file gives the order of the sizes of its tensors
	Asserts  bool              // the file has an assert
	Unscaled []string          // the factor and the addend that triad applies
	Doubled  bool              // it is called with a factor of 2
	Others   []cfacts.Function // of the file
	Left     []string          // functions that fit too; the name of one that is judged is the operator's
	Named    map[string]string // the numbers that its lines assign to names of attributes
	OddSizes map[string]int64  // the sizes that its lines halve, and those used instead
	// the sizes that its lines require, "if (cols != 1024) return false"
	AskedSizes map[string]int64
	Returned   string       // the output that it returns as a number
	File       *cfacts.File // that contains it
	Whole      bool         // its tensors are ints, where the operator has floats
}

// Instance is one dtype of the operator that the function takes; Call is the name with its template arguments
// for that dtype.
type Instance struct {
	DType string
	Main  op.DType
	Call  string
	Types map[string]string // of the template's type parameters
}

// Candidate is one possible meaning of a parameter.
type Candidate struct {
	Role   Role
	Target string
	Index  int
	Score  int
}

func (b *Binding) Errorf(format string, a ...any) error {
	return &op.UsageError{Message: fmt.Sprintf("line %d: %s\n  ", b.Function.Line, b.Function.Text) +
		fmt.Sprintf(format, a...)}
}

// Targets lists everything that a parameter may be mapped to.
func (b *Binding) Targets() []string {
	return slices.Concat(NamesOf(b.InputSpecs), NamesOf(b.OutputSpecs), DimNames(b.Spec),
		AttributeNames(b.Spec), b.Spec.SizesBeside())
}

// SameTarget compares with a target of --map, which may be written with or without blanks.
func SameTarget(asked string) func(string) bool {
	plain := func(s string) string { return strings.ReplaceAll(s, " ", "") }
	return func(target string) bool { return plain(target) == plain(asked) }
}

// PointsToKnown reports whether a pointer points to elements of a type that triad knows.
func (b *Binding) PointsToKnown(p cfacts.Param) bool {
	_, _, ok := p.Element()
	return ok || slices.ContainsFunc(b.Function.Template, func(t cfacts.TemplateParam) bool {
		return t.Type && t.Name == p.Base
	})
}

// CandidateTensors returns the tensors that a pointer may stand for; a const one may only be an input, the
// one that the lines write only an output.
func (b *Binding) CandidateTensors(p cfacts.Param) []Candidate {
	var all []Candidate
	for i, t := range b.InputSpecs {
		if b.Options.Map[p.Name] == "" && b.WrittenAlone(p) {
			break
		}
		s := b.Score(p, t.Name)
		if !p.Const {
			s -= 12 // if both fit, a writable pointer is the output
		}
		all = append(all, Candidate{Input, t.Name, i, max(s, 0)})
	}
	for i, t := range b.OutputSpecs {
		if !p.Const && !b.Function.ReturnsTensors && !b.onlyRead(p) {
			all = append(all, Candidate{Output, t.Name, i, max(b.Score(p, t.Name), b.ScoreOutput(p, t.Name))})
		}
	}
	return all
}

// IsShapeOfWeights reports whether a parameter of a Python function is, by its name, the shape of its
// weights: weight_shape.
func (b *Binding) IsShapeOfWeights(p cfacts.Param) bool {
	return b.Function.Kind == cfacts.Python && p.Untyped && !p.Optional &&
		slices.Contains(weightsShapes, p.Name)
}

// weightsShapes lists names of the shape of weights.
var weightsShapes = strings.Fields("weight_shape w_shape norm_shape normalized_shape normalised_shape " +
	"gamma_shape")

// Score returns how well the name of a parameter fits the spec's name target.
func (b *Binding) Score(p cfacts.Param, target string) int {
	return match.Score(b.Spec, b.Pass, p.Name, target)
}

func (b *Binding) Has(role Role, target string) bool {
	return slices.ContainsFunc(b.Args, func(a Argument) bool {
		return a.Role == role && a.Target == target || role == Input && a.Over == target
	})
}
