package kernelfile

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/layout"
	"triad/internal/ownfile/match"
)

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
	value     string // of that
	// the file has another value of the attribute in its lines: a wrong answer is not held against it
	Contradicted string
	otherCalls   bool     // no line says it: a function is to be written that makes the calls that are meant
	anySize      bool     // of a GuessedForm: a wrong one shows at every size
	double       bool     // of a GuessedAttribute: its fp32 value is another than that of the file's lines
	open         []string // the parameters and keys whose words in a line it leaves open
	tiny         bool     // of an attribute or a parameter taken for one: ordinary numbers hide it, as an eps
}

// Assumptions lists what was assumed about a function. What the user said is no assumption.
func (b *Binding) Assumptions() []Assumption {
	var all []Assumption
	if words, parameters := b.guessedParameters(); len(words) > 0 {
		all = append(all, Assumption{
			Kind: GuessedParameter,
			What: strings.Join(words, ", ") + ", though the names say too little", open: parameters,
			tiny: b.guessesTiny(parameters),
		})
	}
	all = append(append(all, b.assumedSizes()...), b.assumedNumbers()...)
	if l := b.Launch; l != nil && l.guessed {
		launch := Assumption{
			Kind: GuessedLaunch, What: fmt.Sprintf("it is launched with grid (%s) and block (%s)",
				sizes(l.Grid), sizes(l.Block)), open: []string{keyGrid, keyBlock, keyShared},
		}
		if l.Shared != "0" {
			launch.What += fmt.Sprintf(" and %s bytes of dynamic shared memory", l.Shared)
		}
		all = append(all, launch)
	}
	if l := b.triton; l != nil && !l.said {
		all = append(all, Assumption{
			Kind: GuessedLaunch, What: "it is launched with " + l.String(), open: []string{keyGrid},
		})
	}
	for _, a := range b.Spec.Attributes {
		if value := b.guessedAttribute(a); value != "" {
			assumed := Assumption{
				Kind: GuessedAttribute, What: a.Name + " is " + value, Attribute: a.Name,
				value: value, open: []string{a.Name}, tiny: a.Type == "float" && isTiny(value),
			}
			if others := b.smallLiterals(); a.Type == "float" && len(others) > 0 {
				assumed.Contradicted = others[0]
				assumed.What += ", where its lines have " + others[0]
			}
			all = append(all, assumed)
		}
	}
	all = append(all, b.doubleAttributes()...)
	all = slices.Concat(all, b.assumedForms(), b.assumedFirst(), b.assumedHalves())
	if words := b.guessedLayout(); words != "" && len(b.Spec.Own.Flat) > 0 {
		all = append(all, Assumption{Kind: GuessedLayout, What: words, open: b.tensorParameters()})
	}
	return all
}

// assumedSizes returns the assumptions about sizes that neither a parameter gives nor a constant that the
// file allocates with.
func (b *Binding) assumedSizes() (all []Assumption) {
	for _, d := range b.Spec.Dims {
		n, implied := b.implied[d.Name]
		if _, said := b.Options.Dims[d.Name]; said && b.guessedSizes == nil { // by the user
			continue
		}
		if guessed, constant := b.guessedSizes[d.Name]; constant {
			n, implied = guessed, true
		}
		if implied && !slices.Contains(b.Options.Without, d.Name) {
			all = append(all, Assumption{
				Kind: GuessedSize, What: fmt.Sprintf("%s is %d", d.Name, n), open: []string{d.Name},
			})
		}
	}
	return all
}

