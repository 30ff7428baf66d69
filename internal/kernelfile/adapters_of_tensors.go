package kernelfile

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/layout"
	"triad/internal/ownfile/match"
)

// halves matches what Python's lines do with a tensor that holds two: x.chunk(2, dim=-1), x.shape[-1] // 2.
var halves = regexp.MustCompile(`chunk\(|split\(|//\s*2\b|\b2\s*\*`)

// chunked matches what cuts a tensor in two halves.
var chunked = regexp.MustCompile(`chunk\(\w*,?[ \t]*2\b`)

// chooseTensorAdapter decides in which of the operator's layouts a function of PyTorch's tensors is written,
// which show their sizes: it takes one tensor for several inputs, or one of each pair.
func (b *Binding) chooseTensorAdapter() {
	if b.Pass != op.Forward || b.Function.Form == kernelForm {
		return
	}
	b.packTensor()
	if missing := b.missingPointers(); missing > 0 && b.fillsInPlace() {
		b.takeEach(missing)
	}
	b.eachTensor()
	b.widenTensors()
	if b.extension || b.Function.Kind == cfacts.Python && b.Function.Form == plainForm {
		b.takeUnscaled(b.missingInputs())
	}
}

// missingInputs returns the number of required inputs of the operator minus the number of tensors that a
// function takes.
func (b *Binding) missingInputs() int {
	missing := 0
	for _, t := range b.inputs {
		if !t.Optional && !b.leftOut(t) && !b.without[t.Name] {
			missing++
		}
	}
	for _, a := range b.Args {
		if a.Role == Input || b.freeTensor(a) {
			missing--
		}
	}
	return missing
}

// freeTensor reports whether an argument is a tensor without a target so far.
func (b *Binding) freeTensor(a Argument) bool {
	return a.Role == Nothing && (a.Pointer || a.Untyped) && !a.Optional && a.Place != cfacts.InInit
}

// packTensor takes one tensor for several inputs that are concatenated in each row, where the function's
// lines halve something.
func (b *Binding) packTensor() {
	parts := b.Spec.Own.Packed
	if len(parts) != 2 || b.missingInputs() != 1 || !b.halvesRows() || b.hasAdapter(layout.Packed) {
		return
	}
	at := slices.IndexFunc(b.Args, func(a Argument) bool {
		return a.Role == Input && slices.Contains(parts, a.Target) || b.freeTensor(a)
	})
	first := named(b.inputs, parts[0])
	if at < 0 || slices.Contains(parts, b.Args[at].Name) || len(b.shape(b.inputs[first])) != 2 {
		return
	}
	lies := layout.RowByRow
	if b.takesSizes() && b.countSizes() == 1 { // N elements, of which each has half
		lies = layout.WholeTensors
	}
	b.pack(&b.Args[at], layout.Adapted{Adapter: layout.Packed, Parts: parts, Lies: lies})
}

// flat reports whether a Python function that takes the number of elements takes one tensor for several, one
// after the other, or is read so: its tensors have no rows then.
func (b *Binding) flat() bool {
	if b.Options.Flat && b.Function.Kind == cfacts.Python {
		return true
	}
	return b.Function.Kind == cfacts.Python && b.takesSizes() &&
		slices.ContainsFunc(b.Args, func(a Argument) bool {
			return a.Adapter == layout.Packed && a.Lies == layout.WholeTensors
		})
}

// halvesRows reports whether the lines of a function halve a size.
func (b *Binding) halvesRows() bool {
	return b.Function.Kind == cfacts.Python && halves.MatchString(b.Function.Code+b.Function.Kernels)
}

// eachTensor takes a function of one tensor, which returns it, for one that is called for each of a pair.
func (b *Binding) eachTensor() {
	tensors, returned := 0, 0
	for name := range b.Spec.Own.Each {
		if b.has(Input, name) || b.has(Output, name) {
			return
		}
		if slices.ContainsFunc(b.outputs, func(t op.TensorSpec) bool { return t.Name == name }) {
			returned++
		} else if !b.isDim(name) {
			tensors++
		}
	}
	if tensors == 0 || returned == 0 || b.missingInputs() != tensors || !b.Function.MayReturn() || b.fills() {
		return
	}
	for name := range b.Spec.Own.Each {
		b.without[name] = true
	}
	b.each = true
}

// widenTensors notes the tables that Python lines multiply by a tensor whose halves were exchanged:
// rotate_half(q) * sin.
func (b *Binding) widenTensors() {
	text := b.Function.Code
	for i := range b.Args {
		a := &b.Args[i]
		if a.Role != Input || a.Stated || !slices.Contains(b.Spec.Own.Wide, a.Target) {
			continue
		}
		if b.readAlike(text, *a) {
			a.Adapter = layout.Wide
			for k := range b.Args { // the other table is as wide
				if o := &b.Args[k]; o.Role == Input && !o.Stated &&
					slices.Contains(b.Spec.Own.Wide, o.Target) {
					o.Adapter = layout.Wide
				}
			}
		}
		rotated := regexp.MustCompile(`\w*(?:rot|half|swap)\w*\([^()]*\)\s*\*\s*(\w+)`)
		for _, m := range rotated.FindAllStringSubmatch(text, -1) {
			if a.Name == m[1] || a.sibling(m[1], b) {
				a.Adapter = layout.Wide
			}
		}
	}
}

