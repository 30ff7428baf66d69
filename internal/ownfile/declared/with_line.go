package declared

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
	"triad/internal/ownfile/adapters"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/extents"
	"triad/internal/ownfile/launches"
	"triad/internal/ownfile/match"
	"triad/internal/ownfile/params"
	"triad/internal/ownfile/shim"
)

// WithPins returns the interpretation that states every attribute value that the function is judged with
// alone; nil if there is none.
func WithPins(b *binding.Binding) *binding.Binding {
	other, err := Again(b, b.Given.With(binding.Alternative{Options: binding.Options{Attrs: b.Pins()}}), nil)
	if err != nil {
		return nil
	}
	return other
}

// SharesLine reports whether the line of the forward also says how this function is read.
func SharesLine(b *binding.Binding) bool { return b.Forward != nil }

// ReadWith matches the function of its file again, with a line above it.
func ReadWith(b *binding.Binding, line declaration.Line) (*binding.Binding, error) {
	lines, err := declaration.Find(line.Text(b.Sign()), b.Sign())
	if err != nil {
		return nil, err
	}
	flags := binding.Options{Flags: b.Given.Flags, DTypes: b.Given.DTypes, Contract: b.Given.Contract}
	return Again(b, flags, lines)
}

// Again matches the function of its file with some options, and with the lines above it.
func Again(b *binding.Binding, options binding.Options, lines []declaration.Line) (*binding.Binding, error) {
	at := slices.IndexFunc(b.File.Functions, func(fn cfacts.Function) bool {
		return fn.Name == b.Function.Name && fn.Line == b.Function.Line
	})
	if at < 0 { // triad made it
		return nil, fmt.Errorf("%s is not in the file", b.Function.Name)
	}
	fn := b.File.Functions[at]
	fn.Declared = lines
	options, err := StatedBy(options, fn, b.Spec, b.Pass)
	if err != nil {
		return nil, err
	}
	return params.Match(b.File, fn, b.Spec, b.Pass, options)
}

// LineSays returns the line of the file that says how the function is read; 0 where none does.
func LineSays(b *binding.Binding) int {
	if b.Forward != nil {
		return LineSays(b.Forward)
	}
	if b.Options.Said == nil {
		return 0
	}
	return b.Options.Said.Line.At.Line
}

// SameAs reports whether two interpretations of a function call it alike and are judged on the same cases.
func SameAs(b *binding.Binding, other *binding.Binding) bool {
	same := func(x, y map[string]int64) bool { return len(x) == len(y) && maps.Equal(x, y) }
	return Shim(b) == Shim(other) && maps.Equal(b.Pins(), other.Pins()) &&
		same(params.Fixed(b), params.Fixed(other)) &&
		slices.EqualFunc(extents.Equal(b), extents.Equal(other), slices.Equal) &&
		slices.Equal(b.DTypes(), other.DTypes()) &&
		slices.Equal(adapters.Distributions(b), adapters.Distributions(other)) &&
		(b.Function.Kind == cfacts.Python ||
			shim.Constraint(b) == shim.Constraint(other) && givenAs(b, other))
}

// givenAs reports whether two interpretations with the same shim pass the same in every quick case.
func givenAs(b *binding.Binding, other *binding.Binding) bool {
	plan, err := b.Spec.Expand(op.Options{
		Level: op.LevelQuick, Passes: []op.Pass{b.Pass}, Dims: params.Fixed(b), DTypes: b.DTypes(),
		Equal: extents.Equal(b), Shapes: launches.MoreShapes(b), Attributes: b.Pins(),
	})
	given := 0
	for _, c := range plan.Cases {
		inputs, noInputs := b.Spec.Inputs(c)
		outputs, noOutputs := b.Spec.Outputs(c)
		call := binding.Call{Inputs: inputs, Outputs: outputs}
		for _, a := range c.Attrs {
			call.Attributes = append(call.Attributes, a.Number)
		}
		if errors.Join(noInputs, noOutputs) != nil {
			return false
		}
		one, why := shim.Words(b, call)
		if two, otherwise := shim.Words(other, call); why != otherwise || !slices.Equal(one, two) {
			return false
		}
		given += len(one)
	}
	return err == nil && given > 0
}

// Shim returns the code that calls the function alone.
func Shim(b *binding.Binding) string {
	if b.Function.Kind == cfacts.Python {
		return shim.PythonShim("", "", []*binding.Binding{b})
	}
	return shim.CUDAShim("", "", []*binding.Binding{b})
}

// Wordy selects what a line repeats of the file: the launch and the attributes, and the numbers passed.
type Wordy struct{ Launch, Numbers bool }

// LineWords returns the words that say how the function is read.
func LineWords(b *binding.Binding, w Wordy, dtypes []string) (words []declaration.Word) {
	words = params.ArgumentWords(b, w.Numbers)
	add := func(key, value string) { words = binding.WithWord(words, key, value) }
	fixed, without := params.Fixed(b), b.Given.Without
	for _, d := range b.Spec.Dims {
		_, asked := b.Given.Dims[d.Name]
		_, implied := b.Implied[d.Name]
		switch n, is := fixed[d.Name]; {
		case implied && n == 1 && b.Function.Kind == cfacts.Python && !asked:
			if !slices.Contains(without, d.Name) {
				without = append(slices.Clone(without), d.Name)
			}
		case is && (!b.GivesSize(d.Name) || !asked):
			add(d.Name, strconv.FormatInt(n, 10))
		}
	}
	pins := b.Pins()
	for _, a := range b.Spec.Attributes {
		if _, said := b.Given.Attrs[a.Name]; said || w.Launch || b.GuessedAttribute(a) != "" {
			add(a.Name, cmp.Or(pins[a.Name], b.Named[a.Name]))
		}
	}
	if l := b.Launch; l != nil && (w.Launch || l.Guessed) {
		add(KeyGrid, launches.InWords(b, binding.Sizes(l.Grid)))
		add(KeyBlock, launches.InWords(b, binding.Sizes(l.Block)))
		if l.Shared != "0" {
			add(KeyShared, launches.InWords(b, l.Shared))
		}
	}
	if l := b.Triton; l != nil && (w.Launch || !l.Said) {
		add(KeyGrid, launches.InWords(b, strings.Join(l.Grid, ", ")))
	}
	if len(b.Given.Arguments) > 0 || b.Function.Kind == cfacts.Host && len(b.Numbers) > 0 {
		add(keyTemplate, strings.Join(b.Options.Arguments, ","))
	} else {
		for _, number := range b.Numbers {
			name, value, _ := strings.Cut(number, " is ")
			add(value, name)
		}
	}
	if len(dtypes) == 0 {
		dtypes = b.Given.Only
	}
	add(KeyDType, strings.Join(dtypes, ","))
	add(KeyWithout, strings.Join(without, ","))
	if match.IsBackward(b.Function.Name+" "+b.Function.BoundName) != (b.Pass == op.Backward) {
		add(keyPass, b.Pass.String())
	}
	switch {
	case b.Given.Flat:
		add(keyTensors, tensorsFlat)
	case b.Given.Square:
		add(keyTensors, tensorsSquare)
	}
	return words
}
