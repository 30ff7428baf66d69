package kernelfile

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/layout"
	"triad/internal/ownfile/match"
)

// chooseAdapter decides in which of the operator's layouts a function is written, by the number of its
// pointers: it takes one tensor and is called once for each pair, one buffer for several inputs, no factors,
// or scratch memory.
func (b *Binding) chooseAdapter() {
	b.sayAdapters()
	if b.Function.Kind == cfacts.Python && b.Pass == op.Forward && b.mayExchange() {
		b.chooseTokens()
	}
	if b.Function.Kind == cfacts.Python || b.Pass != op.Forward || b.Function.ShowsSizes() ||
		b.Function.ReturnsTensors {
		b.chooseTensorAdapter()
		return
	}
	b.chooseTokens()
	for _, try := range []func(missing int) bool{b.takePacked, b.takeEach, b.takeUnscaled} {
		if missing := b.missingPointers(); missing > 0 || b.tripled() {
			try(missing)
		}
	}
	b.takeScratch()
}

// hasAdapter reports whether an argument has an adapter.
func (b *Binding) hasAdapter(adapter layout.Adapter) bool {
	return slices.ContainsFunc(b.Args, func(a Argument) bool { return a.Adapter == adapter })
}

// missingPointers returns the number of required tensors of the operator minus the number of the function's
// pointers to tensors.
func (b *Binding) missingPointers() int {
	need, have := 0, 0
	for _, list := range [][]op.TensorSpec{b.inputs, b.outputs} {
		for _, t := range list {
			if !t.Optional && !b.leftOut(t) && !b.without[t.Name] {
				need++
			}
		}
	}
	for _, a := range b.Args {
		optional := a.Role == Output && b.outputs[a.Index].Optional
		if a.Pointer && a.Role != Stream && a.Adapter != layout.Scratch && !optional {
			have++
			if a.Over != "" {
				have++
			}
		}
	}
	return need - have
}

// tripled reports whether the lines of a file mention rows of several inputs: "3 * C".
func (b *Binding) tripled() bool {
	n := fmt.Sprint(len(b.Spec.Own.Packed))
	return len(b.Spec.Own.Packed) > 2 && b.speaksOf(func(t []cfacts.Token) bool {
		return t[1].Text == "*" && (t[0].Text == n && t[2].IsName() || t[2].Text == n && t[0].IsName())
	})
}

// speaksOf reports whether three consecutive tokens of the function or of a kernel fulfil a condition.
func (b *Binding) speaksOf(is func(t []cfacts.Token) bool) bool {
	for _, fn := range append([]cfacts.Function{b.Function}, b.others...) {
		for i := 0; i+2 < len(fn.Body); i++ {
			if is(fn.Body[i : i+3]) {
				return true
			}
		}
	}
	return false
}

// takePacked takes one pointer for several inputs.
func (b *Binding) takePacked(missing int) bool {
	packed := b.Spec.Own.Packed
	if len(packed) == 0 || missing != len(packed)-1 && !b.tripled() {
		return false
	}
	if b.hasAdapter(layout.Packed) {
		return false // the user said which
	}
	at, named := -1, 0
	for i, a := range b.Args {
		isPacked := a.Role == Input && slices.Contains(packed, a.Target)
		if isPacked {
			named++
		}
		if a.Pointer && !a.Any() && (isPacked || a.Role == Nothing && at < 0) {
			at = i
		}
	}
	if at < 0 || named > 1 || slices.Contains(packed, strings.ToLower(b.Args[at].Name)) {
		return false // one that has a tensor's own name holds that tensor
	}
	a := &b.Args[at]
	first := slices.IndexFunc(b.inputs, func(t op.TensorSpec) bool { return t.Name == packed[0] })
	if rank := len(b.shape(b.inputs[first])); rank > 2 && !b.bshd {
		return false // in which order the heads lie is not said
	}
	lies := layout.WholeTensors
	if b.countSizes() > 1 {
		lies = layout.RowByRow
	}
	b.pack(a, layout.Adapted{Adapter: layout.Packed, Parts: packed, Lies: lies})
	return true
}

// pack lets an argument hold several inputs.
func (b *Binding) pack(a *Argument, adapter layout.Adapted) {
	a.Role, a.Target, a.Adapted = Input, adapter.Parts[0], adapter
	a.Index = slices.IndexFunc(b.inputs, func(t op.TensorSpec) bool { return t.Name == a.Target })
	for _, name := range adapter.Parts[1:] {
		b.without[name] = true
	}
	n := len(adapter.Parts)
	for i := range b.Args { // N of "input[N / 2 + i]" counts both
		o := &b.Args[i]
		if o.Role == Size && b.countSizes() == 1 && strings.Contains(o.Target, "*") && b.halved(o.Name, n) {
			o.Target = fmt.Sprintf("%d * %s", n, o.Target)
		}
	}
}

// countSizes returns the number of parameters that stand for a size, or may do so.
func (b *Binding) countSizes() (sizes int) {
	for _, o := range b.Args {
		if o.Role == Size || o.Role == Nothing && o.IsInteger() {
			sizes++
		}
	}
	return sizes
}

