package kernelfile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"triad/internal/declaration"
	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/launchfit"
	"triad/internal/ownfile/layout"
	"triad/internal/ownfile/match"
)

// Declaration returns the line that says how the function is read. With it, and with the flags that say how
// the file is compiled, the function is read the same, and nothing is assumed. ok is false where no line can
// say that: it is then as much as a line can say, or has no operator.
func (b *Binding) Declaration() (line declaration.Line, ok bool) { return b.declaration(nil) }

// declaration returns the line, which gives the dtypes too if there are any.
func (b *Binding) declaration(dtypes []string) (line declaration.Line, ok bool) {
	if b.forward != nil {
		return b.forward.declaration(dtypes)
	}
	if b.Function.Name == launchfit.Joined || len(b.given.Singles) > 0 {
		return line, false
	}
	all := b.withPins()
	for _, w := range []wordy{{true, true}, {true, false}, {false, true}, {false, false}} {
		one := declaration.Line{Operator: b.Spec.Name, Words: b.lineWords(w, dtypes)}
		other, err := b.readWith(one)
		if err != nil || len(other.Assumptions()) > 0 {
			continue
		}
		if b.SameAs(other) || all != nil && all.SameAs(other) {
			return one, true
		}
	}
	return declaration.Line{Operator: b.Spec.Name, Words: b.lineWords(wordy{true, true}, dtypes)}, false
}

// withPins returns the interpretation that states every attribute value that the function is judged with
// alone; nil if there is none.
func (b *Binding) withPins() *Binding {
	other, err := b.again(b.given.With(Alternative{Options: Options{Attrs: b.Pins()}}), nil)
	if err != nil {
		return nil
	}
	return other
}

// SharesLine reports whether the line of the forward also says how this function is read.
func (b *Binding) SharesLine() bool { return b.forward != nil }

// Sign begins a comment in the language of the function.
func (b *Binding) Sign() string {
	if b.Function.Kind == cfacts.Python {
		return PythonSign
	}
	return CUDASign
}

// readWith matches the function of its file again, with a line above it.
func (b *Binding) readWith(line declaration.Line) (*Binding, error) {
	lines, err := declaration.Find(line.Text(b.Sign()), b.Sign())
	if err != nil {
		return nil, err
	}
	flags := Options{Flags: b.given.Flags, DTypes: b.given.DTypes, Contract: b.given.Contract}
	return b.again(flags, lines)
}

// again matches the function of its file with some options, and with the lines above it.
func (b *Binding) again(options Options, lines []declaration.Line) (*Binding, error) {
	at := slices.IndexFunc(b.file.Functions, func(fn cfacts.Function) bool {
		return fn.Name == b.Function.Name && fn.Line == b.Function.Line
	})
	if at < 0 { // triad made it
		return nil, fmt.Errorf("%s is not in the file", b.Function.Name)
	}
	fn := b.file.Functions[at]
	fn.Declared = lines
	options, err := options.statedBy(fn, b.Spec, b.Pass)
	if err != nil {
		return nil, err
	}
	return Match(b.file, fn, b.Spec, b.Pass, options)
}

// LineSays returns the line of the file that says how the function is read; 0 where none does.
func (b *Binding) LineSays() int {
	if b.forward != nil {
		return b.forward.LineSays()
	}
	if b.Options.said == nil {
		return 0
	}
	return b.Options.said.line.At.Line
}

// SameAs reports whether two interpretations of a function call it alike and are judged on the same cases.
func (b *Binding) SameAs(other *Binding) bool {
	same := func(x, y map[string]int64) bool { return len(x) == len(y) && maps.Equal(x, y) }
	return b.shim() == other.shim() && maps.Equal(b.Pins(), other.Pins()) && same(b.Fixed(), other.Fixed()) &&
		slices.EqualFunc(b.Equal(), other.Equal(), slices.Equal) &&
		slices.Equal(b.DTypes(), other.DTypes()) && slices.Equal(b.Distributions(), other.Distributions()) &&
		(b.Function.Kind == cfacts.Python || b.Constraint() == other.Constraint() && b.givenAs(other))
}