// guessedParameters returns the parameters with names that say too little, and what they were taken for.
func (b *Binding) guessedParameters() (words, parameters []string) {
	onlyInput := len(b.Args) == 1 && len(b.inputs) == 1 && b.Function.MayReturn() // under whatever name
	for _, a := range b.Args {
		matched := a.Role == Input || a.Role == Output || a.Role == Size || a.Role == Attribute
		_, stride := strideOf(a.Name)
		named := match.Score(b.Spec, b.Pass, a.Name, a.Target) > match.Weak || b.byElimination(a) ||
			a.Over != "" && match.Score(b.Spec, b.Pass, a.Name, a.Over) > match.Weak ||
			a.Role == Output && b.scoreOutput(a.Param, a.Target) > match.Weak
		clear := stride || named && !b.open[a.Name] && !b.contrary(a) || b.shownByRows(a) ||
			a.Adapter != layout.AsItLies && a.Adapter != layout.Narrow ||
			b.onlyTensor(a) || onlyInput && a.Role == Input || b.shownByWrites(a) ||
			b.squared[a.Name] && strings.Contains(a.Target, "=") ||
			a.Share > 0 && b.multiplied(a) || a.Role == Size && b.isShapeOfWeights(a.Param) ||
			strings.HasPrefix(a.Target, "2 *") ||
			a.Role == Size && len(b.Spec.Dims) == 1 && b.countSizes() == 1 // there is no other meaning
		if b.stated(a) || b.writtenAlone(a.Param) || !matched || clear || a.Optional {
			continue
		}
		words = append(words, fmt.Sprintf("%s is %s", a.Name, a.Target))
		parameters = append(parameters, a.Name)
	}
	return words, parameters
}

// guessesTiny reports whether one of the parameters is taken for an attribute that ordinary numbers hide.
func (b *Binding) guessesTiny(parameters []string) bool {
	return slices.ContainsFunc(b.Args, func(a Argument) bool {
		at := slices.IndexFunc(b.Spec.Attributes, func(t op.AttributeSpec) bool { return t.Name == a.Target })
		return a.Role == Attribute && at >= 0 && slices.Contains(parameters, a.Name) &&
			b.Spec.Attributes[at].Type == "float" && isTiny(fmt.Sprint(b.Spec.Attributes[at].Default))
	})
}

// shownByWrites reports whether the lines of a function show which of its two pointers is the operator's only
// input and which its only output: they write one of them.
func (b *Binding) shownByWrites(a Argument) bool {
	if b.Function.Kind == cfacts.Python || len(b.inputs) != 1 || len(b.outputs) != 1 {
		return false
	}
	var pointers, written []string
	for _, p := range b.Function.Params {
		if p.Pointer {
			pointers = append(pointers, p.Name)
		}
		if p.Writing.Any() {
			written = append(written, p.Name)
		}
	}
	return len(pointers) == 2 && len(written) == 1 && a.Pointer && (a.Role == Output) == a.Writing.Any()
}

// contrary reports whether the name of a size also fits another size, and the two stand in the signature in
// the opposite of the expected order: (N, M) where M is the rows.
func (b *Binding) contrary(a Argument) bool {
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
	return slices.IndexFunc(b.Spec.Dims, func(d op.DimSpec) bool { return d.Name == dimsOf(target)[0] })
}

// byElimination reports whether a weakly matching size name is unambiguous because every better match is
// taken by a parameter whose name cannot stand for this one. In (N, D) the D is the columns, so N is the
// rows.
func (b *Binding) byElimination(a Argument) bool {
	if a.Role != Size || match.Score(b.Spec, b.Pass, a.Name, a.Target) == 0 {
		return false
	}
	better := 0
	for _, d := range b.Spec.Dims {
		if d.Name == a.Target || match.Score(b.Spec, b.Pass, a.Name, d.Name) <= match.Weak {
			continue
		}
		better++
		fixed := func(o Argument) bool {
			return o.Role == Size && o.Target == d.Name && o.Name != a.Name &&
				b.score(o.Param, a.Target) == 0 && b.score(o.Param, d.Name) > match.Weak
		}
		if !slices.ContainsFunc(b.Args, fixed) {
			return false
		}
	}
	return better > 0
}

