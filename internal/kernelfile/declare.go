package kernelfile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"triad/internal/declaration"
	"triad/internal/op"
)

// Declaration is the line that says how the function is read. With it, and with the flags that say how the
// file is compiled, the function is read the same, and nothing is assumed. ok is false where no line can say
// that.
func (b *Binding) Declaration() (line declaration.Line, ok bool) {
	if b.forward != nil {
		return b.forward.Declaration()
	}
	if b.given.Rung != "" || len(b.given.Singles) > 0 {
		return line, false
	}
	all := b.withPins()
	for _, w := range []wordy{{true, true}, {true, false}, {false, true}, {false, false}} {
		one := declaration.Line{Operator: b.Spec.Name, Words: b.lineWords(w)}
		other, err := b.readWith(one)
		if err == nil && len(other.Assumptions()) == 0 && (b.sameAs(other) || all != nil && all.sameAs(other)) {
			return one, true
		}
		if line.Operator == "" {
			line = one
		}
	}
	return line, false
}

// withPins is the reading with every attribute said that the function is judged with alone; nil where there
// is none.
func (b *Binding) withPins() *Binding {
	other, err := b.again(b.given.With(Alternative{Options: Options{Attrs: b.Pins()}}), nil)
	if err != nil {
		return nil
	}
	return other
}

// sign begins a comment in the language of the function.
func (b *Binding) sign() string {
	if b.Function.Kind == Python {
		return PythonSign
	}
	return CUDASign
}

// readWith matches the function of its file again, with a line above it.
func (b *Binding) readWith(line declaration.Line) (*Binding, error) {
	lines, err := declaration.Find(line.Text(b.sign()), b.sign())
	if err != nil {
		return nil, err
	}
	return b.again(Options{Flags: b.given.Flags, DTypes: b.given.DTypes}, lines)
}

// again matches the function of its file with some options, and with the lines above it.
func (b *Binding) again(options Options, lines []declaration.Line) (*Binding, error) {
	at := slices.IndexFunc(b.file.Functions, func(fn Function) bool {
		return fn.Name == b.Function.Name && fn.Line == b.Function.Line
	})
	if at < 0 { // triad made it
		return nil, fmt.Errorf("%s is not in the file", b.Function.Name)
	}
	fn := b.file.Functions[at]
	fn.lines = lines
	options, err := options.saidBy(fn, b.Spec, b.Pass)
	if err != nil {
		return nil, err
	}
	return Match(b.file, fn, b.Spec, b.Pass, options)
}

// sameAs says whether two readings of a function are called alike, and judged on the same cases.
func (b *Binding) sameAs(other *Binding) bool {
	same := func(x, y map[string]int64) bool { return len(x) == len(y) && maps.Equal(x, y) }
	return b.shim() == other.shim() && maps.Equal(b.Pins(), other.Pins()) && same(b.Fixed(), other.Fixed()) &&
		slices.Equal(b.DTypes(), other.DTypes()) && slices.EqualFunc(b.Equal(), other.Equal(), slices.Equal) &&
		slices.Equal(b.Distributions(), other.Distributions())
}

// shim is the code that calls the function alone.
func (b *Binding) shim() string {
	if b.Function.Kind == Python {
		return PythonShim("", "", []*Binding{b})
	}
	return CUDAShim("", "", []*Binding{b})
}

// wordy says how much a line says of what the lines of the file say already: the launch and the attributes,
// and the numbers that are passed.
type wordy struct{ launch, numbers bool }

// lineWords are the words that say how the function is read.
func (b *Binding) lineWords(w wordy) (words []declaration.Word) {
	add := func(key, value string) {
		if key != "" && value != "" {
			words = append(words, declaration.Word{Key: key, Value: value})
		}
	}
	for _, a := range b.Args {
		number := a.Form == Scratch || a.Role == Constant && (w.numbers || a.told || b.guessedNumber(a))
		if a.Share > 0 || a.Form == BlockTotals || strings.HasPrefix(a.Target, "2 *") {
			continue // its lines say that, and no word does
		}
		if a.Over != "" {
			add(a.Over, a.Name)
		}
		if number || slices.Contains([]Role{Input, Output, Size, Attribute}, a.Role) {
			add(b.formWord(a), a.Name)
		}
	}
	fixed, without := b.Fixed(), b.given.Without
	for _, d := range b.Spec.Dims {
		_, asked := b.given.Dims[d.Name]
		_, implied := b.implied[d.Name]
		switch n, is := fixed[d.Name]; {
		case implied && n == 1 && b.Function.Kind == Python && !asked:
			if !slices.Contains(without, d.Name) {
				without = append(slices.Clone(without), d.Name)
			}
		case is && (!b.givesSize(d.Name) || !asked):
			add(d.Name, strconv.FormatInt(n, 10))
		}
	}
	pins := b.Pins()
	for _, a := range b.Spec.Attributes {
		if _, said := b.given.Attrs[a.Name]; said || w.launch || b.guessedAttribute(a) != "" {
			add(a.Name, cmp.Or(pins[a.Name], b.named[a.Name]))
		}
	}
	if l := b.Launch; l != nil && (w.launch || l.guessed) {
		add(keyGrid, sizes(l.Grid))
		add(keyBlock, sizes(l.Block))
		add(keyShared, strings.TrimPrefix(l.Shared, "0"))
	}
	if l := b.triton; l != nil && (w.launch || !l.said) {
		add(keyGrid, strings.Join(l.grid, ", "))
	}
	if len(b.given.Arguments) > 0 || b.Function.Kind == Host && len(b.numbers) > 0 {
		add(keyTemplate, strings.Join(b.Options.Arguments, ","))
	} else {
		for _, number := range b.numbers {
			name, value, _ := strings.Cut(number, " is ")
			add(value, name)
		}
	}
	add(keyContract, b.given.Contract)
	add(keyDType, strings.Join(b.given.Only, ","))
	add(keyWithout, strings.Join(without, ","))
	if isBackward(b.Function.Name+" "+b.Function.bound) != (b.Pass == op.Backward) {
		add(keyPass, b.Pass.String())
	}
	switch {
	case b.given.Flat:
		add(keyTensors, tensorsFlat)
	case b.given.Square:
		add(keyTensors, tensorsSquare)
	}
	return words
}
