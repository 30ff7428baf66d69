package binding

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"triad/internal/declaration"
	"triad/internal/op"
	"triad/internal/ownfile/match"
)

// Alternative is another interpretation of a function, one that a user may ask for: Flags are the words of
// the command line, Options holds nothing else.
type Alternative struct {
	Flags   string
	Options Options
	// what it changes is fixed by the operator's definition, such as a switch or an eps: it is proposed where
	// it is right, and never taken
	Attribute string
	Proposed  bool // so is another order or layout of tensors
}

// With returns the options with those of an alternative added.
func (o Options) With(a Alternative) Options {
	o.Map, o.Attrs = merged(o.Map, a.Options.Map), merged(o.Attrs, a.Options.Attrs)
	o.Dims = merged(o.Dims, a.Options.Dims)
	o.Grid, o.Block = cmp.Or(a.Options.Grid, o.Grid), cmp.Or(a.Options.Block, o.Block)
	o.Shared = cmp.Or(a.Options.Shared, o.Shared)
	if len(a.Options.Bound) > 0 {
		o.Bound = a.Options.Bound
	}
	if len(a.Options.Singles) > 0 {
		o.Singles = a.Options.Singles
	}
	if len(a.Options.Without) > 0 {
		o.Without = a.Options.Without
	}
	o.Flat, o.Square = o.Flat || a.Options.Flat, o.Square || a.Options.Square
	if len(a.Options.Only) > 0 {
		o.Only = a.Options.Only
	}
	o.Several = true // the other pass need not have such parameters
	return o
}

// merged returns a new map with the values of two; those of the second take precedence.
func merged[V any](a, b map[string]V) map[string]V {
	all := maps.Collect(maps.All(a))
	maps.Copy(all, b)
	return all
}

// PlainSizes returns sizes as words.
func PlainSizes(list []any) []string {
	return EachOf(list, func(size any) string { return fmt.Sprint(size) })
}

// Mapped returns the alternative that maps parameters to targets.
func Mapped(names, targets []string) Alternative {
	words := map[string]string{}
	var text []string
	for i, name := range names {
		words[name] = targets[i]
		text = append(text, name+"="+targets[i])
	}
	return Alternative{Flags: "--map " + strings.Join(text, ","), Options: Options{Map: words}}
}

// Permutations returns all orders of words, the given one first.
func Permutations(words []string) [][]string {
	if len(words) < 2 || len(words) > 5 {
		return [][]string{words}
	}
	var all [][]string
	for i, first := range words {
		rest := slices.Delete(slices.Clone(words), i, i+1)
		all = append(all, EachOf(Permutations(rest), func(order []string) []string {
			return append([]string{first}, order...)
		})...)
	}
	return all
}

// Guess is the subject of an assumption.
type Guess uint8

// The kinds of assumptions. A wrong launch may show at some sizes only, any other one shows everywhere.
const (
	GuessedParameter Guess = iota
	GuessedSize            // a size without a parameter
	GuessedLaunch
	GuessedAttribute
	GuessedLayout
	GuessedForm // how tensors lie, or what a function takes in addition to them
	GuessedDType
)

// Assumption is something that a file leaves open and that was decided one way; What says how.
type Assumption struct {
	Kind      Guess
	What      string
	Attribute string // of a GuessedAttribute
	Value     string // of that
	// the file has another value of the attribute in its lines: a wrong answer is not held against it
	Contradicted string
	OtherCalls   bool     // no line says it: a function is to be written that makes the calls that are meant
	AnySize      bool     // of a GuessedForm: a wrong one shows at every size
	Double       bool     // of a GuessedAttribute: its fp32 value is another than that of the file's lines
	Open         []string // the parameters and keys whose words in a line it leaves open
	Tiny         bool     // of an attribute or a parameter taken for one: ordinary numbers hide it, as an eps
}

// Contrary reports whether the name of a size also fits another size, and the two stand in the signature in
// the opposite of the expected order: (N, M) where M is the rows.
func (b *Binding) Contrary(a Argument) bool {
	at := slices.IndexFunc(b.Args, func(o Argument) bool { return o.Name == a.Name })
	for i, o := range b.Args {
		exchange := a.Role == Size && o.Role == Size && o.Target != a.Target &&
			match.Score(b.Spec, b.Pass, a.Name, o.Target) > 0 &&
			match.Score(b.Spec, b.Pass, o.Name, a.Target) > 0
		if exchange && (i < at) != (b.dimIndex(o.Target) < b.dimIndex(a.Target)) {
			return true
		}
	}
	return false
}

// dimIndex returns the index of a size in the spec, or that of the first of several sizes.
func (b *Binding) dimIndex(target string) int {
	return slices.IndexFunc(b.Spec.Dims, func(d op.DimSpec) bool { return d.Name == DimsOf(target)[0] })
}

// GuessedAttribute returns the value of an attribute that neither a parameter, the user nor the file gives;
// "" where one does. A value that follows from the sizes, such as a scale of 1 / sqrt(head_dim), is part of
// the operator's definition.
func (b *Binding) GuessedAttribute(a op.AttributeSpec) string {
	_, said := b.Options.Attrs[a.Name]
	decides, _ := b.switched(a.Name) // by which tensors have a parameter
	if said || decides || b.Has(Attribute, a.Name) || b.nameSetsSwitch(a) || b.literalSays(a) != "" ||
		b.Named[a.Name] != "" {
		return ""
	}
	code, value := b.AttributeValue(a)
	if code == "" {
		return ""
	}
	if a.Type == "float" {
		n, err := strconv.ParseFloat(value, 64)
		if err != nil || slices.Contains(b.Literals, n) {
			return ""
		}
	}
	return value
}

// Stated reports whether the user said what a parameter stands for.
func (b *Binding) Stated(a Argument) bool {
	_, said := b.Options.Map[a.Name]
	return said || b.Options.factor(a.Name) != ""
}

func ShapeWords(list []any) string { return "[" + strings.Join(PlainSizes(list), ", ") + "]" }

// TensorParameters returns the parameters that stand for tensors.
func (b *Binding) TensorParameters() []string { return b.ArgumentsThat(Argument.IsTensor) }

// IsTensor reports whether an argument stands for a tensor of the operator.
func (a Argument) IsTensor() bool { return a.Role == Input || a.Role == Output }

// WithOpen returns a line in which the words of some parameters, and of some keys that are no parameter's
// name, are open, and so the operator where it is among them, and whether there are any.
func (b *Binding) WithOpen(line declaration.Line, open []string) (marked declaration.Line, any bool) {
	marked = declaration.Line{Operator: line.Operator}
	if slices.Contains(open, line.Operator) {
		marked.Operator, any = declaration.Open, true
	}
	for _, w := range line.Words {
		switch {
		case slices.Contains(open, w.Value):
			w.Key, any = declaration.Open, true
		case slices.Contains(open, w.Key) && !slices.Contains(ParameterNames(&b.Function), w.Key):
			w.Value, any = declaration.Open, true
		}
		marked.Words = append(marked.Words, w)
	}
	return marked, any
}
