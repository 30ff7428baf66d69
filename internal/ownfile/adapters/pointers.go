package adapters

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/extents"
	"triad/internal/ownfile/layout"
	"triad/internal/ownfile/match"
)

// MissingPointers returns the number of required tensors of the operator minus the number of the function's
// pointers to tensors.
func MissingPointers(b *binding.Binding) int {
	need, have := 0, 0
	for _, list := range [][]op.TensorSpec{b.InputSpecs, b.OutputSpecs} {
		for _, t := range list {
			if !t.Optional && !b.LeftOut(t) && !b.Without[t.Name] {
				need++
			}
		}
	}
	for _, a := range b.Args {
		optional := a.Role == binding.Output && b.OutputSpecs[a.Index].Optional
		if a.Pointer && a.Role != binding.Stream && a.Adapter != layout.Scratch && !optional {
			have++
			if a.Over != "" {
				have++
			}
		}
	}
	return need - have
}

// Tripled reports whether the lines of a file mention rows of several inputs: "3 * C".
func Tripled(b *binding.Binding) bool {
	n := fmt.Sprint(len(b.Spec.Own.Packed))
	return len(b.Spec.Own.Packed) > 2 && SpeaksOf(b, func(t []cfacts.Token) bool {
		return t[1].Text == "*" && (t[0].Text == n && t[2].IsName() || t[2].Text == n && t[0].IsName())
	})
}

// SpeaksOf reports whether three consecutive tokens of the function or of a kernel fulfil a condition.
func SpeaksOf(b *binding.Binding, is func(t []cfacts.Token) bool) bool {
	for _, fn := range append([]cfacts.Function{b.Function}, b.Others...) {
		for i := 0; i+2 < len(fn.Body); i++ {
			if is(fn.Body[i:]) {
				return true
			}
		}
	}
	return false
}

// TakePacked takes one pointer for several inputs.
func TakePacked(b *binding.Binding, missing int) bool {
	packed := b.Spec.Own.Packed
	if len(packed) == 0 || missing != len(packed)-1 && !Tripled(b) {
		return false
	}
	if b.HasAdapter(layout.Packed) {
		return false // the user said which
	}
	at, named := -1, 0
	for i, a := range b.Args {
		isPacked := a.Role == binding.Input && slices.Contains(packed, a.Target)
		if isPacked {
			named++
		}
		if a.Pointer && !a.Any() && (isPacked || a.Role == binding.Nothing && at < 0) {
			at = i
		}
	}
	if at < 0 || named > 1 || slices.Contains(packed, strings.ToLower(b.Args[at].Name)) {
		return false // one that has a tensor's own name holds that tensor
	}
	a := &b.Args[at]
	first := slices.IndexFunc(b.InputSpecs, func(t op.TensorSpec) bool { return t.Name == packed[0] })
	if rank := len(extents.Shape(b, b.InputSpecs[first])); rank > 2 && !b.Bshd {
		return false // in which order the heads lie is not said
	}
	lies := layout.WholeTensors
	if CountSizes(b) > 1 {
		lies = layout.RowByRow
	}
	Pack(b, a, layout.Adapted{Adapter: layout.Packed, Parts: packed, Lies: lies})
	return true
}

// Pack lets an argument hold several inputs.
func Pack(b *binding.Binding, a *binding.Argument, adapter layout.Adapted) {
	a.Role, a.Target, a.Adapted = binding.Input, adapter.Parts[0], adapter
	a.Index = slices.IndexFunc(b.InputSpecs, func(t op.TensorSpec) bool { return t.Name == a.Target })
	for _, name := range adapter.Parts[1:] {
		b.Without[name] = true
	}
	n := len(adapter.Parts)
	for i := range b.Args { // N of "input[N / 2 + i]" counts both
		o := &b.Args[i]
		if o.Role == binding.Size && CountSizes(b) == 1 && strings.Contains(o.Target, "*") &&
			halved(b, o.Name, n) {
			o.Target = fmt.Sprintf("%d * %s", n, o.Target)
		}
	}
}

// CountSizes returns the number of parameters that stand for a size, or may do so.
func CountSizes(b *binding.Binding) (sizes int) {
	for _, o := range b.Args {
		if o.Role == binding.Size || o.Role == binding.Nothing && o.IsInteger() {
			sizes++
		}
	}
	return sizes
}

