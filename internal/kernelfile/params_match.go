package kernelfile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/indexing"
	"triad/internal/ownfile/layout"
	"triad/internal/ownfile/match"
)

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
	said                *said             // what the line above the function says; nil: there is none
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
	Spec     *op.Spec
	Pass     op.Pass
	Function cfacts.Function
	Args     []Argument
	Cases    []Instance
	Options  Options
	given    Options // before the lines of the file changed them
	Launch   *Launch // of a kernel; nil for a host function
	Notes    []string
	Draws    string   // why its forward cannot be judged: it draws random numbers of its own
	kernels  []string // the file's
	numbers  []string // proposed for its template: "BLOCK is 256"
	varies   bool     // the last bits of its outputs may differ from run to run
	inputs   []op.TensorSpec
	outputs  []op.TensorSpec
	open     map[string]bool  // parameters whose names fit several things equally well
	covered  map[string]bool  // dims that need no parameter, since they have a default
	implied  map[string]int64 // dims without a parameter, with their assumed sizes
	// sizes that constants of the file give, and that it allocates nothing with
	guessedSizes map[string]int64
	extension    bool          // its file includes torch/extension.h
	plan         *plan         // what the shim takes at run time
	triton       *tritonLaunch // of a Triton kernel
	forward      *Binding      // of a backward that goes through autograd: its forward
	literals     []float64     // the numbers in the file
	doubles      []float64     // those of them that are doubles, and others in fp32
	asked        []string      // the dtypes that its lines request
	narrow       bool          // its file names a type of 16 bits, or the dtype of its tensors
	sixteen      bool          // its file names a type of 16 bits
	away         bool          // its file rounds halves away from zero, or up
	withoutDType bool          // nothing requests a dtype: its tensors are taken for fp32
	stores       bool          // its kernels convert everything they store to the requested dtype
	// the parameters that the file's lines show to be the length of a pointer's rows, by the pointer's name
	rows    map[string]string
	places  map[string][]string // the indexes of each pointer
	squared map[string]bool     // sizes whose square occurs in the lines
	vectors map[string]string   // what bounds the variable that a pointer is indexed with
	// how it is called if its tensors are not laid out as the operator's (adapters.go)
	without  map[string]bool   // tensors without a parameter of their own
	each     bool              // it is called once for each of a pair of tensors
	bshd     bool              // tensors are laid out as BSHD
	ordered  bool              // the file gives the order of the sizes of its tensors
	asserts  bool              // the file has an assert
	unscaled []string          // the factor and the addend that triad applies
	doubled  bool              // it is called with a factor of 2
	others   []cfacts.Function // of the file
	left     []string          // functions that fit too; the name of one that is judged is the operator's
	named    map[string]string // the numbers that its lines assign to names of attributes
	oddSizes map[string]int64  // the sizes that its lines halve, and those used instead
	// the sizes that its lines require, "if (cols != 1024) return false"
	askedSizes map[string]int64
	returned   string       // the output that it returns as a number
	file       *cfacts.File // that contains it
	whole      bool         // its tensors are ints, where the operator has floats
}

// Instance is one dtype of the operator that the function takes; Call is the name with its template arguments
// for that dtype.
type Instance struct {
	DType string
	Main  op.DType
	Call  string
	types map[string]string // of the template's type parameters
}

// candidate is one possible meaning of a parameter.
type candidate struct {
	role   Role
	target string
	index  int
	score  int
}

// Match finds the meaning of every parameter of a function. The error is a *op.UsageError.
func Match(file *cfacts.File, fn cfacts.Function, spec *op.Spec, pass op.Pass, options Options) (
	*Binding, error,
) {
	sizes, sure, err := constantSizes(file, fn, spec, pass, options)
	if err != nil {
		return nil, err
	}
	if len(sizes) > 0 {
		options.Dims = sizes
	}
	b, err := matchSized(file, fn, spec, pass, options)
	if err == nil && !sure {
		b.guessedSizes = sizes
	}
	return b, err
}

// matchSized binds a function whose sizes are parameters or specified.
func matchSized(file *cfacts.File, fn cfacts.Function, spec *op.Spec, pass op.Pass, options Options) (
	*Binding, error,
) {
	b := newBinding(file, fn, spec, pass, options)
	b.inputs, b.outputs = spec.Tensors(pass)
	if err := b.matchIn(file); err != nil {
		return nil, b.withLine(err)
	}
	return b, nil
}

