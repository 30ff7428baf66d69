package adapters

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/extents"
	"triad/internal/ownfile/layout"
	"triad/internal/ownfile/match"
)

// halves matches what Python's lines do with a tensor that holds two: x.chunk(2, dim=-1), x.shape[-1] // 2.
var halves = regexp.MustCompile(`chunk\(|split\(|//\s*2\b|\b2\s*\*`)

// chunked matches what cuts a tensor in two halves.
var chunked = regexp.MustCompile(`chunk\(\w*,?[ \t]*2\b`)

// ChooseTensorAdapter decides in which of the operator's layouts a function of PyTorch's tensors is written,
// which show their sizes: it takes one tensor for several inputs, or one of each pair.
func ChooseTensorAdapter(b *binding.Binding) {
	if b.Pass != op.Forward || b.Function.Form == binding.KernelForm {
		return
	}
	packTensor(b)
	if missing := MissingPointers(b); missing > 0 && b.FillsInPlace() {
		TakeEach(b, missing)
	}
	eachTensor(b)
	widenTensors(b)
	if b.Extension || b.Function.Kind == cfacts.Python && b.Function.Form == binding.PlainForm {
		TakeUnscaled(b, missingInputs(b))
	}
}

// missingInputs returns the number of required inputs of the operator minus the number of tensors that a
// function takes.
func missingInputs(b *binding.Binding) int {
	missing := 0
	for _, t := range b.InputSpecs {
		if !t.Optional && !b.LeftOut(t) && !b.Without[t.Name] {
			missing++
		}
	}
	for _, a := range b.Args {
		if a.Role == binding.Input || freeTensor(b, a) {
			missing--
		}
	}
	return missing
}

// freeTensor reports whether an argument is a tensor without a target so far.
func freeTensor(b *binding.Binding, a binding.Argument) bool {
	return a.Role == binding.Nothing && (a.Pointer || a.Untyped) && !a.Optional && a.Place != cfacts.InInit
}

// packTensor takes one tensor for several inputs that are concatenated in each row, where the function's
// lines halve something.
func packTensor(b *binding.Binding) {
	parts := b.Spec.Own.Packed
	if len(parts) != 2 || missingInputs(b) != 1 || !halvesRows(b) || b.HasAdapter(layout.Packed) {
		return
	}
	at := slices.IndexFunc(b.Args, func(a binding.Argument) bool {
		return a.Role == binding.Input && slices.Contains(parts, a.Target) || freeTensor(b, a)
	})
	first := binding.Named(b.InputSpecs, parts[0])
	if at < 0 || slices.Contains(parts, b.Args[at].Name) || len(extents.Shape(b, b.InputSpecs[first])) != 2 {
		return
	}
	lies := layout.RowByRow
	if b.TakesSizes() && CountSizes(b) == 1 { // N elements, of which each has half
		lies = layout.WholeTensors
	}
	Pack(b, &b.Args[at], layout.Adapted{Adapter: layout.Packed, Parts: parts, Lies: lies})
}

// halvesRows reports whether the lines of a function halve a size.
func halvesRows(b *binding.Binding) bool {
	return b.Function.Kind == cfacts.Python && halves.MatchString(b.Function.Code+b.Function.Kernels)
}

// eachTensor takes a function of one tensor, which returns it, for one that is called for each of a pair.
func eachTensor(b *binding.Binding) {
	tensors, returned := 0, 0
	for name := range b.Spec.Own.Each {
		if b.Has(binding.Input, name) || b.Has(binding.Output, name) {
			return
		}
		if slices.ContainsFunc(b.OutputSpecs, func(t op.TensorSpec) bool { return t.Name == name }) {
			returned++
		} else if !b.IsDim(name) {
			tensors++
		}
	}
	if tensors == 0 || returned == 0 || missingInputs(b) != tensors || !b.Function.MayReturn() || b.Fills() {
		return
	}
	for name := range b.Spec.Own.Each {
		b.Without[name] = true
	}
	b.Each = true
}