// halved reports whether the lines divide a size, by its name in the signature, by n.
func halved(b *binding.Binding, size string, n int) bool {
	if b.Function.Kind == cfacts.Python {
		by := regexp.MustCompile(`\b` + regexp.QuoteMeta(size) + `[ \t]*//?[ \t]*` + strconv.Itoa(n) + `\b`)
		chunks := n == 2 && chunked.MatchString(b.Function.Code)
		lines := b.Function.Code + b.Function.Kernels
		return chunks || by.MatchString(lines)
	}
	return SpeaksOf(b, func(t []cfacts.Token) bool {
		return strings.EqualFold(t[0].Text, size) && t[1].Text == "/" && t[2].Text == fmt.Sprint(n)
	})
}

// TakeEach takes a function of one tensor, which is called once for each of the pairs that the operator has.
func TakeEach(b *binding.Binding, missing int) bool {
	tensors := 0
	for name := range b.Spec.Own.Each {
		if b.Has(binding.Input, name) || b.Has(binding.Output, name) {
			return false
		}
		if !b.IsDim(name) {
			tensors++
		}
	}
	pointer := func(a binding.Argument) bool { return a.Pointer && !a.Const && a.Any() }
	inPlace := missing == tensors+1 && slices.ContainsFunc(b.Args, pointer)
	if tensors == 0 || missing != tensors && !inPlace || b.Function.Kind == cfacts.Kernel {
		return false
	}
	for name := range b.Spec.Own.Each {
		b.Without[name] = true
	}
	b.Each = true
	return true
}

// TakeUnscaled takes a function without the factor, the addend or both, or with plain numbers for them: triad
// multiplies and adds to its result after each call.
func TakeUnscaled(b *binding.Binding, missing int) bool {
	own := b.Spec.Own
	if own.Factor == "" || missing < 1 {
		return false
	}
	var lacks []string
	for _, name := range []string{own.Addend, own.Factor} {
		if name != "" && !b.Has(binding.Input, name) && len(lacks) < missing {
			lacks = append(lacks, name)
		}
	}
	if len(lacks) != missing {
		return false
	}
	for _, name := range lacks {
		b.Without[name] = true
	}
	b.Unscaled = lacks
	return true
}

// OnlyTensor reports whether an argument is the only output that it can be: those without a parameter of
// their own are not counted.
func OnlyTensor(b *binding.Binding, a binding.Argument) bool {
	if len(b.Without) == 0 || a.Role != binding.Output {
		return false
	}
	return len(
		slices.DeleteFunc(b.Required(), func(i int) bool { return b.Without[b.OutputSpecs[i].Name] })) == 1
}

// numberNames lists names of a plain number that is added.
var numberNames = []string{"beta", "bias", "shift"}

// TakePlainFactor takes a number for a factor or an addend for which the operator has a tensor.
func TakePlainFactor(b *binding.Binding, a *binding.Argument) bool {
	own := b.Spec.Own
	if len(b.Unscaled) == 0 || !a.IsFloat() {
		return false
	}
	added := slices.Contains(numberNames, match.Snake(a.Name)) || b.Without[own.Addend] &&
		match.Score(b.Spec, b.Pass, a.Name, own.Addend) > match.Weak
	switch said := b.Options.Map[a.Name]; {
	case said == binding.WordAddend ||
		said == "" && added && (own.Addend == "" || !b.Has(binding.Input, own.Addend)):
		a.Role, a.Target, a.Index, a.Stated = binding.Constant, "0, as an addend", 0, said != ""
	case said == binding.WordFactor || said == "" && b.Without[own.Factor] &&
		match.Score(b.Spec, b.Pass, a.Name, own.Factor) > match.Weak:
		a.Role, a.Target, a.Index, a.Stated = binding.Constant, "2, as a factor", 2, said != ""
		b.Doubled = true
	default:
		return false
	}
	return true
}