// matchIn matches the function to its pass.
func (b *Binding) matchIn(file *cfacts.File) error {
	fn := b.Function
	b.takeFP32(file)
	b.readLines(file)
	if err := b.checkMap(); err != nil {
		return err
	}
	choices := make([][]candidate, len(fn.Params))
	for i, p := range fn.Params {
		var err error
		if choices[i], err = b.candidates(p); err != nil {
			return err
		}
	}
	if err := b.matchLeftover(b.byName(choices)); err != nil {
		return err
	}
	if err := b.checkFactors(); err != nil {
		return err
	}
	_, b.askedSizes = b.sizesAskedFor()
	b.nameNumbers(file)
	b.readExtents()
	b.readHalved(file)
	b.pairInPlace()
	b.writesOver()
	b.chooseOrder(file)
	if err := b.checkTensors(); err != nil {
		return err
	}
	if err := cmp.Or(b.checkNeeds(file), b.checkTables()); err != nil {
		return err
	}
	if fn.ShowsSizes() && !b.takesSizes() {
		b.covered = nil // a tensor carries its sizes
	}
	b.takeRank()
	b.takeOtherTypes(file)
	if err := b.instances(); err != nil {
		return err
	}
	if err := b.checkContract(); err != nil {
		return err
	}
	if fn.Kind == cfacts.Kernel {
		if err := b.proposeLaunch(file); err != nil {
			return err
		}
	}
	if fn.Form == kernelForm {
		if err := b.proposeTriton(); err != nil {
			return err
		}
	}
	return b.checkSizes(file)
}

// newBinding returns a binding without any matches.
func newBinding(file *cfacts.File, fn cfacts.Function, spec *op.Spec, pass op.Pass,
	options Options,
) *Binding {
	given := options
	fn.Params = slices.Clone(fn.Params)
	for i, p := range fn.Params { // T alpha is a number, whatever T is
		if !p.Pointer && slices.ContainsFunc(fn.Template, func(t cfacts.TemplateParam) bool {
			return t.Type && t.Name == strings.TrimPrefix(p.Base, "const ")
		}) {
			fn.Params[i].Base = "float"
		}
	}
	if fn.Kind == cfacts.Kernel && len(options.Arguments) == 0 && len(fn.Template) > 0 {
		options.Arguments = file.LaunchedArguments(fn)
	}
	var numbers []string
	if fn.Kind == cfacts.Kernel && len(options.Arguments) == 0 {
		var said map[string]string
		if options.said != nil {
			said = options.said.numbers
		}
		numbers = proposedNumbers(&fn, said)
	}
	return &Binding{
		Spec: spec, Pass: pass, Function: fn, Options: options, given: given, varies: file.Adds,
		without: map[string]bool{}, others: file.Functions, numbers: numbers,
		covered: map[string]bool{}, open: map[string]bool{}, literals: file.Literals, asked: file.DTypes,
		narrow: file.Narrow, doubles: file.Doubles, file: file,
		extension: file.TorchExtension,
		asserts:   slices.ContainsFunc(file.Tokens, func(t cfacts.Token) bool { return t.Text == "assert" }),
	}
}

// checkNeeds refuses a file that cannot compute the operator's own numbers, such as its random ones, unless
// it takes their seed. With a seed the forward shows which elements it chooses, and the backward is judged by
// that.
func (b *Binding) checkNeeds(file *cfacts.File) error {
	own := b.Spec.Own
	has := func(word string) bool { return strings.Contains(file.Words, word) }
	if len(own.Needs) == 0 || slices.ContainsFunc(own.Needs, has) {
		return nil
	}
	if !b.has(Attribute, own.Seed) {
		return b.errorf("%s", own.Lacks)
	}
	b.Draws = own.Lacks
	b.Notes = append(b.Notes, "its random numbers are its own: its gradient is judged by the elements that "+
		"its forward keeps")
	return nil
}

// takeOtherTypes finds the tensors whose type or location in the function differs from the operator's.
func (b *Binding) takeOtherTypes(file *cfacts.File) {
	b.narrowIntegers()
	b.takeBlockTotals(file)
	b.takeWhole()
	b.takeHostArrays()
}

