package own

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"triad/internal/op"
)

// Options are what a user says beside the file.
type Options struct {
	Map                 map[string]string // parameter -> tensor, size or attribute of the operator
	Several             bool              // Map speaks of several files: what this one has no parameter for is meant for another
	Dims                map[string]int64  // sizes that --dims fixes
	Attrs               map[string]string // attributes that --attr fixes
	Grid, Block, Shared string            // of a lone kernel: expressions over the dims; "" to have one proposed
	Arguments           []string          // of a template
	Flags               []string          // for nvcc; definitions for the emulator's compiler too
}

// Role is what a parameter stands for.
type Role uint8

// The roles of a parameter.
const (
	Nothing Role = iota
	Input
	Output
	Size
	Attribute
	Stream
	Constant // a number of no tensor: threads of a block, or a factor of a size that another parameter gives whole
)

// Argument is a parameter with what it stands for: Target is the spec's name, or for a size "rows", "rows * cols" or "seq_q = seq_kv".
type Argument struct {
	Param
	Role   Role
	Target string
	Index  int // of a tensor or attribute in the spec; the value of a constant
}

// Binding is a function matched to a pass of an operator.
type Binding struct {
	Spec     *op.Spec
	Pass     op.Pass
	Function Function
	Args     []Argument
	Cases    []Instance
	Options  Options
	Launch   *Launch // of a kernel; nil for a host function
	Notes    []string
	kernels  []string // the file's
	aligned  bool
	inputs   []op.TensorSpec
	outputs  []op.TensorSpec
	covered  map[string]bool // dims that need no parameter, since they have a default
}

// Instance is one dtype of the operator that the function takes; Call is how it is called then: the name with its template's arguments.
type Instance struct {
	DType string
	Main  op.DType
	Call  string
	types map[string]string // of the template's type parameters
}

// candidate is one thing a parameter may stand for.
type candidate struct {
	role   Role
	target string
	index  int
	score  int
}

// Match finds what every parameter of a function stands for. The error is a *op.UsageError.
func Match(file *File, fn Function, spec *op.Spec, pass op.Pass, options Options) (*Binding, error) {
	b := &Binding{Spec: spec, Pass: pass, Function: fn, Options: options, aligned: file.Vectors, covered: map[string]bool{}}
	b.inputs, b.outputs = spec.Tensors(pass)
	for _, f := range file.Functions {
		if f.Kind == Kernel {
			b.kernels = append(b.kernels, f.Name)
		}
	}
	for _, d := range spec.Dims {
		b.covered[d.Name] = d.Default != ""
	}
	if err := b.checkMap(); err != nil {
		return nil, err
	}
	choices := make([][]candidate, len(fn.Params))
	for i, p := range fn.Params {
		var err error
		if choices[i], err = b.candidates(p); err != nil {
			return nil, err
		}
	}
	chosen, err := b.byName(choices)
	if err != nil {
		return nil, err
	}
	if err := b.rest(chosen); err != nil {
		return nil, err
	}
	if err := b.complete(); err != nil {
		return nil, err
	}
	if fn.Kind == Python {
		b.covered = nil // a tensor shows its sizes
	}
	if err := b.instances(); err != nil {
		return nil, err
	}
	if fn.Kind == Kernel {
		if err := b.propose(file); err != nil {
			return nil, err
		}
	}
	return b, b.sizesKnown()
}

func (b *Binding) errorf(format string, a ...any) error {
	return &op.UsageError{Message: fmt.Sprintf("line %d: %s\n  ", b.Function.Line, b.Function.Text) + fmt.Sprintf(format, a...)}
}

// targets lists every name a parameter may be mapped to.
func (b *Binding) targets() []string {
	var all []string
	for _, t := range slices.Concat(b.inputs, b.outputs) {
		all = append(all, t.Name)
	}
	for _, d := range b.Spec.Dims {
		all = append(all, d.Name)
	}
	for _, a := range b.Spec.Attributes {
		all = append(all, a.Name)
	}
	return all
}