// halved reports whether the lines divide a size, by its name in the signature, by n.
func (b *Binding) halved(size string, n int) bool {
	if b.Function.Kind == cfacts.Python {
		by := regexp.MustCompile(`\b` + regexp.QuoteMeta(size) + `[ \t]*//?[ \t]*` + strconv.Itoa(n) + `\b`)
		chunks := n == 2 && chunked.MatchString(b.Function.Code)
		lines := b.Function.Code + b.Function.Kernels
		return chunks || by.MatchString(lines)
	}
	return b.speaksOf(func(t []cfacts.Token) bool {
		return strings.EqualFold(t[0].Text, size) && t[1].Text == "/" && t[2].Text == fmt.Sprint(n)
	})
}

// takeEach takes a function of one tensor, which is called once for each of the pairs that the operator has.
func (b *Binding) takeEach(missing int) bool {
	tensors := 0
	for name := range b.Spec.Own.Each {
		if b.has(Input, name) || b.has(Output, name) {
			return false
		}
		if !b.isDim(name) {
			tensors++
		}
	}
	pointer := func(a Argument) bool { return a.Pointer && !a.Const && a.Any() }
	inPlace := missing == tensors+1 && slices.ContainsFunc(b.Args, pointer)
	if tensors == 0 || missing != tensors && !inPlace || b.Function.Kind == cfacts.Kernel {
		return false
	}
	for name := range b.Spec.Own.Each {
		b.without[name] = true
	}
	b.each = true
	return true
}

func (b *Binding) isDim(name string) bool {
	return slices.ContainsFunc(b.Spec.Dims, func(d op.DimSpec) bool { return d.Name == name })
}

// takeUnscaled takes a function without the factor, the addend or both, or with plain numbers for them: triad
// multiplies and adds to its result after each call.
func (b *Binding) takeUnscaled(missing int) bool {
	own := b.Spec.Own
	if own.Factor == "" || missing < 1 {
		return false
	}
	var lacks []string
	for _, name := range []string{own.Addend, own.Factor} {
		if name != "" && !b.has(Input, name) && len(lacks) < missing {
			lacks = append(lacks, name)
		}
	}
	if len(lacks) != missing {
		return false
	}
	for _, name := range lacks {
		b.without[name] = true
	}
	b.unscaled = lacks
	return true
}

// onlyTensor reports whether an argument is the only output that it can be: those without a parameter of
// their own are not counted.
func (b *Binding) onlyTensor(a Argument) bool {
	if len(b.without) == 0 || a.Role != Output {
		return false
	}
	return len(slices.DeleteFunc(b.required(), func(i int) bool { return b.without[b.outputs[i].Name] })) == 1
}

// numberNames lists names of a plain number that is added.
var numberNames = []string{"beta", "bias", "shift"}

// takePlainFactor takes a number for a factor or an addend for which the operator has a tensor.
func (b *Binding) takePlainFactor(a *Argument) bool {
	own := b.Spec.Own
	if len(b.unscaled) == 0 || !a.IsFloat() {
		return false
	}
	added := slices.Contains(numberNames, match.Snake(a.Name)) || b.without[own.Addend] &&
		(match.Score(b.Spec, b.Pass, a.Name, own.Addend) > match.Weak || b.nextToFactor(a))
	switch said := b.Options.Map[a.Name]; {
	case said == wordAddend || said == "" && added && (own.Addend == "" || !b.has(Input, own.Addend)):
		a.Role, a.Target, a.Index, a.Stated = Constant, "0, as an addend", 0, said != ""
	case said == wordFactor || said == "" && b.without[own.Factor] &&
		match.Score(b.Spec, b.Pass, a.Name, own.Factor) > match.Weak:
		a.Role, a.Target, a.Index, a.Stated = Constant, "2, as a factor", 2, said != ""
		b.doubled = true
	default:
		return false
	}
	return true
}

// nextToFactor reports whether a number directly follows the multiplying one, under a name that no attribute
// has: then it is the addend.
func (b *Binding) nextToFactor(a *Argument) bool {
	for i, before := range b.Args[:len(b.Args)-1] {
		if &b.Args[i+1] == a {
			return before.Role == Constant && strings.HasSuffix(before.Target, "as a "+wordFactor) &&
				!slices.ContainsFunc(b.Spec.Attributes, func(t op.AttributeSpec) bool {
					return match.Score(b.Spec, b.Pass, a.Name, t.Name) > match.Weak
				})
		}
	}
	return false
}

// takeZeros takes a Python tensor that is added, where the operator multiplies by a tensor and adds none:
// zeros are passed.
func (b *Binding) takeZeros(a *Argument) bool {
	own := b.Spec.Own
	if b.Function.Kind != cfacts.Python || b.Function.Form == kernelForm || own.Factor == "" ||
		own.Addend != "" ||
		!slices.Contains(numberNames, match.Snake(a.Name)) || b.Pass != op.Forward ||
		!b.has(Input, own.Factor) {
		return false
	}
	a.Role, a.Target, a.Index = Constant, "zeros, as an addend", 0
	return true
}