// readLines keeps what the file's lines show, and which dims need no parameter.
func (b *Binding) readLines(file *cfacts.File) {
	if b.Function.Kind == cfacts.Python {
		b.squared = pythonSquares(&b.Function)
	} else {
		b.rows, b.places = indexing.RowLengths(file, &b.Function)
		b.squared = indexing.Squares(file, &b.Function)
		b.vectors = indexing.VectorLengths(file, &b.Function)
	}
	for _, f := range file.Functions {
		if f.Kind == cfacts.Kernel {
			b.kernels = append(b.kernels, f.Name)
		}
	}
	for _, d := range b.Spec.Dims {
		b.covered[d.Name] = d.Default != ""
	}
}

func (b *Binding) errorf(format string, a ...any) error {
	return &op.UsageError{Message: fmt.Sprintf("line %d: %s\n  ", b.Function.Line, b.Function.Text) +
		fmt.Sprintf(format, a...)}
}

// targets lists everything that a parameter may be mapped to.
func (b *Binding) targets() []string {
	return slices.Concat(namesOf(b.inputs), namesOf(b.outputs), dimNames(b.Spec), attributeNames(b.Spec),
		b.Spec.SizesBeside())
}

// sameTarget compares with a target of --map, which may be written with or without blanks.
func sameTarget(asked string) func(string) bool {
	plain := func(s string) string { return strings.ReplaceAll(s, " ", "") }
	return func(target string) bool { return plain(target) == plain(asked) }
}

func (b *Binding) checkMap() error {
	for _, name := range slices.Sorted(maps.Keys(b.Options.Map)) {
		if !slices.ContainsFunc(b.Function.Params, func(p cfacts.Param) bool { return p.Name == name }) {
			if b.Options.Several {
				continue
			}
			return b.errorf("--map %s=%s: it has no parameter called %s", name, b.Options.Map[name], name)
		}
		if target := b.Options.Map[name]; !slices.ContainsFunc(b.targets(), sameTarget(target)) &&
			!b.knownWord(target) {
			return b.errorf("--map %s=%s: %s has no %s: want one of %s, or of %s", name, target, b.Spec.Name,
				target, strings.Join(b.targets(), ", "), strings.Join(b.adapterWords(), ", "))
		}
	}
	return nil
}

// candidates lists the possible meanings of a parameter by its type, with the scores of its name.
func (b *Binding) candidates(p cfacts.Param) ([]candidate, error) {
	unknown := p.Pointer && !b.pointsToKnown(p)
	var all []candidate
	switch {
	case p.Place == cfacts.InStride:
		return []candidate{{Stride, p.Name, 0, 1000}}, nil
	case p.IsStream():
		return []candidate{{Stream, "the stream", 0, 1000}}, nil
	case unknown:
		return nil, b.errorf("the type of %s, %s, is none of float, half, __nv_bfloat16, "+
			"__nv_fp8_e4m3, __nv_fp8_e5m2, signed integers, unsigned char, bool: write it so, or "+
			"judge a function that takes plain device pointers", p.Name, p.Text)
	case p.Pointer:
		all = b.candidateTensors(p)
	case b.isShapeOfWeights(p):
		all = b.candidateShape(p)
	case p.IsInteger() || p.IsFloat() || p.IsBool() || p.Untyped:
		if countsThreads(p) && b.Options.Map[p.Name] == "" {
			return nil, nil // takeConstant takes it
		}
		all = b.candidateNumbers(p)
	case p.IsShape():
		all = b.candidateShape(p)
	default:
		return nil, b.errorf("the parameter %s is neither a device pointer nor a number: triad can pass "+
			"pointers, sizes, attributes and a cudaStream_t", p.Text)
	}
	if wanted, ok := b.Options.Map[p.Name]; ok {
		if b.knownWord(wanted) {
			if err := b.checkWord(p, wanted); err != nil {
				return nil, err
			}
			said, tensor := b.sayWord(wanted)
			if wanted = said.target; !tensor || wanted == "" || said.adapter.Adapter == layout.Packed {
				return nil, nil // sayAdapters and takePlainFactor take it
			}
		}
		all = slices.DeleteFunc(all, func(c candidate) bool { return !sameTarget(wanted)(c.target) })
		for i := range all {
			all[i].score = 1000
		}
		if len(all) == 0 {
			return nil, b.errorf("--map %s=%s: the type of %s does not fit %s", p.Name, wanted,
				p.Text, wanted)
		}
	}
	return all, nil
}

