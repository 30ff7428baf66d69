package params

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/adapters"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/extents"
	"triad/internal/ownfile/indexing"
	"triad/internal/ownfile/launches"
	"triad/internal/ownfile/layout"
)

// chooseAdapter decides in which of the operator's layouts a function is written, by the number of its
// pointers: it takes one tensor and is called once for each pair, one buffer for several inputs, no factors,
// or scratch memory.
func chooseAdapter(b *binding.Binding) {
	sayAdapters(b)
	if b.Function.Kind == cfacts.Python && b.Pass == op.Forward && extents.MayExchange(b) {
		adapters.ChooseTokens(b)
	}
	if b.Function.Kind == cfacts.Python || b.Pass != op.Forward || b.Function.ShowsSizes() ||
		b.Function.ReturnsTensors {
		adapters.ChooseTensorAdapter(b)
		return
	}
	adapters.ChooseTokens(b)
	for _, try := range []func(b *binding.Binding, missing int) bool{
		adapters.TakePacked, adapters.TakeEach, adapters.TakeUnscaled,
	} {
		if missing := adapters.MissingPointers(b); missing > 0 || adapters.Tripled(b) {
			try(b, missing)
		}
	}
	adapters.TakeScratch(b)
}

// Match finds the meaning of every parameter of a function. The error is a *op.UsageError.
func Match(file *cfacts.File, fn cfacts.Function, spec *op.Spec, pass op.Pass, options binding.Options) (
	*binding.Binding, error,
) {
	sizes, sure, err := ConstantSizes(file, fn, spec, pass, options)
	if err != nil {
		return nil, err
	}
	if len(sizes) > 0 {
		options.Dims = sizes
	}
	b, err := matchSized(file, fn, spec, pass, options)
	if err == nil && !sure {
		b.GuessedSizes = sizes
	}
	return b, err
}

// matchSized binds a function whose sizes are parameters or specified.
func matchSized(file *cfacts.File, fn cfacts.Function, spec *op.Spec, pass op.Pass, options binding.Options) (
	*binding.Binding, error,
) {
	b := newBinding(file, fn, spec, pass, options)
	b.InputSpecs, b.OutputSpecs = spec.Tensors(pass)
	if err := matchIn(b, file); err != nil {
		return nil, withLine(b, err)
	}
	return b, nil
}

// matchIn matches the function to its pass.
func matchIn(b *binding.Binding, file *cfacts.File) error {
	fn := b.Function
	b.TakeFP32(file)
	readLines(b, file)
	if err := checkMap(b); err != nil {
		return err
	}
	choices := make([][]binding.Candidate, len(fn.Params))
	for i, p := range fn.Params {
		var err error
		if choices[i], err = candidates(b, p); err != nil {
			return err
		}
	}
	if err := matchLeftover(b, byName(b, choices)); err != nil {
		return err
	}
	if err := b.CheckFactors(); err != nil {
		return err
	}
	_, b.AskedSizes = extents.SizesAskedFor(b)
	nameNumbers(b, file)
	extents.ReadExtents(b)
	extents.ReadHalved(b, file)
	adapters.PairInPlace(b)
	extents.WritesOver(b)
	extents.ChooseOrder(b, file)
	if err := checkTensors(b); err != nil {
		return err
	}
	if err := cmp.Or(checkNeeds(b, file), extents.CheckTables(b)); err != nil {
		return err
	}
	if fn.ShowsSizes() && !b.TakesSizes() {
		b.Covered = nil // a tensor carries its sizes
	}
	extents.TakeRank(b)
	takeOtherTypes(b, file)
	if err := b.Instances(); err != nil {
		return err
	}
	if err := b.CheckContract(); err != nil {
		return err
	}
	if fn.Kind == cfacts.Kernel {
		if err := launches.ProposeLaunch(b, file); err != nil {
			return err
		}
	}
	if fn.Form == binding.KernelForm {
		if err := proposeTriton(b); err != nil {
			return err
		}
	}
	return checkSizes(b, file)
}