// TakeZeros takes a Python tensor that is added, where the operator multiplies by a tensor and adds none:
// zeros are passed.
func TakeZeros(b *binding.Binding, a *binding.Argument) bool {
	own := b.Spec.Own
	if b.Function.Kind != cfacts.Python || b.Function.Form == binding.KernelForm || own.Factor == "" ||
		own.Addend != "" || !slices.Contains(numberNames, match.Snake(a.Name)) || b.Pass != op.Forward ||
		!b.Has(binding.Input, own.Factor) {
		return false
	}
	a.Role, a.Target, a.Index = binding.Constant, "zeros, as an addend", 0
	return true
}

// scratchSums and scratchMaxima list names of the running sums and maxima that a caller prepares.
var (
	scratchSums   = []string{"l", "l_i", "sum", "sums", "row_sum", "row_sums", "rowsum", "denom", "l_buf"}
	scratchMaxima = strings.Fields("m m_i max maxes maxs maxima row_max rowmax row_maxes m_buf")
)

// TakeScratch takes the pointers beyond those of tensors, which may be written, for scratch memory.
func TakeScratch(b *binding.Binding) {
	var open []int
	maxima := false
	for i, a := range b.Args {
		if a.Pointer && !a.Const && a.Role == binding.Nothing {
			open = append(open, i)
			maxima = maxima || slices.Contains(scratchMaxima, scratchWord(a.Name))
		}
	}
	extra := -MissingPointers(b)
	if extra <= 0 || len(open) < extra {
		return
	}
	open = slices.DeleteFunc(open, func(i int) bool { return !isScratchName(b.Args[i].Name) })
	if len(open) != extra {
		return
	}
	for i := range b.Args {
		a := &b.Args[i]
		sums := maxima && a.Role == binding.Output && b.OutputSpecs[a.Index].Optional &&
			slices.Contains(scratchSums, scratchWord(a.Name))
		if sums || slices.Contains(open, i) {
			TakeRoom(a, layout.Adapted{Fill: scratchFill(a.Param)})
		}
	}
}

// TakeRoom lets an argument point to scratch memory.
func TakeRoom(a *binding.Argument, adapter layout.Adapted) {
	adapter.Adapter = layout.Scratch
	a.Role, a.Target, a.Adapted = binding.Constant, "room to work in", adapter
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

// ChooseTokens notes that the tensors are BSHD, where one size counts all heads of a token.
func ChooseTokens(b *binding.Binding) {
	own := b.Spec.Own
	if len(own.Tokens) == 0 {
		return
	}
	if b.Has(binding.Size, own.TokenSize) {
		b.Bshd = true
		b.LayBSHD()
	}
}

// Widen notes the tables whose rows the lines show to be as wide as the tensor.
func Widen(b *binding.Binding) {
	for i := range b.Args {
		a := &b.Args[i]
		wide := a.Role == binding.Input && slices.Contains(b.Spec.Own.Wide, a.Target) && !a.Stated
		length := b.Rows[a.Name]
		if wide &&
			(length != "" && extents.SizeTarget(b, length) == b.Spec.Own.WideSize || indexedAlike(b, *a)) {
			a.Adapter = layout.Wide
		}
	}
	if b.Bshd { // tensors that were matched by their order have the layout of the others
		b.LayBSHD()
	}
}

// indexedAlike reports whether a table is read wherever something is written: with rows half as wide, the
// second half of the output has no values of its own in the table.
func indexedAlike(b *binding.Binding, table binding.Argument) bool {
	found := false
	for _, a := range b.Args {
		if a.Role != binding.Output {
			continue
		}
		if list := extents.Shape(b, b.OutputSpecs[a.Index]); len(list) == 0 ||
			list[len(list)-1] != b.Spec.Own.WideSize {
			continue
		}
		for _, place := range b.Places[a.Name] {
			if !slices.Contains(b.Places[table.Name], place) {
				return false
			}
			found = true
		}
	}
	return found
}

// Multiplied reports whether the lines multiply a parameter by another one that is a size: "n * m".
func Multiplied(b *binding.Binding, a binding.Argument, by binding.Role) bool {
	other := func(t cfacts.Token) bool {
		return slices.ContainsFunc(b.Args, func(o binding.Argument) bool {
			return o.Name == t.Text && o.Name != a.Name && o.Role == by
		})
	}
	return SpeaksOf(b, func(t []cfacts.Token) bool {
		return t[1].Text == "*" && (t[0].Text == a.Name && other(t[2]) || t[2].Text == a.Name && other(t[0]))
	})
}