// givenAs reports whether two interpretations with the same shim pass the same in every quick case.
func (b *Binding) givenAs(other *Binding) bool {
	plan, err := b.Spec.Expand(op.Options{
		Level: op.LevelQuick, Passes: []op.Pass{b.Pass}, Dims: b.Fixed(), DTypes: b.DTypes(),
		Equal: b.Equal(), Shapes: b.MoreShapes(), Attributes: b.Pins(),
	})
	given := 0
	for _, c := range plan.Cases {
		inputs, noInputs := b.Spec.Inputs(c)
		outputs, noOutputs := b.Spec.Outputs(c)
		call := Call{Inputs: inputs, Outputs: outputs}
		for _, a := range c.Attrs {
			call.Attributes = append(call.Attributes, a.Number)
		}
		if errors.Join(noInputs, noOutputs) != nil {
			return false
		}
		one, why := b.Words(call)
		if two, otherwise := other.Words(call); why != otherwise || !slices.Equal(one, two) {
			return false
		}
		given += len(one)
	}
	return err == nil && given > 0
}

// shim returns the code that calls the function alone.
func (b *Binding) shim() string {
	if b.Function.Kind == cfacts.Python {
		return PythonShim("", "", []*Binding{b})
	}
	return CUDAShim("", "", []*Binding{b})
}

// withWord adds a word unless its key or value is empty.
func withWord(words []declaration.Word, key, value string) []declaration.Word {
	if key == "" || value == "" {
		return words
	}
	return append(words, declaration.Word{Key: key, Value: value})
}

// argumentWords returns the words of the parameters; numbers includes those whose number the lines give.
func (b *Binding) argumentWords(numbers bool) (words []declaration.Word) {
	add := func(key, value string) { words = withWord(words, key, value) }
	factors := map[string][]string{}
	for _, a := range b.Args {
		if a.Share > 0 {
			factors[a.Target] = append(factors[a.Target], a.Name)
			if names := factors[a.Target]; len(names) > 1 {
				add(a.Target, strings.Join(names, "*"))
			}
			continue
		}
		number := a.Adapter == layout.Scratch || a.Role == Constant &&
			(numbers || a.Stated || b.guessedNumber(a))
		if a.Adapter == layout.BlockTotals || strings.HasPrefix(a.Target, "2 *") {
			continue // its lines say that, and no word does
		}
		if a.Over != "" {
			add(a.Over, a.Name)
		}
		if number || slices.Contains([]Role{Input, Output, Size, Attribute}, a.Role) {
			add(b.adapterWord(a), a.Name)
		}
	}
	return words
}

// wordy selects what a line repeats of the file: the launch and the attributes, and the numbers passed.
type wordy struct{ launch, numbers bool }