// newBinding returns a binding without any matches.
func newBinding(file *cfacts.File, fn cfacts.Function, spec *op.Spec, pass op.Pass,
	options binding.Options,
) *binding.Binding {
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
		if options.Said != nil {
			said = options.Said.Numbers
		}
		numbers = launches.ProposedNumbers(&fn, said)
	}
	return &binding.Binding{
		Spec: spec, Pass: pass, Function: fn, Options: options, Given: given, Varies: file.Adds,
		Without: map[string]bool{}, Others: file.Functions, Numbers: numbers,
		Covered: map[string]bool{}, Open: map[string]bool{}, Literals: file.Literals, Asked: file.DTypes,
		Narrow: file.Narrow, Doubles: file.Doubles, File: file, Extension: file.TorchExtension,
		Asserts: slices.ContainsFunc(file.Tokens, func(t cfacts.Token) bool { return t.Text == "assert" }),
	}
}

// checkNeeds refuses a file that cannot compute the operator's own numbers, such as its random ones, unless
// it takes their seed. With a seed the forward shows which elements it chooses, and the backward is judged by
// that.
func checkNeeds(b *binding.Binding, file *cfacts.File) error {
	own := b.Spec.Own
	has := func(word string) bool { return strings.Contains(file.Words, word) }
	if len(own.Needs) == 0 || slices.ContainsFunc(own.Needs, has) {
		return nil
	}
	if !b.Has(binding.Attribute, own.Seed) {
		return b.Errorf("%s", own.Lacks)
	}
	b.Draws = own.Lacks
	b.Notes = append(b.Notes, "its random numbers are its own: its gradient is judged by the elements that "+
		"its forward keeps")
	return nil
}

// takeOtherTypes finds the tensors whose type or location in the function differs from the operator's.
func takeOtherTypes(b *binding.Binding, file *cfacts.File) {
	b.NarrowIntegers()
	takeBlockTotals(b, file)
	adapters.TakeWhole(b)
	b.TakeHostArrays()
}

// readLines keeps what the file's lines show, and which dims need no parameter.
func readLines(b *binding.Binding, file *cfacts.File) {
	if b.Function.Kind == cfacts.Python {
		b.Squared = extents.PythonSquares(&b.Function)
	} else {
		b.Rows, b.Places = indexing.RowLengths(file, &b.Function)
		b.Squared = indexing.Squares(file, &b.Function)
		b.Vectors = indexing.VectorLengths(file, &b.Function)
	}
	for _, f := range file.Functions {
		if f.Kind == cfacts.Kernel {
			b.Kernels = append(b.Kernels, f.Name)
		}
	}
	for _, d := range b.Spec.Dims {
		b.Covered[d.Name] = d.Default != ""
	}
}

func checkMap(b *binding.Binding) error {
	for _, name := range slices.Sorted(maps.Keys(b.Options.Map)) {
		if !slices.ContainsFunc(b.Function.Params, func(p cfacts.Param) bool { return p.Name == name }) {
			if b.Options.Several {
				continue
			}
			return b.Errorf("--map %s=%s: it has no parameter called %s", name, b.Options.Map[name], name)
		}
		if target := b.Options.Map[name]; !slices.ContainsFunc(b.Targets(), binding.SameTarget(target)) &&
			!KnownWord(b, target) {
			return b.Errorf("--map %s=%s: %s has no %s: want one of %s, or of %s", name, target, b.Spec.Name,
				target, strings.Join(b.Targets(), ", "), strings.Join(AdapterWords(b), ", "))
		}
	}
	return nil
}