func (b *Binding) checkMap() error {
	for _, name := range slices.Sorted(maps.Keys(b.Options.Map)) {
		if !slices.ContainsFunc(b.Function.Params, func(p Param) bool { return p.Name == name }) {
			if b.Options.Several {
				continue
			}
			return b.errorf("--map %s=%s: it has no parameter called %s", name, b.Options.Map[name], name)
		}
		if target := b.Options.Map[name]; !slices.Contains(b.targets(), target) && !slices.Contains(products(b.Spec.Name), target) {
			return b.errorf("--map %s=%s: %s has no %s: want one of %s", name, target, b.Spec.Name, target, strings.Join(b.targets(), ", "))
		}
	}
	return nil
}

// candidates lists what a parameter may stand for by its type, with the scores of its name.
func (b *Binding) candidates(p Param) ([]candidate, error) {
	var all []candidate
	add := func(role Role, target string, index int) {
		s := score(b.Spec, b.Pass, p.Name, target)
		if role == Input && !p.Const {
			s -= 2 // where both fit, what may be written is the output
		}
		if wanted, ok := b.Options.Map[p.Name]; ok && wanted != target {
			return
		} else if ok {
			s = 1000
		}
		all = append(all, candidate{role, target, index, max(s, 0)})
	}
	switch {
	case p.isStream():
		return []candidate{{Stream, "the stream", 0, 1000}}, nil
	case p.Pointer:
		if _, _, ok := p.element(); !ok && !b.isTemplateType(p.Base) {
			return nil, b.errorf("the type of %s, %s, is none of float, half, __nv_bfloat16, __nv_fp8_e4m3, __nv_fp8_e5m2: write it so, or judge a function that takes plain device pointers", p.Name, p.Text)
		}
		for i, t := range b.inputs {
			add(Input, t.Name, i)
		}
		for i, t := range b.outputs {
			if !p.Const {
				add(Output, t.Name, i)
			}
		}
	case p.isInteger() || p.isFloat() || p.isBool() || p.Untyped:
		for i, a := range b.Spec.Attributes {
			if p.Untyped || a.Type == "float" && p.isFloat() || a.Type != "float" && !p.isFloat() {
				add(Attribute, a.Name, i)
			}
		}
		if p.Untyped {
			for i, t := range b.inputs {
				add(Input, t.Name, i)
			}
			for i, t := range b.outputs {
				add(Output, t.Name, i)
			}
		}
		if p.isInteger() || p.Untyped {
			for i, d := range b.Spec.Dims {
				add(Size, d.Name, i)
			}
			for _, name := range products(b.Spec.Name) {
				add(Size, name, -1)
			}
		}
	default:
		return nil, b.errorf("the parameter %s is neither a device pointer nor a number: triad can pass pointers, sizes, attributes and a cudaStream_t", p.Text)
	}
	if wanted, ok := b.Options.Map[p.Name]; ok && len(all) == 0 {
		return nil, b.errorf("--map %s=%s: the type of %s does not fit %s", p.Name, wanted, p.Text, wanted)
	}
	return all, nil
}

// isTemplateType says whether a type is a parameter of the function's template.
func (b *Binding) isTemplateType(name string) bool {
	return slices.ContainsFunc(b.Function.Template, func(t TemplateParam) bool { return t.Type && t.Name == name })
}

// dimsOf are the dims in a size: one, the factors of a product, or several equal ones.
func dimsOf(size string) []string {
	return strings.FieldsFunc(size, func(r rune) bool { return strings.ContainsRune(" *=", r) })
}

// rest gives the parameters whose names say nothing what is left, by type and order; where that does not settle it, it is an error.
func (b *Binding) rest(chosen []candidate) error {
	b.Args = make([]Argument, len(chosen))
	var pointers, numbers []int
	for i, c := range chosen {
		b.Args[i] = Argument{Param: b.Function.Params[i], Role: c.role, Target: c.target, Index: c.index}
		switch {
		case c.role != Nothing:
		case b.Args[i].Optional: // it keeps its default
		case b.Args[i].Pointer || b.Args[i].Untyped:
			pointers = append(pointers, i)
		default:
			numbers = append(numbers, i)
		}
	}
	if err := b.restOfPointers(pointers); err != nil {
		return err
	}
	return b.restOfNumbers(numbers)
}