// widenTensors notes the tables that Python lines multiply by a tensor whose halves were exchanged:
// rotate_half(q) * sin.
func widenTensors(b *binding.Binding) {
	text := b.Function.Code
	for i := range b.Args {
		a := &b.Args[i]
		if a.Role != binding.Input || a.Stated || !slices.Contains(b.Spec.Own.Wide, a.Target) {
			continue
		}
		if readAlike(b, text, *a) {
			a.Adapter = layout.Wide
			for k := range b.Args { // the other table is as wide
				if o := &b.Args[k]; o.Role == binding.Input && !o.Stated &&
					slices.Contains(b.Spec.Own.Wide, o.Target) {
					o.Adapter = layout.Wide
				}
			}
		}
		rotated := regexp.MustCompile(`\w*(?:rot|half|swap)\w*\([^()]*\)\s*\*\s*(\w+)`)
		for _, m := range rotated.FindAllStringSubmatch(text, -1) {
			if a.Name == m[1] || sibling(a, m[1], b) {
				a.Adapter = layout.Wide
			}
		}
	}
}

var strideName = regexp.MustCompile(`\b\w*stride\w*`)

// readAlike reports whether a table is as wide as the tensor that it is multiplied with: the lines multiply
// the two as they are, or a kernel reads both at the same places, apart from strides.
func readAlike(b *binding.Binding, text string, table binding.Argument) bool {
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
		if a.Role != binding.Input || a.Index != 0 {
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
func sibling(a *binding.Argument, name string, b *binding.Binding) bool {
	return slices.ContainsFunc(b.Args, func(o binding.Argument) bool {
		return o.Name == name && o.Role == binding.Input && slices.Contains(b.Spec.Own.Wide, o.Target)
	})
}

// AdapterWord returns the word of --map for an argument's target and adapter.
func AdapterWord(b *binding.Binding, a binding.Argument) string {
	switch l := a.Row(); {
	case a.Adapter == layout.Scratch:
		return l.Word
	case a.Adapter == layout.Packed:
		return layout.WithEnd(strings.Join(a.Parts, "+"), l.Word)
	case l.Word != "":
		return layout.WithEnd(a.Target, l.Word)
	case a.Role == binding.Constant && strings.HasSuffix(a.Target, "factor"):
		return binding.WordFactor
	case a.Role == binding.Constant && strings.HasSuffix(a.Target, "addend"):
		return binding.WordAddend
	case a.Role == binding.Constant:
		return binding.ConstantWord(a)
	}
	return strings.ReplaceAll(a.Target, " ", "")
}

// AssumedForms returns the assumptions about how a function takes what does not lie as the operator has it.
func AssumedForms(b *binding.Binding) []binding.Assumption {
	var what, open []string
	telling := true
	for _, a := range b.Args {
		unused := a.Adapter == layout.Scratch && b.Function.Kind == cfacts.Kernel &&
			!cfacts.HasTexts(b.Function.Body, a.Name)
		if a.Stated || b.Ordered && a.Adapter == layout.BSHD || shown(a.Adapter) && !GuessedNumber(b, a) ||
			unused {
			continue
		}
		open = append(open, a.Name)
		telling = telling && a.Adapter != layout.Scratch && a.Adapter != layout.Wide
		switch {
		case a.Adapter == layout.Packed:
			what = append(what, a.Name+" holds "+a.PartsInWords())
		case a.Adapter == layout.Scratch || a.Role == binding.Constant:
			what = append(what, a.Name+" is "+a.Target)
		case a.Adapter == layout.BSHD:
			what = append(what, a.Name+" lies as "+SwappedShape(b, a))
		default:
			what = append(what, a.Name+" has each value of "+a.Target+" twice")
		}
	}
	all := calledOtherwise(b)
	if len(what) > 0 {
		all = append(all, binding.Assumption{
			Kind: binding.GuessedForm, What: strings.Join(what, ", "), Open: open, AnySize: telling,
		})
	}
	return all
}

// shown reports whether the lines of a file leave nothing open about an adapter.
func shown(f layout.Adapter) bool {
	return slices.Contains([]layout.Adapter{layout.AsItLies, layout.Narrow, layout.BlockTotals}, f)
}

// GuessedNumber reports whether a number is passed for a parameter whose name alone says what it is: a plain
// factor or addend, or a letter that is taken for one more factor of the rows though no line multiplies it.
func GuessedNumber(b *binding.Binding, a binding.Argument) bool {
	if a.Role != binding.Constant || a.Adapter != layout.AsItLies || a.Place == cfacts.InTile {
		return false
	}
	word := AdapterWord(b, a)
	// A tensor of PyTorch has its sizes, and may be wanted with both.
	factor := strings.Contains(a.Target, "as a factor of")
	return word == binding.WordFactor || word == binding.WordAddend ||
		match.IsLetter(a.Name) && !Multiplied(b, a, binding.Size) ||
		factor && b.Function.Kind == cfacts.Python
}

// calledOtherwise returns the assumption about a function without a parameter for some tensors: it is called
// for one of a pair after the other, or triad multiplies and adds itself.
func calledOtherwise(b *binding.Binding) []binding.Assumption {
	parameters := b.TensorParameters()
	stated := !slices.ContainsFunc(b.Args, func(a binding.Argument) bool {
		return slices.Contains(parameters, a.Name) && !b.Stated(a)
	})
	if stated || !b.Each && len(b.Unscaled) == 0 {
		return nil
	}
	what := "it does without " + strings.Join(b.Unscaled, " and ")
	if b.Each {
		what = "it is called once for " + strings.Join(slices.Sorted(maps.Values(b.Spec.Own.Each)), ", ") +
			" and once for " + strings.Join(slices.Sorted(maps.Keys(b.Spec.Own.Each)), ", ")
	}
	return []binding.Assumption{{Kind: binding.GuessedForm, What: what, AnySize: true}}
}

// OtherAdapters returns the other ways in which arguments may lie whose layout the file leaves open. The
// order and layout that a function takes are part of the operator's definition: these interpretations are
// proposed, never taken. The fill of scratch memory is left to the caller.
func OtherAdapters(b *binding.Binding) []binding.Alternative {
	all := otherPackings(b)
	if !extents.MayExchange(b) {
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
			(python && b.Bshd || b.Ordered) && slices.Contains(group.endings, layout.EndSwapped) {
			continue
		}
		for _, end := range group.endings {
			if other, ok := allLying(b, group.targets, end); ok {
				all = append(all, other)
			}
		}
	}
	for _, a := range b.Args {
		for _, word := range []string{layout.FillZero, layout.FillLowest, layout.WordRoom} {
			if a.Adapter == layout.Scratch && !a.Stated && word != AdapterWord(b, a) {
				all = append(all, binding.Mapped([]string{a.Name}, []string{word}))
			}
		}
	}
	return all
}

// otherPackings returns the other orders and packings of the inputs in one buffer.
func otherPackings(b *binding.Binding) []binding.Alternative {
	var all []binding.Alternative
	for _, a := range b.Args {
		if a.Adapter != layout.Packed || a.Stated {
			continue
		}
		for _, order := range binding.Permutations(a.Parts) {
			for _, lies := range []layout.Packing{a.Lies, layout.WholeTensors, layout.RowByRow} {
				other := a
				other.Parts, other.Lies = order, lies
				word := AdapterWord(b, other)
				same := func(o binding.Alternative) bool { return o.Options.Map[a.Name] == word }
				if b.Bshd && lies != a.Lies || word == AdapterWord(b, a) || slices.ContainsFunc(all, same) {
					continue
				}
				alternative := binding.Mapped([]string{a.Name}, []string{word})
				alternative.Proposed = true
				all = append(all, alternative)
			}
		}
	}
	return all
}

// allLying returns the interpretation in which all arguments for some tensors lie in one way; ok is false if
// they do so already, or the user said how one of them lies.
func allLying(b *binding.Binding, targets []string, end string) (other binding.Alternative, ok bool) {
	var names, words []string
	differs := false
	for _, a := range b.Args {
		if !slices.Contains(targets, a.Target) || a.Role != binding.Input && a.Role != binding.Output ||
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
		differs = differs || word != AdapterWord(b, a)
		names, words = append(names, a.Name), append(words, word)
	}
	other = binding.Mapped(names, words)
	other.Proposed = true
	return other, differs
}

// SwappedShape returns in words the shape of a tensor with its second and third size exchanged.
func SwappedShape(b *binding.Binding, a binding.Argument) string {
	return binding.ShapeWords(extents.ExchangedSizes(extents.Shape(b, b.Tensor(a)), false))
}
