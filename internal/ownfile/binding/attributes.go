package binding

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/match"
	"triad/internal/ownfile/pyfacts"
)

// nameSetsSwitch reports whether the name of a function, or of a kernel that it launches, contains the name
// of a switch: causal_attention is causal. The name of the file does not count.
func (b *Binding) nameSetsSwitch(a op.AttributeSpec) bool {
	if a.Type != "bool" {
		return false
	}
	says := func(name string) bool {
		before, _, found := strings.Cut(match.Snake(name), a.Name)
		before = strings.TrimRight(before, "_- ")
		return found && !strings.HasSuffix(before, "non") && !strings.HasSuffix(before, "no") &&
			!strings.HasSuffix(before, "not") && !strings.HasSuffix(before, "without")
	}
	if says(b.Function.Name) || slices.ContainsFunc(Spellings(a.Name),
		func(name string) bool { return MaskedAlways(&b.Function, name) }) {
		return true
	}
	return slices.ContainsFunc(b.Function.Body,
		func(t cfacts.Token) bool { return slices.Contains(b.Kernels, t.Text) && says(t.Text) })
}

// setsSwitch reports whether a name sets a switch, or lines that look like its mask do. Such lines may be
// misread, so the value is a guess.
func (b *Binding) setsSwitch(a op.AttributeSpec) bool {
	return b.nameSetsSwitch(a) || a.Type == "bool" && b.MasksTriangle(a.Name)
}

// Spellings returns a long word and its variants with two neighbouring letters exchanged: people write casual
// for causal.
func Spellings(word string) []string {
	all := []string{word}
	for i := 1; i < len(word) && len(word) > 4; i++ {
		all = append(all, word[:i-1]+word[i:i+1]+word[i-1:i]+word[i+1:])
	}
	return all
}

// literalSays returns the value of an attribute that a number in the file's lines gives; "" where none does.
func (b *Binding) literalSays(a op.AttributeSpec) string {
	for value, number := range b.Spec.Own.Literals[a.Name] {
		if slices.Contains(b.Literals, number) {
			return value
		}
	}
	return ""
}

// ignoresNothing reports whether an attribute is an operator's ignored target that no parameter, user option
// or number in the file mentions: the function is then judged where no target is ignored.
func (b *Binding) ignoresNothing(a op.AttributeSpec) bool {
	value, said := b.Options.Attrs[a.Name]
	said = said && value != strconv.Itoa(op.IgnoringNothing)
	n, err := strconv.ParseFloat(fmt.Sprint(a.Default), 64)
	if said || err != nil || b.Has(Attribute, a.Name) || slices.Contains(b.Literals, math.Abs(n)) {
		return false
	}
	return slices.ContainsFunc(b.InputSpecs, func(t op.TensorSpec) bool {
		fill, err := op.ParseFill(t.Fill)
		return err == nil && fill.Ignoring == a.Name
	})
}

// NoTarget is the reason that a function is not judged where no target counts.
const NoTarget = "of a mean over no target libraries make 0 or NaN: it is not judged there"

// MayIgnoreAll reports whether there are distributions in which the function ignores every target.
func (b *Binding) MayIgnoreAll() bool {
	return len(b.Spec.Own.NoTarget) > 0 && !slices.ContainsFunc(b.Spec.Attributes, b.ignoresNothing)
}

// JudgedWith returns the sentence about an attribute that a function has no parameter for.
func (b *Binding) JudgedWith(a op.AttributeSpec, value string) string {
	if b.ignoresNothing(a) {
		return fmt.Sprintf("no number in it is %[1]s = %[2]v: it is judged where no target is ignored; "+
			"--attr %[1]s=%[2]v has some", a.Name, a.Default)
	}
	if b.Named[a.Name] == value {
		return fmt.Sprintf("%s has no parameter for %s: it is judged with %s = %s, as its lines say",
			b.Function.Name, a.Name, a.Name, value)
	}
	return fmt.Sprintf("%s has no parameter for %s: it is judged with %s = %s", b.Function.Name, a.Name,
		a.Name, value)
}