func (b *Binding) has(role Role, target string) bool {
	return slices.ContainsFunc(b.Args, func(a Argument) bool { return a.Role == role && a.Target == target })
}

// open lists the tensors that no parameter stands for yet.
func (b *Binding) open(role Role, tensors []op.TensorSpec) []int {
	var list []int
	for i, t := range tensors {
		if !b.has(role, t.Name) && !t.Optional {
			list = append(list, i)
		}
	}
	return list
}

func (b *Binding) restOfPointers(pointers []int) error {
	inputs, outputs := b.open(Input, b.inputs), b.open(Output, b.outputs)
	if len(pointers) == 0 {
		return nil
	}
	var read, written []int
	for _, i := range pointers {
		if b.Args[i].Const {
			read = append(read, i)
		} else {
			written = append(written, i)
		}
	}
	// Where nothing is const, inputs come first, outputs after them.
	for len(read) < len(inputs) && (len(written) > len(outputs) || b.Function.Kind == Python && len(written) > 0) {
		read, written = append(read, written[0]), written[1:]
	}
	slices.Sort(read)
	if len(read) != len(inputs) || len(written) != len(outputs) && !(b.Function.Kind == Python && len(written) == 0) {
		return b.errorf("what %s stands for is not clear: %s %v takes %s and gives %s; say it with --map %s=NAME", names(b.Args, pointers), b.Spec.Name, b.Pass,
			tensorNames(b.inputs), tensorNames(b.outputs), b.Args[pointers[0]].Name)
	}
	for k, i := range read {
		b.Args[i].Role, b.Args[i].Target, b.Args[i].Index = Input, b.inputs[inputs[k]].Name, inputs[k]
	}
	for k, i := range written[:min(len(written), len(outputs))] {
		b.Args[i].Role, b.Args[i].Target, b.Args[i].Index = Output, b.outputs[outputs[k]].Name, outputs[k]
	}
	return nil
}

func (b *Binding) restOfNumbers(numbers []int) error {
	for _, i := range numbers {
		a := &b.Args[i]
		var open []string
		for _, k := range b.openSizes(a.Param) {
			open = append(open, b.Spec.Dims[k].Name)
			a.Role, a.Target, a.Index = Size, b.Spec.Dims[k].Name, k
		}
		for k, t := range b.Spec.Attributes {
			if !b.has(Attribute, t.Name) && (a.isFloat() && t.Type == "float" || a.isBool() && t.Type == "bool") {
				open = append(open, t.Name)
				a.Role, a.Target, a.Index = Attribute, t.Name, k
			}
		}
		if len(open) == 0 && b.constant(a) {
			continue
		}
		if len(open) == 0 {
			return b.errorf("what %s stands for is not clear: %s has the sizes %s%s; say it with --map %s=NAME", a.Name, b.Spec.Name, dimNames(b.Spec), attributeNames(b.Spec), a.Name)
		}
		if len(open) > 1 {
			return b.ambiguous(a.Param, open)
		}
	}
	return nil
}

// blockNames are what people call the number of threads in a block.
var blockNames = []string{"block_size", "blocksize", "threads", "num_threads", "nthreads", "n_threads", "block_dim", "tpb", "threads_per_block"}

// constant takes a number that is left for the threads of a block, or for one more factor of a size that is given: batch and length where the
// operator has rows.
func (b *Binding) constant(a *Argument) bool {
	name := snake(a.Name)
	if a.isInteger() && slices.Contains(blockNames, name) {
		a.Role, a.Target, a.Index = Constant, fmt.Sprintf("%d threads of a block", blockThreads), blockThreads
		return true
	}
	rows := b.Spec.Dims[0].Name
	if !a.isInteger() || b.Function.Kind == Python || !b.givesSize(rows) || score(b.Spec, b.Pass, a.Name, rows) <= scoreWeak {
		return false
	}
	a.Role, a.Target, a.Index = Constant, "1, as a factor of "+rows, 1
	return true
}