// scratchSums and scratchMaxima list names of the running sums and maxima that a caller prepares.
var (
	scratchSums   = []string{"l", "l_i", "sum", "sums", "row_sum", "row_sums", "rowsum", "denom", "l_buf"}
	scratchMaxima = strings.Fields("m m_i max maxes maxs maxima row_max rowmax row_maxes m_buf")
)

// takeScratch takes the pointers beyond those of tensors, which may be written, for scratch memory.
func (b *Binding) takeScratch() {
	var open []int
	maxima := false
	for i, a := range b.Args {
		if a.Pointer && !a.Const && a.Role == Nothing {
			open = append(open, i)
			maxima = maxima || slices.Contains(scratchMaxima, scratchWord(a.Name))
		}
	}
	extra := -b.missingPointers()
	if extra <= 0 || len(open) < extra {
		return
	}
	open = slices.DeleteFunc(open, func(i int) bool { return !isScratchName(b.Args[i].Name) })
	if len(open) != extra {
		return
	}
	for i := range b.Args {
		a := &b.Args[i]
		sums := maxima && a.Role == Output && b.outputs[a.Index].Optional &&
			slices.Contains(scratchSums, scratchWord(a.Name))
		if sums || slices.Contains(open, i) {
			a.takeRoom(layout.Adapted{Fill: scratchFill(a.Param)})
		}
	}
}

// takeRoom lets an argument point to scratch memory.
func (a *Argument) takeRoom(adapter layout.Adapted) {
	adapter.Adapter = layout.Scratch
	a.Role, a.Target, a.Adapted = Constant, "room to work in", adapter
}

// scratchWord returns the name of a pointer in lower case, without what marks it as one of the device.
func scratchWord(name string) string {
	word := match.Snake(name)
	for _, prefix := range []string{"d_", "dev_", "device_", "gpu_"} {
		word = strings.TrimPrefix(word, prefix)
	}
	return word
}

// isScratchName reports whether a name is usual for scratch memory.
func isScratchName(name string) bool {
	word := scratchWord(name)
	return slices.Contains(scratchSums, word) || slices.Contains(scratchMaxima, word) ||
		slices.ContainsFunc([]string{
			"work", "tmp", "_var", "rms", "_std", "_mean", "temp", "scratch", "buf", "partial",
			"score", "prob", "att", "inter", "_s", "_p",
		}, func(part string) bool { return strings.Contains("_"+word, part) })
}

// scratchFill returns what scratch memory is filled with, "" where its values before a call do not matter:
// sums begin with 0, and so does memory that the lines add to without writing it first; maxima begin with
// -infinity.
func scratchFill(p cfacts.Param) string {
	switch word := scratchWord(p.Name); {
	case slices.Contains(scratchMaxima, word):
		return layout.FillLowest
	case slices.Contains(scratchSums, word), (p.Atomic || p.Added) && !p.Plain:
		return layout.FillZero
	}
	return ""
}

// chooseTokens notes that the tensors are BSHD, where one size counts all heads of a token.
func (b *Binding) chooseTokens() {
	own := b.Spec.Own
	if len(own.Tokens) == 0 {
		return
	}
	if b.has(Size, own.TokenSize) {
		b.bshd = true
		b.layBSHD()
	}
}

// layBSHD gives the tensors that may be BSHD that layout, unless another one was chosen or said.
func (b *Binding) layBSHD() {
	for i := range b.Args {
		a := &b.Args[i]
		tensor := (a.Role == Input || a.Role == Output) && slices.Contains(b.Spec.Own.Tokens, a.Target)
		if tensor && a.Adapter == layout.AsItLies && !a.Stated {
			a.Adapter = layout.BSHD
		}
	}
}

// widen notes the tables whose rows the lines show to be as wide as the tensor.
func (b *Binding) widen() {
	for i := range b.Args {
		a := &b.Args[i]
		wide := a.Role == Input && slices.Contains(b.Spec.Own.Wide, a.Target) && !a.Stated
		length := b.rows[a.Name]
		if wide && (length != "" && b.sizeTarget(length) == b.Spec.Own.WideSize || b.indexedAlike(*a)) {
			a.Adapter = layout.Wide
		}
	}
	if b.bshd { // tensors that were matched by their order have the layout of the others
		b.layBSHD()
	}
}

// indexedAlike reports whether a table is read wherever something is written: with rows half as wide, the
// second half of the output has no values of its own in the table.
func (b *Binding) indexedAlike(table Argument) bool {
	found := false
	for _, a := range b.Args {
		if a.Role != Output {
			continue
		}
		if list := b.shape(b.outputs[a.Index]); len(list) == 0 || list[len(list)-1] != b.Spec.Own.WideSize {
			continue
		}
		for _, place := range b.places[a.Name] {
			if !slices.Contains(b.places[table.Name], place) {
				return false
			}
			found = true
		}
	}
	return found
}