// Pins returns the only attribute values that the function is judged with: those that its signature has no
// parameter for, and those that the type of an output decides. A number that follows from the sizes is none.
func (b *Binding) Pins() map[string]string {
	pins := map[string]string{}
	for _, a := range b.Spec.Attributes {
		if b.Has(Attribute, a.Name) {
			continue
		}
		if _, value := b.AttributeValue(a); a.Type != "bool" && a.Type != "enum" {
			if _, err := strconv.ParseFloat(value, 64); err == nil {
				pins[a.Name] = value
			}
			continue
		}
		if code, value := b.AttributeValue(a); code != "" {
			pins[a.Name] = value
			continue
		}
		for _, arg := range b.Args {
			if arg.Role == Output && len(b.Cases) > 0 && b.OutputSpecs[arg.Index].DType == "$"+a.Name {
				if d, any, ok := arg.Instantiate(b.Cases[0].Types).Element(); ok && !any &&
					slices.Contains(a.Values, d.String()) {
					pins[a.Name] = d.String()
				}
			}
		}
	}
	if said := b.Options.Said; said != nil { // of attributes with a parameter too
		maps.Copy(pins, said.Attrs)
	}
	return pins
}

// DTypes returns the operator's dtype names that the function takes.
func (b *Binding) DTypes() []string {
	return EachOf(b.Cases, func(c Instance) string { return c.DType })
}

// Parameters returns the names of the function's parameters.
func (b *Binding) Parameters() []string { return ParameterNames(&b.Function) }

// AttributeValue returns the value of an attribute without a parameter, as an expression and in words: that
// of --attr, else the default. The output's type decides an enumeration that selects an output's dtype.
func (b *Binding) AttributeValue(a op.AttributeSpec) (code, words string) {
	words = b.Options.Attrs[a.Name]
	if words == "" {
		words = fmt.Sprint(a.Default)
		if decides, on := b.switched(a.Name); decides {
			words = strconv.FormatBool(on)
		}
		if b.setsSwitch(a) {
			words = "true"
		}
		if value := b.literalSays(a); value != "" {
			words = value
		}
		if value := b.Named[a.Name]; value != "" {
			words = value
		}
		if b.ignoresNothing(a) {
			words = strconv.Itoa(op.IgnoringNothing)
		}
	}
	switch a.Type {
	case "enum":
		for _, t := range b.OutputSpecs {
			if t.DType == "$"+a.Name {
				return "", ""
			}
		}
		return fmt.Sprint(slices.Index(a.Values, words)), words
	case "bool":
		return map[bool]string{true: "1", false: "0"}[words == "true"], words
	}
	return words, words
}

// aLength matches common names of a number of queries or keys.
const aLength = `\b(?:[a-z_]\w*\.(?:shape\[[^\]\n]*\]|size\([^)\n]*\))|(?:(?:seq|len|n?_?ctx|tgt|src)\w*|` +
	`[a-z]{0,2}_?(?:kv|q|k)_?(?:len|seq|size)\w*|[lstnm]_?(?:kv|q|k)|[lstnmqk])\b)`

// shifted matches a difference of two sizes: if the last query sees the last key, whatever their numbers, the
// mask is shifted by it.
var shifted = regexp.MustCompile(`(?i)` + aLength + `\s*-\s*\(?\s*` + aLength)

// MasksTriangle reports whether the lines of a Python function, and of the kernels that it launches, always
// leave out the keys after a query, whatever the arguments: by a comparison of rows with columns, or a
// triangle of torch's. Lines under an if or next to a choice do not count.
func (b *Binding) MasksTriangle(name string) bool {
	if _, is := b.Spec.Own.Triangle[name]; !is || b.Function.Kind != cfacts.Python {
		return false
	}
	for _, m := range []pyfacts.Masks{b.Function.Parsed().Masks, b.Function.Parsed().KernelMasks} {
		if slices.ContainsFunc(m.Params, func(p string) bool { return saysSwitch(p, name) }) {
			return false
		}
		if slices.ContainsFunc(m.Always, func(of string) bool { return of == "" || speaksOf(of, name) }) {
			return true
		}
	}
	return false
}

// speaksOf reports whether a variable is named like a switch.
func speaksOf(variable, name string) bool { return strings.Contains(strings.ToLower(variable), name) }

// MaskedAlways reports whether the kernels that a function launches have no parameter for a switch, and
// compute a variable named like it by a comparison: "causal = rows >= cols".
func MaskedAlways(fn *cfacts.Function, name string) bool {
	speaks := func(of string) bool { return speaksOf(of, name) }
	m := fn.Parsed().KernelMasks
	return slices.ContainsFunc(m.Always, speaks) && !slices.ContainsFunc(m.Params, speaks) &&
		!slices.ContainsFunc(m.Tested, speaks)
}