// pointsToKnown reports whether a pointer points to elements of a type that triad knows.
func (b *Binding) pointsToKnown(p cfacts.Param) bool {
	_, _, ok := p.Element()
	return ok || slices.ContainsFunc(b.Function.Template, func(t cfacts.TemplateParam) bool {
		return t.Type && t.Name == p.Base
	})
}

// candidateTensors returns the tensors that a pointer may stand for; a const one may only be an input, the
// one that the lines write only an output.
func (b *Binding) candidateTensors(p cfacts.Param) []candidate {
	var all []candidate
	for i, t := range b.inputs {
		if b.Options.Map[p.Name] == "" && b.writtenAlone(p) {
			break
		}
		s := b.score(p, t.Name)
		if !p.Const {
			s -= 12 // if both fit, a writable pointer is the output
		}
		all = append(all, candidate{Input, t.Name, i, max(s, 0)})
	}
	for i, t := range b.outputs {
		if !p.Const && !b.Function.ReturnsTensors && !b.onlyRead(p) {
			all = append(all, candidate{Output, t.Name, i, max(b.score(p, t.Name), b.scoreOutput(p, t.Name))})
		}
	}
	return all
}

// candidateNumbers returns the attributes and sizes that a number may stand for. An untyped Python parameter
// may also be a tensor.
func (b *Binding) candidateNumbers(p cfacts.Param) []candidate {
	var all []candidate
	for i, a := range b.Spec.Attributes {
		if p.IsBool() && a.Type == "enum" && b.Function.Kind == cfacts.Python &&
			(len(a.Values) != 2 || !slices.Contains(a.Values, "none")) {
			continue // it is unknown which of the values it switches on
		}
		if a.Type == "bool" && presetMask.MatchString(p.Text) && b.Options.Map[p.Name] == "" {
			continue
		}
		if p.Untyped || a.Type == "float" && p.IsFloat() || a.Type != "float" && !p.IsFloat() {
			all = append(all, candidate{Attribute, a.Name, i, b.score(p, a.Name)})
		}
	}
	if p.Untyped && p.Place == cfacts.InCall && !b.namesAxis(p) {
		all = append(all, b.candidateTensors(p)...)
	}
	if (p.IsInteger() || p.Untyped) && !presetAxis.MatchString(p.Text) && !b.namesAxis(p) {
		free := b.sizeByRows(p)
		if all := b.countedProduct(p); all != "" && b.Options.Map[p.Name] == "" {
			return []candidate{{Size, all, -1, scoreProduct}}
		}
		for i, d := range b.Spec.Dims {
			score := b.score(p, d.Name)
			if free && slices.Contains(b.sides(), d.Name) {
				score = max(score, 1)
			}
			all = append(all, candidate{Size, d.Name, i, score})
		}
		for _, name := range b.Spec.SizesBeside() {
			all = append(all, candidate{Size, name, -1, b.score(p, name)})
		}
	}
	return all
}

// isShapeOfWeights reports whether a parameter of a Python function is, by its name, the shape of its
// weights: weight_shape.
func (b *Binding) isShapeOfWeights(p cfacts.Param) bool {
	return b.Function.Kind == cfacts.Python && p.Untyped && !p.Optional &&
		slices.Contains(weightsShapes, p.Name)
}

// weightsShapes lists names of the shape of weights.
var weightsShapes = strings.Fields("weight_shape w_shape norm_shape normalized_shape normalised_shape " +
	"gamma_shape")

// candidateShape returns what a list of sizes may stand for: the sizes of a row, as normalized_shape.
func (b *Binding) candidateShape(p cfacts.Param) []candidate {
	last := b.lastSize()
	for i, d := range b.Spec.Dims {
		if d.Name == last {
			return []candidate{{Size, last, i, max(b.score(p, last), 1)}}
		}
	}
	return nil
}

// score returns how well the name of a parameter fits the spec's name target.
func (b *Binding) score(p cfacts.Param, target string) int {
	return match.Score(b.Spec, b.Pass, p.Name, target)
}

func (b *Binding) has(role Role, target string) bool {
	return slices.ContainsFunc(b.Args, func(a Argument) bool {
		return a.Role == role && a.Target == target || role == Input && a.Over == target
	})
}