// lineWords returns the words that say how the function is read.
func (b *Binding) lineWords(w wordy, dtypes []string) (words []declaration.Word) {
	words = b.argumentWords(w.numbers)
	add := func(key, value string) { words = withWord(words, key, value) }
	fixed, without := b.Fixed(), b.given.Without
	for _, d := range b.Spec.Dims {
		_, asked := b.given.Dims[d.Name]
		_, implied := b.implied[d.Name]
		switch n, is := fixed[d.Name]; {
		case implied && n == 1 && b.Function.Kind == cfacts.Python && !asked:
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
		add(keyGrid, b.inWords(sizes(l.Grid)))
		add(keyBlock, b.inWords(sizes(l.Block)))
		if l.Shared != "0" {
			add(keyShared, b.inWords(l.Shared))
		}
	}
	if l := b.triton; l != nil && (w.launch || !l.said) {
		add(keyGrid, b.inWords(strings.Join(l.grid, ", ")))
	}
	if len(b.given.Arguments) > 0 || b.Function.Kind == cfacts.Host && len(b.numbers) > 0 {
		add(keyTemplate, strings.Join(b.Options.Arguments, ","))
	} else {
		for _, number := range b.numbers {
			name, value, _ := strings.Cut(number, " is ")
			add(value, name)
		}
	}
	if len(dtypes) == 0 {
		dtypes = b.given.Only
	}
	add(keyDType, strings.Join(dtypes, ","))
	add(keyWithout, strings.Join(without, ","))
	if match.IsBackward(b.Function.Name+" "+b.Function.BoundName) != (b.Pass == op.Backward) {
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

// uncertain reports whether neither a fact nor a word of its name, only a letter, says what a parameter is.
func (b *Binding) uncertain(name string) bool {
	return slices.ContainsFunc(b.Args, func(a Argument) bool {
		return a.Name == name && !b.stated(a) && !b.writtenAlone(a.Param) && (match.SaysLetter(name) ||
			match.Score(b.Spec, b.Pass, name, a.Target) <= match.Weak)
	})
}

// withLike returns parameters, and those of the same kind that are uncertain: if one of these has another
// meaning, they may have, too.
func (b *Binding) withLike(open []string) []string {
	for _, kind := range []func(Argument) bool{
		func(a Argument) bool { return a.isTensor() || a.Role == Nothing && (a.Pointer || a.Untyped) },
		func(a Argument) bool { return a.Role == Size && a.Share == 0 || a.Role == Nothing && a.IsInteger() },
	} {
		all := b.argumentsThat(kind)
		if slices.ContainsFunc(all, func(name string) bool { return slices.Contains(open, name) }) {
			open = append(open, those(all, b.uncertain)...)
		}
	}
	return open
}

// openLine returns the line as far as it is known, with open places marked: parameters without a target and
// those that are guesses; tensors and sizes without a parameter if no open one can stand for them. "" if
// nothing is open, or if no word of a line can say what is.
func (b *Binding) openLine() string {
	line := declaration.Line{Operator: b.Spec.Name, Words: b.argumentWords(false)}
	before := len(line.Words)
	add := func(key, value string) { line.Words = withWord(line.Words, key, value) }
	_, open := b.guessedParameters()
	left := 0 // pointers, and what may be one
	for _, a := range b.Args {
		tile := a.Place == cfacts.InTile && !b.Function.FactsOf(a.Name).Optional && !namesTile(a.Name)
		if a.Role == Nothing && (tile || !a.Optional && a.Place == cfacts.InCall) {
			add(declaration.Open, a.Name)
			open = append(open, a.Name)
			if a.Pointer || a.Untyped {
				left++
			}
		}
	}
	missing, results := b.unmatched(Input, b.inputs), b.unmatched(Output, b.outputs)
	if b.Function.MayReturn() {
		results = nil
	}
	writable := func(a Argument) bool { return a.Role == Input && !a.Const }
	switch {
	case len(missing) == 0 && left == 0 && slices.ContainsFunc(b.Args, writable): // y=? may be what x is
		for _, i := range results {
			add(b.outputs[i].Name, declaration.Open)
		}
	case len(missing)+len(results) > left && len(b.Spec.Own.Packed) == 0:
		return ""
	case len(missing)+len(results) > 0:
		open = append(open, those(b.tensorParameters(), b.uncertain)...)
	}
	for _, t := range b.Function.Template[min(len(b.Options.Arguments), len(b.Function.Template)):] {
		if !t.Type && t.Default == "" {
			add(declaration.Open, t.Name)
		}
	}
	for _, d := range b.Spec.Dims {
		if !b.givesSize(d.Name) && d.Default == "" && b.implied[d.Name] == 0 && !b.Function.ShowsSizes() {
			add(d.Name, declaration.Open)
			open = append(open, those(b.argumentsThat(func(a Argument) bool { return a.Role == Size }),
				b.uncertain)...) // it may be what another one was taken for
		}
	}
	if before == len(line.Words) && len(missing)+len(results) == 0 {
		return ""
	}
	line, any := b.withOpen(line, b.withLike(open))
	if !any && before == len(line.Words) {
		return ""
	}
	return line.Text(b.Sign())
}

// withLine returns an error that the user can correct, with the line that does so as far as it is known.
func (b *Binding) withLine(err error) error {
	u := (*op.UsageError)(nil)
	line := b.openLine()
	if !errors.As(err, &u) || line == "" || b.Options.said != nil {
		return err
	}
	return &op.UsageError{Message: fmt.Sprintf("%s\n  Write this line %s%s: %s", u.Message, b.above(),
		withMeant, line)}
}

// withMeant follows the place of a line with open places.
const withMeant = ", with what is meant for " + declaration.Open

// above names the place of a line in a message.
func (b *Binding) above() string {
	return fmt.Sprintf("above line %d of %s, %s", b.Function.Line, b.file.Name, b.Function.Name)
}

// DeclinedLine follows the sentence about a call that a Python function declines: the line that would say
// which sizes its tensors lack, or with which sizes it may be called. "" where the line is there, or none
// helps.
func (b *Binding) DeclinedLine(sentence string) string {
	line, _ := b.declaration(nil)
	before := len(line.Words)
	switch {
	case b.Options.said != nil || line.Operator == "":
		return ""
	case strings.Contains(sentence, "another number of sizes") && len(b.perhapsWithout()) > 0:
		line, _ = b.withOpen(line, those(b.argumentsThat(func(a Argument) bool { return a.Role == Size }),
			b.uncertain))
		line.Words = withWord(line.Words, keyWithout, declaration.Open)
	case strings.Contains(sentence, "must be a power of 2"):
		for _, d := range b.Spec.Dims {
			if _, fixed := b.fixed(d.Name); !fixed && d.Default == "" {
				line.Words = withWord(line.Words, d.Name, declaration.Open)
			}
		}
	}
	if before == len(line.Words) {
		return ""
	}
	return ". Write this line " + b.above() + withMeant + ": " + line.Text(b.Sign())
}