// countsFromTheFirst reports whether the lines hold such a mask, chosen or not, that counts queries and keys
// from the first one: if their numbers differ the operator counts from the last, and the file does not cover
// that case.
func (b *Binding) countsFromTheFirst() bool {
	if b.Function.Kind != cfacts.Python {
		return false
	}
	own, kernels := b.Function.Parsed().Masks, b.Function.Parsed().KernelMasks
	return (own.Any || kernels.Any) && !own.Moved && !kernels.Moved &&
		!shifted.MatchString(b.Function.Code) && !shifted.MatchString(b.Function.Kernels)
}

// SquareMasks returns the sizes of the masks that a function always makes and counts from the first.
func (b *Binding) SquareMasks() [][]string {
	var all [][]string
	for _, name := range slices.Sorted(maps.Keys(b.Spec.Own.Triangle)) {
		_, said := b.Options.Attrs[name]
		if !said && !b.Has(Attribute, name) && b.MasksTriangle(name) && b.countsFromTheFirst() {
			all = append(all, DimsOf(b.Spec.Own.Triangle[name]))
		}
	}
	return all
}

// WhereRowsSee returns the conditions under which a mask of a Python function is the operator's: its sizes
// are equal if it counts from the first, and no query is without a key, for which implementations return 0,
// NaN or a mean. The user may set the switch.
func (b *Binding) WhereRowsSee() []Condition {
	var all []Condition
	for _, name := range slices.Sorted(maps.Keys(b.Spec.Own.Triangle)) {
		if _, said := b.Options.Attrs[name]; said || b.Function.Kind != cfacts.Python {
			continue
		}
		dims := DimsOf(b.Spec.Own.Triangle[name])
		test, why := "<=", fmt.Sprintf("%s > %s some rows see nothing", dims[0], dims[1])
		if b.countsFromTheFirst() {
			test = "=="
			why = fmt.Sprintf("%s other than %s its mask counts from the first of both", dims[0], dims[1])
		}
		all = append(all, Condition{
			fmt.Sprintf("not attributes[%q] or %s %s %s",
				name, PythonName(dims[0]), test, PythonName(dims[1])),
			fmt.Sprintf("with %s and %s, and its lines say nothing of that: say --attr %[1]s=true",
				name, why),
		})
	}
	return all
}

// saysSwitch reports whether a parameter is a switch or a mask.
func saysSwitch(parameter, name string) bool {
	parameter = strings.ToLower(parameter)
	return strings.Contains(parameter, name) || strings.Contains(parameter, "mask") ||
		strings.Contains(parameter, "stage")
}

// maskUnderSwitch matches a mask of two indices below its switch: "causal && key > query".
var maskUnderSwitch = regexp.MustCompile(`(?i)\b\w*causal\w* ?&& ?\(?\w+ ?[<>]=? ?\w+ ?(?:\)|&&|\|\|)`)

// SquareUnderSwitch returns the conditions under which a mask of a CUDA file is the operator's, if it counts
// queries and keys from the first and a parameter switches it: their numbers must be equal. The user may set
// the switch.
func (b *Binding) SquareUnderSwitch() []Condition {
	var all []Condition
	for _, name := range slices.Sorted(maps.Keys(b.Spec.Own.Triangle)) {
		is := func(a Argument) bool { return a.Role == Attribute && a.Target == name }
		i := slices.IndexFunc(b.Args, is)
		if _, said := b.Options.Attrs[name]; said || i < 0 || !countsFromTheFirst(b.File, &b.Function) {
			continue
		}
		dims := DimsOf(b.Spec.Own.Triangle[name])
		all = append(all, Condition{
			fmt.Sprintf("%s == 0 || %s == %s", name, dims[0], dims[1]),
			fmt.Sprintf("with %s and %s other than %s its mask counts from the first of both, and its lines "+
				"say nothing of that: say --attr %[1]s=true", name, dims[0], dims[1]),
		})
	}
	return all
}

// countsFromTheFirst reports whether the lines of a function, or of those that it calls or launches, hold
// such a mask, and none of them shifts it by the difference of two of their sizes.
func countsFromTheFirst(f *cfacts.File, fn *cfacts.Function) bool {
	shifts := func(fn *cfacts.Function, i int) bool {
		return i > 0 && i+1 < len(fn.Body) && fn.Body[i].Text == "-" &&
			fn.HasSize(fn.Body[i-1].Text) && fn.HasSize(fn.Body[i+1].Text)
	}
	masks := func(fn *cfacts.Function, i int) bool {
		return i == 0 && maskUnderSwitch.MatchString(cfacts.Join(fn.Body))
	}
	return !f.Anywhere(fn, shifts) && f.Anywhere(fn, masks)
}