// guessedAttribute returns the value of an attribute that neither a parameter, the user nor the file gives;
// "" where one does. A value that follows from the sizes, such as a scale of 1 / sqrt(head_dim), is part of
// the operator's definition.
func (b *Binding) guessedAttribute(a op.AttributeSpec) string {
	_, said := b.Options.Attrs[a.Name]
	decides, _ := b.switched(a.Name) // by which tensors have a parameter
	if said || decides || b.has(Attribute, a.Name) || b.nameSetsSwitch(a) || b.literalSays(a) != "" ||
		b.named[a.Name] != "" {
		return ""
	}
	code, value := b.attributeValue(a)
	if code == "" {
		return ""
	}
	if a.Type == "float" {
		n, err := strconv.ParseFloat(value, 64)
		if err != nil || slices.Contains(b.literals, n) {
			return ""
		}
	}
	return value
}

// doubleAttributes returns the assumptions about attributes whose value stands in the lines as a double:
// products with it may differ in the last bit from those with the operator's float. An eps is added, and
// hides that.
func (b *Binding) doubleAttributes() []Assumption {
	var all []Assumption
	for _, a := range b.Spec.Attributes {
		_, said := b.Options.Attrs[a.Name]
		if said || a.Type != "float" || b.has(Attribute, a.Name) {
			continue
		}
		_, value := b.attributeValue(a)
		n, err := strconv.ParseFloat(value, 64)
		if err == nil && !isTiny(value) && slices.Contains(b.doubles, n) {
			all = append(all, Assumption{
				Kind: GuessedAttribute, Attribute: a.Name, double: true,
				What: fmt.Sprintf("%s is the float %s, where its lines have the double (%sf is the float)",
					a.Name, value, value),
				value: value, open: []string{a.Name},
			})
		}
	}
	return all
}

// withSingles returns the interpretation of a CUDA file in which doubles that are attribute values become
// floats, as the operator has them: a function is not wrong for their last bits.
func (b *Binding) withSingles() []Alternative {
	var values []float64
	for _, a := range b.doubleAttributes() {
		if n, err := strconv.ParseFloat(a.value, 64); err == nil {
			values = append(values, n)
		}
	}
	if len(values) == 0 {
		return nil
	}
	return []Alternative{{
		Flags: fmt.Sprintf("%v as the float %[1]vf", values[0]), Options: Options{Singles: values},
	}}
}

// isTiny reports whether a number is not 0 and small compared to ordinary ones.
func isTiny(text string) bool {
	n, err := strconv.ParseFloat(text, 64)
	return err == nil && n != 0 && math.Abs(n) < 1e-3
}

// guessedLayout names the order in which the sizes of tensors with three or more are assumed to lie, unless
// the user said that this order is meant.
func (b *Binding) guessedLayout() string {
	for _, a := range b.Args {
		if a.Role != Input || b.stated(a) || b.ordered || a.Adapter == layout.BSHD {
			continue
		}
		if list, _ := b.inputs[a.Index].Shape.([]any); len(list) >= 3 {
			return fmt.Sprintf("%s lies as %s %v, row after row", a.Name, a.Target, shapeWords(list))
		}
	}
	return ""
}

// stated reports whether the user said what a parameter stands for.
func (b *Binding) stated(a Argument) bool {
	_, said := b.Options.Map[a.Name]
	return said || b.Options.factor(a.Name) != ""
}

func shapeWords(list []any) string { return "[" + strings.Join(plainSizes(list), ", ") + "]" }

// smallLiterals returns the numbers of the file that may be an eps: "1e-06".
func (b *Binding) smallLiterals() []string {
	var all []string
	for _, n := range b.literals {
		if text := strconv.FormatFloat(n, 'g', -1, 64); n > 0 && n < 0.01 && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// tensorParameters returns the parameters that stand for tensors.
func (b *Binding) tensorParameters() []string { return b.argumentsThat(Argument.isTensor) }

// isTensor reports whether an argument stands for a tensor of the operator.
func (a Argument) isTensor() bool { return a.Role == Input || a.Role == Output }

// Guesses reports whether a parameter was taken for a size though its name says too little.
func (b *Binding) Guesses() bool {
	_, guessed := b.guessedParameters()
	return len(guessed) > 0 && slices.ContainsFunc(b.Args, func(a Argument) bool {
		return a.Role == Size && slices.Contains(guessed, a.Name)
	})
}