// openSizes lists the dims that a parameter whose name says nothing may stand for: of several not one that --dims fixes, least of all as 1.
func (b *Binding) openSizes(p Param) []int {
	var open []int
	for k, d := range b.Spec.Dims {
		if p.isInteger() && !b.covered[d.Name] && !b.givesSize(d.Name) {
			open = append(open, k)
		}
	}
	for _, unlikely := range []func(dim string) bool{
		func(dim string) bool { _, fixed := b.Options.Dims[dim]; return fixed },
		func(dim string) bool { return b.Options.Dims[dim] == 1 },
	} {
		if left := slices.DeleteFunc(slices.Clone(open), func(k int) bool { return unlikely(b.Spec.Dims[k].Name) }); len(left) > 0 {
			open = left
		}
	}
	return open
}

// givesSize says whether a parameter stands for a dim, alone or among equal ones or factors.
func (b *Binding) givesSize(dim string) bool {
	return slices.ContainsFunc(b.Args, func(a Argument) bool { return a.Role == Size && slices.Contains(dimsOf(a.Target), dim) })
}

// complete says which tensor has no parameter.
func (b *Binding) complete() error {
	var missing []string
	for _, i := range b.open(Input, b.inputs) {
		missing = append(missing, b.inputs[i].Name)
	}
	if b.Function.Kind != Python || b.fills() { // else it returns them
		for _, i := range b.open(Output, b.outputs) {
			missing = append(missing, b.outputs[i].Name)
		}
	}
	// A backward need not read everything it could.
	if b.Pass == op.Backward {
		missing = slices.DeleteFunc(missing, func(name string) bool {
			return slices.ContainsFunc(b.inputs, func(t op.TensorSpec) bool { return t.Name == name })
		})
	}
	if len(missing) > 0 {
		return b.errorf("no parameter for %s: %s %v takes %s and gives %s (matched: %s); name one with --map PARAMETER=%s", strings.Join(missing, ", "), b.Spec.Name, b.Pass,
			tensorNames(b.inputs), tensorNames(b.outputs), b.Matched(), missing[0])
	}
	return nil
}

// sizesKnown says which sizes nothing gives.
func (b *Binding) sizesKnown() error {
	var missing []string
	if b.Function.Kind == Python {
		return nil
	}
	for _, d := range b.Spec.Dims {
		if _, fixed := b.Options.Dims[d.Name]; !fixed && !b.covered[d.Name] && !b.givesSize(d.Name) && !(b.Launch != nil && b.Launch.uses(d.Name)) {
			missing = append(missing, d.Name)
		}
	}
	if len(missing) > 0 {
		return b.errorf("no parameter for the size %s of %s (matched: %s): fix it with --dims %s=1, or add a parameter", strings.Join(missing, ", "), b.Spec.Name, b.Matched(),
			strings.Join(missing, "=1,"))
	}
	return nil
}

// Matched says what every parameter stands for: "input = x, N = cols".
func (b *Binding) Matched() string {
	var words []string
	for _, a := range b.Args {
		if a.Role != Nothing {
			words = append(words, a.Name+" is "+a.Target)
		}
	}
	return strings.Join(words, ", ")
}

func names(args []Argument, at []int) string {
	var words []string
	for _, i := range at {
		words = append(words, args[i].Name)
	}
	return strings.Join(words, ", ")
}

func tensorNames(list []op.TensorSpec) string {
	var words []string
	for _, t := range list {
		words = append(words, t.Name)
	}
	return strings.Join(words, ", ")
}

func dimNames(s *op.Spec) string {
	var words []string
	for _, d := range s.Dims {
		words = append(words, d.Name)
	}
	return strings.Join(words, ", ")
}

func attributeNames(s *op.Spec) string {
	if len(s.Attributes) == 0 {
		return ""
	}
	var words []string
	for _, a := range s.Attributes {
		words = append(words, a.Name)
	}
	return " and the attributes " + strings.Join(words, ", ")
}