// candidates lists the possible meanings of a parameter by its type, with the scores of its name.
func candidates(b *binding.Binding, p cfacts.Param) ([]binding.Candidate, error) {
	unknown := p.Pointer && !b.PointsToKnown(p)
	var all []binding.Candidate
	switch {
	case p.Place == cfacts.InStride:
		return []binding.Candidate{{Role: binding.Stride, Target: p.Name, Index: 0, Score: 1000}}, nil
	case p.IsStream():
		return []binding.Candidate{{Role: binding.Stream, Target: "the stream", Index: 0, Score: 1000}}, nil
	case unknown:
		return nil, b.Errorf("the type of %s, %s, is none of float, half, __nv_bfloat16, "+
			"__nv_fp8_e4m3, __nv_fp8_e5m2, signed integers, unsigned char, bool: write it so, or "+
			"judge a function that takes plain device pointers", p.Name, p.Text)
	case p.Pointer:
		all = b.CandidateTensors(p)
	case b.IsShapeOfWeights(p):
		all = candidateShape(b, p)
	case p.IsInteger() || p.IsFloat() || p.IsBool() || p.Untyped:
		if binding.CountsThreads(p) && b.Options.Map[p.Name] == "" {
			return nil, nil // takeConstant takes it
		}
		all = candidateNumbers(b, p)
	case p.IsShape():
		all = candidateShape(b, p)
	default:
		return nil, b.Errorf("the parameter %s is neither a device pointer nor a number: triad can pass "+
			"pointers, sizes, attributes and a cudaStream_t", p.Text)
	}
	if wanted, ok := b.Options.Map[p.Name]; ok {
		if KnownWord(b, wanted) {
			if err := checkWord(b, p, wanted); err != nil {
				return nil, err
			}
			said, tensor := sayWord(b, wanted)
			if wanted = said.target; !tensor || wanted == "" || said.adapter.Adapter == layout.Packed {
				return nil, nil // sayAdapters and takePlainFactor take it
			}
		}
		all = slices.DeleteFunc(all,
			func(c binding.Candidate) bool { return !binding.SameTarget(wanted)(c.Target) })
		for i := range all {
			all[i].Score = 1000
		}
		if len(all) == 0 {
			return nil, b.Errorf("--map %s=%s: the type of %s does not fit %s", p.Name, wanted,
				p.Text, wanted)
		}
	}
	return all, nil
}

// candidateNumbers returns the attributes and sizes that a number may stand for. An untyped Python parameter
// may also be a tensor.
func candidateNumbers(b *binding.Binding, p cfacts.Param) []binding.Candidate {
	var all []binding.Candidate
	for i, a := range b.Spec.Attributes {
		if p.IsBool() && a.Type == "enum" && b.Function.Kind == cfacts.Python &&
			(len(a.Values) != 2 || !slices.Contains(a.Values, "none")) {
			continue // it is unknown which of the values it switches on
		}
		if a.Type == "bool" && isOptionalMask(p) && b.Options.Map[p.Name] == "" {
			continue
		}
		if p.Untyped || a.Type == "float" && p.IsFloat() || a.Type != "float" && !p.IsFloat() {
			all = append(all, binding.Candidate{
				Role: binding.Attribute, Target: a.Name, Index: i, Score: b.Score(p, a.Name),
			})
		}
	}
	if p.Untyped && p.Place == cfacts.InCall && !extents.NamesAxis(b, p) {
		all = append(all, b.CandidateTensors(p)...)
	}
	if (p.IsInteger() || p.Untyped) && !countsFromEnd(p) && !extents.NamesAxis(b, p) {
		free := extents.SizeByRows(b, p)
		if all := extents.CountedProduct(b, p); all != "" && b.Options.Map[p.Name] == "" {
			return []binding.Candidate{{
				Role: binding.Size, Target: all, Index: -1, Score: extents.ScoreProduct,
			}}
		}
		for i, d := range b.Spec.Dims {
			score := b.Score(p, d.Name)
			if free && slices.Contains(extents.Sides(b), d.Name) {
				score = max(score, 1)
			}
			all = append(all, binding.Candidate{Role: binding.Size, Target: d.Name, Index: i, Score: score})
		}
		for _, name := range b.Spec.SizesBeside() {
			all = append(all,
				binding.Candidate{Role: binding.Size, Target: name, Index: -1, Score: b.Score(p, name)})
		}
	}
	return all
}

// candidateShape returns what a list of sizes may stand for: the sizes of a row, as normalized_shape.
func candidateShape(b *binding.Binding, p cfacts.Param) []binding.Candidate {
	last := launches.LastSize(b)
	for i, d := range b.Spec.Dims {
		if d.Name == last {
			return []binding.Candidate{{
				Role: binding.Size, Target: last, Index: i, Score: max(b.Score(p, last), 1),
			}}
		}
	}
	return nil
}