var strideName = regexp.MustCompile(`\b\w*stride\w*`)

// readAlike reports whether a table is as wide as the tensor that it is multiplied with: the lines multiply
// the two as they are, or a kernel reads both at the same places, apart from strides.
func (b *Binding) readAlike(text string, table Argument) bool {
	places := func(name string) map[string]bool {
		all := map[string]bool{}
		lines := strings.ToLower(strideName.ReplaceAllString(b.Function.Kernels, "stride"))
		at := regexp.MustCompile(`(?m)[(=][ \t]*` + regexp.QuoteMeta(strings.ToLower(name)) +
			`[ \t]*\+[ \t]*([^,\n]+(?:\[[^\]\n]*\][^,\n]*)*)`)
		for _, m := range at.FindAllStringSubmatch(lines, -1) {
			all[strings.Join(strings.Fields(m[1]), "")] = true
		}
		return all
	}
	for _, a := range b.Args {
		if a.Role != Input || a.Index != 0 {
			continue
		}
		times := regexp.MustCompile(`\b` + regexp.QuoteMeta(a.Name) + `[ \t]*\*[ \t]*` +
			regexp.QuoteMeta(table.Name) + `\b`)
		of := places(a.Name)
		in := places(table.Name)
		if times.MatchString(text) || len(in) > 0 && maps.Equal(of, in) {
			return true
		}
		// rows of half the length lie at other places, where no stride hides that
		all := len(in) > 0 && !strideName.MatchString(b.Function.Kernels)
		for place := range in {
			all = all && of[place]
		}
		return all
	}
	return false
}

// sibling reports whether a name is that of another of the tables that are as wide as this one.
func (a *Argument) sibling(name string, b *Binding) bool {
	return slices.ContainsFunc(b.Args, func(o Argument) bool {
		return o.Name == name && o.Role == Input && slices.Contains(b.Spec.Own.Wide, o.Target)
	})
}

// pythonTensor returns the tensor that a Python function gets for an input, in the layout in which it takes
// it.
func pythonTensor(a Argument) string {
	switch a.Adapter {
	case layout.Packed:
		list := "(in_" + strings.Join(a.Parts, ", in_") + ")"
		switch a.Lies {
		case layout.WholeTensors:
			return "torch.cat(" + list + ", dim=0)"
		}
		return "torch.cat(" + list + ", dim=-1)"
	case layout.Wide:
		return fmt.Sprintf("torch.cat((in_%[1]s, in_%[1]s), dim=-1)", a.Target)
	}
	return "in_" + a.Target
}

// adapterWord returns the word of --map for an argument's target and adapter.
func (b *Binding) adapterWord(a Argument) string {
	switch l := a.Row(); {
	case a.Adapter == layout.Scratch:
		return l.Word
	case a.Adapter == layout.Packed:
		return layout.WithEnd(strings.Join(a.Parts, "+"), l.Word)
	case l.Word != "":
		return layout.WithEnd(a.Target, l.Word)
	case a.Role == Constant && strings.HasSuffix(a.Target, "factor"):
		return wordFactor
	case a.Role == Constant && strings.HasSuffix(a.Target, "addend"):
		return wordAddend
	case a.Role == Constant:
		return constantWord(a)
	}
	return strings.ReplaceAll(a.Target, " ", "")
}

// assumedForms returns the assumptions about how a function takes what does not lie as the operator has it.
func (b *Binding) assumedForms() []Assumption {
	var what, open []string
	telling := true
	for _, a := range b.Args {
		if a.Stated || b.ordered && a.Adapter == layout.BSHD || shown(a.Adapter) && !b.guessedNumber(a) {
			continue
		}
		open = append(open, a.Name)
		telling = telling && a.Adapter != layout.Scratch && a.Adapter != layout.Wide
		switch {
		case a.Adapter == layout.Packed:
			what = append(what, a.Name+" holds "+a.PartsInWords())
		case a.Adapter == layout.Scratch || a.Role == Constant:
			what = append(what, a.Name+" is "+a.Target)
		case a.Adapter == layout.BSHD:
			what = append(what, a.Name+" lies as "+b.swappedShape(a))
		default:
			what = append(what, a.Name+" has each value of "+a.Target+" twice")
		}
	}
	all := b.calledOtherwise()
	if len(what) > 0 {
		all = append(all, Assumption{
			Kind: GuessedForm, What: strings.Join(what, ", "), open: open, anySize: telling,
		})
	}
	return all
}

