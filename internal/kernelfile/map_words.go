package kernelfile

import (
	"regexp"
	"slices"
	"strings"
)

// Words of --map that stand for no tensor, size or attribute.
const (
	wordRoom   = "room"  // scratch memory, which holds nothing before a call
	wordZeros  = "zeros" // the same, filled with 0
	wordLowest = "lowest"
	// the position of each token, from 0
	wordPositions = "positions"
	wordFactor    = "factor" // a plain number in the place of the tensor that the output is multiplied by
	wordAddend    = "addend"
)

// Endings of a word of --map that say how a tensor, or several, lie: cos:twice, gate+up:rows.
const (
	endRows     = "rows"
	endElements = "elements"
	endTokens   = "tokens"
	endTwice    = "twice"
	endPairs    = "pairs"
	endSwapped  = "swapped"
)

// saidWord is the meaning of a word of --map for a parameter, in addition to the name of a tensor.
type saidWord struct {
	target string // the tensor, the first of several; "" for scratch memory and for plain numbers
	form   formOf
	plain  bool // a number is passed
}

// isNumber matches a word of --map that is a number, which is passed as it is.
var isNumber = regexp.MustCompile(`^-?\d+(\.\d*)?(e-?\d+)?$`)

// sayWord reads a word of --map that says more than a name; ok is false for one that does not.
func (b *Binding) sayWord(text string) (said saidWord, ok bool) {
	said.form.told = true
	fills := map[string]string{wordRoom: "", wordZeros: fillZero, wordLowest: fillInfinity}
	if b.Spec.Own.Positions != "" {
		fills[wordPositions] = fillPositions
	}
	if fill, room := fills[text]; room {
		said.form.Form, said.form.fill = Scratch, fill
		return said, true
	}
	if isNumber.MatchString(text) {
		said.form.number, said.plain = text, true
		return said, true
	}
	names, end, ends := strings.Cut(text, ":")
	parts := strings.Split(names, "+")
	said.target = parts[0]
	if len(parts) > 1 {
		lies, known := map[string]packing{
			"": wholeTensors, endRows: rowByRow, endElements: elementwise, endTokens: tokenwise,
		}[end]
		known = known && (lies != tokenwise || b.mayStack())
		said.form.Form, said.form.parts, said.form.lies = Packed, parts, lies
		same := slices.Clone(parts)
		own := slices.Clone(b.Spec.Own.Packed)
		slices.Sort(same)
		slices.Sort(own)
		return said, known && slices.Equal(same, own)
	}
	switch own := b.Spec.Own; {
	case !ends:
		return said, false
	case end == endTwice, end == endPairs:
		said.form.Form = map[string]Form{endTwice: Wide, endPairs: Pairs}[end]
		return said, slices.Contains(own.Wide, names)
	case end == endSwapped:
		said.form.Form = ByToken
		return said, slices.Contains(own.Tokens, names)
	}
	return said, false
}

// plainWords returns the words of --map for a number in the place of a tensor, if the operator has one.
func (b *Binding) plainWords() []string {
	var all []string
	if b.Spec.Own.Factor != "" {
		all = append(all, wordFactor, wordAddend)
	}
	return all
}

// formWords returns all words of --map that an operator knows in addition to its names.
func (b *Binding) formWords() []string {
	own := b.Spec.Own
	all := append(b.plainWords(), wordRoom, wordZeros, wordLowest)
	if len(own.Packed) > 0 {
		names := strings.Join(own.Packed, "+")
		all = append(all, names, names+":"+endRows, names+":"+endElements)
		if b.mayStack() {
			all = append(all, names+":"+endTokens)
		}
	}
	if own.Positions != "" {
		all = append(all, wordPositions)
	}
	for _, name := range own.Wide {
		all = append(all, name+":"+endTwice, name+":"+endPairs)
	}
	for _, name := range own.Tokens {
		all = append(all, name+":"+endSwapped)
	}
	return all
}

// knownWord reports whether a word of --map names a form that the operator has.
func (b *Binding) knownWord(text string) bool {
	_, ok := b.sayWord(text)
	return ok || slices.Contains(b.plainWords(), text)
}

// checkWord refuses a word of --map that does not fit its parameter; it has been read before.
func (b *Binding) checkWord(p Param, text string) error {
	said, ok := b.sayWord(text)
	tensors := b.Function.Kind == Python || b.Function.showsSizes() || b.Function.returns
	pointer := p.Pointer && !p.tensor
	switch {
	case ok && said.form.Form == ByToken && b.Function.Kind == Python && b.mayExchange() &&
		(p.Pointer || p.Untyped):
		return nil
	case ok && said.form.Form == Packed && b.Function.form != kernelForm && (p.Pointer || p.Untyped),
		ok && (said.form.Form == Wide || said.form.Form == Pairs) && b.Function.Kind == Python &&
			(p.Pointer || p.Untyped):
		return nil
	case ok && !said.plain && tensors:
		return b.errorf("--map %s=%s: tensors of PyTorch are handed over as they lie", p.Name, text)
	case ok && said.plain && (pointer || p.isInteger() && strings.ContainsAny(text, ".e")),
		ok && !said.plain && !pointer,
		!ok && slices.Contains(b.plainWords(), text) && !p.isFloat():
		return b.errorf("--map %s=%s: the type of %s does not fit %s", p.Name, text, p.Text, text)
	case ok && p.Const && said.form.Form == Scratch && said.form.fill != fillPositions:
		return b.errorf("--map %s=%s: room to work in is written, and %s is const", p.Name, text, p.Text)
	}
	return nil
}

// sayForms gives parameters what the user said of their forms.
func (b *Binding) sayForms() {
	for i := range b.Args {
		a := &b.Args[i]
		word := b.Options.Map[a.Name]
		said, ok := b.sayWord(word)
		switch {
		case word == "":
		case !ok:
			a.told = true // just as it lies
		case said.plain:
			a.Role, a.Target, a.formOf = Constant, word, said.form
		case said.form.Form == Scratch:
			a.takeRoom(said.form)
		case said.form.Form == Packed:
			b.pack(a, said.form)
		default:
			at := named(b.inputs, said.target)
			if a.Role == Output {
				at = named(b.outputs, said.target)
			}
			a.Target, a.Index, a.formOf = said.target, at, said.form
		}
	}
}
