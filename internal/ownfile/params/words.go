package params

import (
	"slices"
	"strconv"
	"strings"

	"triad/internal/ownfile/adapters"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/extents"
	"triad/internal/ownfile/layout"
	"triad/internal/ownfile/match"
)

// statedWord is the meaning of a word of --map for a parameter, in addition to the name of a tensor.
type statedWord struct {
	target  string // the tensor, the first of several; "" for scratch memory and for plain numbers
	adapter layout.Adapted
	plain   bool // a number is passed
}

// IsNumber reports whether a word of --map is a number, which is passed as it is.
func IsNumber(word string) bool {
	_, err := strconv.ParseFloat(word, 64)
	return err == nil && strings.Trim(word, "-.0123456789e") == ""
}

// sayWord reads a word of --map that says more than a name; ok is false for one that does not.
func sayWord(b *binding.Binding, text string) (said statedWord, ok bool) {
	said.adapter.Stated = true
	if IsNumber(text) {
		said.adapter.Number, said.plain = text, true
		return said, true
	}
	names, end, _ := strings.Cut(text, ":")
	parts := strings.Split(names, "+")
	l, ok := layoutOf(b, text, end, len(parts))
	if !ok {
		return said, false
	}
	said.adapter.Adapter, said.adapter.Fill, said.adapter.Lies = l.Adapter, l.Fill, l.Lies
	switch own := b.Spec.Own; l.Adapter {
	case layout.Scratch:
		return said, true
	case layout.Packed:
		said.adapter.Parts = parts
		ok = slices.Equal(slices.Sorted(slices.Values(parts)), slices.Sorted(slices.Values(own.Packed)))
	case layout.BSHD:
		ok = slices.Contains(own.Tokens, names)
	default:
		ok = slices.Contains(own.Wide, names)
	}
	said.target = parts[0]
	return said, ok
}

// plainWords returns the words of --map for a number in the place of a tensor, if the operator has one.
func plainWords(b *binding.Binding) []string {
	var all []string
	if b.Spec.Own.Factor != "" {
		all = append(all, binding.WordFactor, binding.WordAddend)
	}
	return all
}

// AdapterWords returns all words of --map that an operator knows in addition to its names.
func AdapterWords(b *binding.Binding) []string {
	all := plainWords(b)
	for _, l := range layout.Table {
		all = append(all, wordsOf(b, l)...)
	}
	return all
}

// KnownWord reports whether a word of --map names a layout adapter that the operator has.
func KnownWord(b *binding.Binding, text string) bool {
	_, ok := sayWord(b, text)
	return ok || slices.Contains(plainWords(b), text)
}

// checkWord refuses a word of --map that does not fit its parameter; it has been read before.
func checkWord(b *binding.Binding, p cfacts.Param, text string) error {
	said, ok := sayWord(b, text)
	tensors := b.Function.Kind == cfacts.Python || b.Function.ShowsSizes() || b.Function.ReturnsTensors
	pointer := p.Pointer && !p.TorchTensor
	switch {
	case ok && said.adapter.Adapter == layout.BSHD && b.Function.Kind == cfacts.Python &&
		extents.MayExchange(b) && (p.Pointer || p.Untyped):
		return nil
	case ok && said.adapter.Adapter == layout.Packed && b.Function.Form != binding.KernelForm &&
		(p.Pointer || p.Untyped),
		ok && said.adapter.Adapter == layout.Wide && b.Function.Kind == cfacts.Python &&
			(p.Pointer || p.Untyped):
		return nil
	case ok && !said.plain && tensors:
		return b.Errorf("--map %s=%s: tensors of PyTorch are handed over as they lie", p.Name, text)
	case ok && said.plain && (pointer || p.IsInteger() && strings.ContainsAny(text, ".e")),
		ok && !said.plain && !pointer, !ok && slices.Contains(plainWords(b), text) && !p.IsFloat():
		return b.Errorf("--map %s=%s: the type of %s does not fit %s", p.Name, text, p.Text, text)
	case ok && p.Const && said.adapter.Adapter == layout.Scratch:
		return b.Errorf("--map %s=%s: room to work in is written, and %s is const", p.Name, text, p.Text)
	}
	return nil
}

// sayAdapters gives parameters what the user said of their layout adapters.
func sayAdapters(b *binding.Binding) {
	for i := range b.Args {
		a := &b.Args[i]
		word := b.Options.Map[a.Name]
		said, ok := sayWord(b, word)
		switch {
		case word == "":
		case !ok:
			a.Stated = true // just as it lies
		case said.plain:
			a.Role, a.Target, a.Adapted = binding.Constant, word, said.adapter
		case said.adapter.Adapter == layout.Scratch:
			adapters.TakeRoom(a, said.adapter)
		case said.adapter.Adapter == layout.Packed:
			adapters.Pack(b, a, said.adapter)
		default:
			at := binding.Named(b.InputSpecs, said.target)
			if a.Role == binding.Output {
				at = binding.Named(b.OutputSpecs, said.target)
			}
			a.Target, a.Index, a.Adapted = said.target, at, said.adapter
		}
	}
}

// TensorsNamed counts the tensors whose parameter has the spec's name or one without another meaning.
func TensorsNamed(b *binding.Binding) int {
	count := 0
	for _, a := range b.Args {
		if (a.Role == binding.Input || a.Role == binding.Output) &&
			match.Score(b.Spec, b.Pass, a.Name, a.Target) > match.Weak {
			count++
		}
	}
	return count
}

// layoutOf returns the row of a word of --map, with so many parts before its ending.
func layoutOf(b *binding.Binding, text, end string, parts int) (l layout.Row, ok bool) {
	at := slices.IndexFunc(layout.Table, func(l layout.Row) bool {
		switch l.Adapter {
		case layout.Scratch:
			return l.Word == text
		case layout.Packed:
			return parts > 1 && l.Word == end
		}
		return parts == 1 && l.Word != "" && l.Word == end
	})
	if at < 0 {
		return layout.Row{}, false
	}
	return layout.Table[at], true
}

// wordsOf returns the words of an operator for a layout.
func wordsOf(b *binding.Binding, l layout.Row) (all []string) {
	own := b.Spec.Own
	switch l.Adapter {
	case layout.Scratch:
		all = []string{l.Word}
	case layout.Packed:
		all = []string{layout.WithEnd(strings.Join(own.Packed, "+"), l.Word)}
	case layout.Wide:
		all = binding.EachOf(own.Wide, func(name string) string { return layout.WithEnd(name, l.Word) })
	case layout.BSHD:
		all = binding.EachOf(own.Tokens, func(name string) string { return layout.WithEnd(name, l.Word) })
	}
	return slices.DeleteFunc(all, func(word string) bool {
		_, ok := sayWord(b, word)
		return !ok
	})
}

// LayoutSentence describes what a parameter gets; "" if that is the tensor as it lies.
func LayoutSentence(b *binding.Binding, a binding.Argument) string {
	says, size := a.Row().Says, b.Spec.Own.WideSize
	switch a.Adapter {
	case layout.Packed:
		says = "$parameter holds " + a.PartsInWords() +
			": they are copied there before each call, and the copy is timed"
	case layout.BSHD:
		size = adapters.SwappedShape(b, a)
	}
	return strings.NewReplacer("$parameter", a.Name, "$target", a.Target, "$size", size).Replace(says)
}