// shown reports whether the lines of a file leave nothing open about an adapter.
func shown(f layout.Adapter) bool {
	return slices.Contains([]layout.Adapter{layout.AsItLies, layout.Narrow, layout.BlockTotals}, f)
}

// guessedNumber reports whether a number is passed for a parameter whose name alone says what it is: a plain
// factor or addend, or a letter that is taken for one more factor of the rows though no line multiplies it.
func (b *Binding) guessedNumber(a Argument) bool {
	if a.Role != Constant || a.Adapter != layout.AsItLies || a.Place == cfacts.InTile {
		return false
	}
	word := b.adapterWord(a)
	// A tensor of PyTorch has its sizes, and may be wanted with both.
	factor := strings.Contains(a.Target, "as a factor of")
	return word == wordFactor || word == wordAddend || match.IsLetter(a.Name) && !b.multiplied(a) ||
		factor && b.Function.Kind == cfacts.Python
}

// calledOtherwise returns the assumption about a function without a parameter for some tensors: it is called
// for one of a pair after the other, or triad multiplies and adds itself.
func (b *Binding) calledOtherwise() []Assumption {
	parameters := b.tensorParameters()
	stated := !slices.ContainsFunc(b.Args, func(a Argument) bool {
		return slices.Contains(parameters, a.Name) && !b.stated(a)
	})
	if stated || !b.each && len(b.unscaled) == 0 {
		return nil
	}
	what := "it does without " + strings.Join(b.unscaled, " and ")
	if b.each {
		what = "it is called once for " + strings.Join(slices.Sorted(maps.Values(b.Spec.Own.Each)), ", ") +
			" and once for " + strings.Join(slices.Sorted(maps.Keys(b.Spec.Own.Each)), ", ")
	}
	return []Assumption{{Kind: GuessedForm, What: what, anySize: true}}
}

// otherAdapters returns the other ways in which arguments may lie whose layout the file leaves open. The
// order and layout that a function takes are part of the operator's definition: these interpretations are
// proposed, never taken. The fill of scratch memory is left to the caller.
func (b *Binding) otherAdapters() []Alternative {
	all := b.otherPackings()
	if !b.mayExchange() {
		return all
	}
	for _, group := range []struct {
		targets []string
		endings []string
	}{
		{b.Spec.Own.Wide, []string{"", layout.EndTwice}},
		{b.Spec.Own.Tokens, []string{"", layout.EndSwapped}},
	} {
		python := b.Function.Kind == cfacts.Python
		if python && slices.Contains(group.endings, layout.EndTwice) ||
			(python && b.bshd || b.ordered) && slices.Contains(group.endings, layout.EndSwapped) {
			continue
		}
		for _, end := range group.endings {
			if other, ok := b.allLying(group.targets, end); ok {
				all = append(all, other)
			}
		}
	}
	for _, a := range b.Args {
		for _, word := range []string{layout.FillZero, layout.FillLowest, layout.WordRoom} {
			if a.Adapter == layout.Scratch && !a.Stated && word != b.adapterWord(a) {
				all = append(all, mapped([]string{a.Name}, []string{word}))
			}
		}
	}
	return all
}

// otherPackings returns the other orders and packings of the inputs in one buffer.
func (b *Binding) otherPackings() []Alternative {
	var all []Alternative
	for _, a := range b.Args {
		if a.Adapter != layout.Packed || a.Stated {
			continue
		}
		for _, order := range permutations(a.Parts) {
			for _, lies := range []layout.Packing{a.Lies, layout.WholeTensors, layout.RowByRow} {
				other := a
				other.Parts, other.Lies = order, lies
				word := b.adapterWord(other)
				same := func(o Alternative) bool { return o.Options.Map[a.Name] == word }
				if b.bshd && lies != a.Lies || word == b.adapterWord(a) || slices.ContainsFunc(all, same) {
					continue
				}
				alternative := mapped([]string{a.Name}, []string{word})
				alternative.Proposed = true
				all = append(all, alternative)
			}
		}
	}
	return all
}

// allLying returns the interpretation in which all arguments for some tensors lie in one way; ok is false if
// they do so already, or the user said how one of them lies.
func (b *Binding) allLying(targets []string, end string) (other Alternative, ok bool) {
	var names, words []string
	differs := false
	for _, a := range b.Args {
		if !slices.Contains(targets, a.Target) || a.Role != Input && a.Role != Output ||
			a.Adapter == layout.Packed {
			continue
		}
		if a.Stated || a.Over != "" {
			return other, false
		}
		word := a.Target
		if end != "" {
			word += ":" + end
		}
		differs = differs || word != b.adapterWord(a)
		names, words = append(names, a.Name), append(words, word)
	}
	other = mapped(names, words)
	other.Proposed = true
	return other, differs
}
