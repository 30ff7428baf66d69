package kernelfile

import (
	"regexp"
	"slices"
	"strings"

	"triad/internal/ownfile/cfacts"
)

// Words of --map for a plain number in the place of the tensor that the output is multiplied by, or of one
// that is added.
const (
	wordFactor = "factor"
	wordAddend = "addend"
)

// statedWord is the meaning of a word of --map for a parameter, in addition to the name of a tensor.
type statedWord struct {
	target  string // the tensor, the first of several; "" for scratch memory and for plain numbers
	adapter adapterOf
	plain   bool // a number is passed
}

// isNumber matches a word of --map that is a number, which is passed as it is.
var isNumber = regexp.MustCompile(`^-?\d+(\.\d*)?(e-?\d+)?$`)

// sayWord reads a word of --map that says more than a name; ok is false for one that does not.
func (b *Binding) sayWord(text string) (said statedWord, ok bool) {
	said.adapter.stated = true
	if isNumber.MatchString(text) {
		said.adapter.number, said.plain = text, true
		return said, true
	}
	names, end, _ := strings.Cut(text, ":")
	parts := strings.Split(names, "+")
	l, ok := b.layoutOf(text, end, len(parts))
	if !ok {
		return said, false
	}
	said.adapter.Adapter, said.adapter.fill, said.adapter.lies = l.Adapter, l.fill, l.lies
	switch own := b.Spec.Own; l.Adapter {
	case Scratch:
		return said, true
	case Packed:
		said.adapter.parts = parts
		ok = slices.Equal(slices.Sorted(slices.Values(parts)), slices.Sorted(slices.Values(own.Packed)))
	case BSHD:
		ok = slices.Contains(own.Tokens, names)
	default:
		ok = slices.Contains(own.Wide, names)
	}
	said.target = parts[0]
	return said, ok
}

// plainWords returns the words of --map for a number in the place of a tensor, if the operator has one.
func (b *Binding) plainWords() []string {
	var all []string
	if b.Spec.Own.Factor != "" {
		all = append(all, wordFactor, wordAddend)
	}
	return all
}

// adapterWords returns all words of --map that an operator knows in addition to its names.
func (b *Binding) adapterWords() []string {
	all := b.plainWords()
	for _, l := range layouts {
		all = append(all, b.wordsOf(l)...)
	}
	return all
}

// knownWord reports whether a word of --map names a layout adapter that the operator has.
func (b *Binding) knownWord(text string) bool {
	_, ok := b.sayWord(text)
	return ok || slices.Contains(b.plainWords(), text)
}

// checkWord refuses a word of --map that does not fit its parameter; it has been read before.
func (b *Binding) checkWord(p cfacts.Param, text string) error {
	said, ok := b.sayWord(text)
	tensors := b.Function.Kind == cfacts.Python || b.Function.ShowsSizes() || b.Function.ReturnsTensors
	pointer := p.Pointer && !p.TorchTensor
	switch {
	case ok && said.adapter.Adapter == BSHD && b.Function.Kind == cfacts.Python && b.mayExchange() &&
		(p.Pointer || p.Untyped):
		return nil
	case ok && said.adapter.Adapter == Packed && b.Function.Form != kernelForm && (p.Pointer || p.Untyped),
		ok && (said.adapter.Adapter == Wide || said.adapter.Adapter == Pairs) &&
			b.Function.Kind == cfacts.Python &&
			(p.Pointer || p.Untyped):
		return nil
	case ok && !said.plain && tensors:
		return b.errorf("--map %s=%s: tensors of PyTorch are handed over as they lie", p.Name, text)
	case ok && said.plain && (pointer || p.IsInteger() && strings.ContainsAny(text, ".e")),
		ok && !said.plain && !pointer,
		!ok && slices.Contains(b.plainWords(), text) && !p.IsFloat():
		return b.errorf("--map %s=%s: the type of %s does not fit %s", p.Name, text, p.Text, text)
	case ok && p.Const && said.adapter.Adapter == Scratch && said.adapter.fill != fillCounted:
		return b.errorf("--map %s=%s: room to work in is written, and %s is const", p.Name, text, p.Text)
	}
	return nil
}

// sayAdapters gives parameters what the user said of their layout adapters.
func (b *Binding) sayAdapters() {
	for i := range b.Args {
		a := &b.Args[i]
		word := b.Options.Map[a.Name]
		said, ok := b.sayWord(word)
		switch {
		case word == "":
		case !ok:
			a.stated = true // just as it lies
		case said.plain:
			a.Role, a.Target, a.adapterOf = Constant, word, said.adapter
		case said.adapter.Adapter == Scratch:
			a.takeRoom(said.adapter)
		case said.adapter.Adapter == Packed:
			b.pack(a, said.adapter)
		default:
			at := named(b.inputs, said.target)
			if a.Role == Output {
				at = named(b.outputs, said.target)
			}
			a.Target, a.Index, a.adapterOf = said.target, at, said.adapter
		}
	}
}
