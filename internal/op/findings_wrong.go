package op

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Wrong is one kind of wrong element that a finding explains: its kind, which elements may have it, and how
// far off a number may be. A finite element has one bound or several, one of which must hold.
type Wrong struct {
	Kind string `toml:"kind"` // see WrongKinds
	// conditions that must all hold for the element, or "everywhere"; see placeForms
	Where []string `toml:"where"`

	ULPs        float64 `toml:"ulps"`       // at most so many ulps of the dtype at the truth
	ErrorBounds float64 `toml:"allowances"` // within so many times the error bound T
	// within so many times the T of sums kept in the dtype of the case: T counts roundings to fp32
	Roundings float64 `toml:"roundings"`
	// "c", "beta * c": the output without this input, times this attribute, is rounded to the dtype before it
	// is added
	RoundedBefore string `toml:"rounded_before"`
	// off by 16 roundings, to the dtype, of the largest sum of neighbours in this input: it is added up in
	// parts
	Parts string `toml:"parts"`
	// between the truth and that of inputs whose subnormals are zero
	Flushed bool `toml:"flushed"`
	// between the smallest and the largest element of this input
	Within string `toml:"within"`
	// any number: excuses only rows of the library, never a user's file
	Unbounded bool `toml:"unbounded"`

	Places []Place `toml:"-"` // Where, read
}

// MostParts is the number of roundings that Wrong.Parts permits: of the parts, and of their sums.
const MostParts = 16

// Place is a condition on a wrong element.
type Place struct {
	Of     string // "index", "truth", "given", "element" of an input, "row" of an input
	Tensor string // the input
	Is     string
	Index  Expression // over the element's index in each dim of the output, by the name of the dim
}

// placeForms are the conditions on an element, with the part of each that a Place keeps.
var placeForms = []struct {
	of, words string
	form      *regexp.Regexp
}{
	{"everywhere", "everywhere", regexp.MustCompile(`^(everywhere)$`)},
	{"index", "index EXPRESSION", regexp.MustCompile(`^index (.+)$`)},
	{
		"truth", "truth is +inf, a row of NaN, a row of 0",
		regexp.MustCompile(`^truth is (\+inf|a row of NaN|a row of 0)$`),
	},
	{"given", "gives 0, an infinity, a number", regexp.MustCompile(`^gives (0|an infinity|a number)$`)},
	{"element", "INPUT is NaN", regexp.MustCompile(`^(\w+) is (NaN)$`)},
	{
		"row", "a row of INPUT holds inf, holds NaN or inf, has no finite maximum, exceeds 2^40",
		regexp.MustCompile(`^a row of (\w+) ` +
			`(holds inf|holds NaN or inf|has no finite maximum|exceeds 2\^40)$`),
	},
}

var addend = regexp.MustCompile(`^(?:(\w+) \* )?(\w+)$`)

// Addend returns the input and the attribute of RoundedBefore; the attribute is "" where there is none.
func (w Wrong) Addend() (input, attribute string) {
	m := addend.FindStringSubmatch(w.RoundedBefore)
	return m[2], m[1]
}

// bounded reports whether a bound of the size is stated; an exact number counts as one.
func (w Wrong) bounded() bool {
	return w.Exact() || w.ULPs > 0 || w.ErrorBounds > 0 || w.Roundings > 0 || w.RoundedBefore != "" ||
		w.Parts != "" || w.Flushed || w.Within != "" || w.Unbounded
}

// Exact reports whether the wrong element is one number.
func (w Wrong) Exact() bool { return slices.Contains(w.Where, "gives 0") }

// compile checks the description of a wrong element of these outputs.
func (w *Wrong) compile(spec *Spec) error {
	if err := each("kind", []string{w.Kind}, WrongKinds); err != nil {
		return err
	}
	switch number := w.Kind == "finite" || w.Kind == "infinite"; {
	case number && !w.bounded():
		return fmt.Errorf("%s: want a bound: ulps, allowances, roundings, rounded_before, parts, flushed, "+
			"within or unbounded", w.Kind)
	case !number && w.bounded() && !w.Unbounded:
		return fmt.Errorf("%s: NaN has no size: want no bound but unbounded", w.Kind)
	case len(w.Where) == 0:
		return fmt.Errorf("%s: where: want conditions on the element, or [\"everywhere\"]", w.Kind)
	}
	input := func(name string) bool {
		_, there := spec.Input(name)
		return there
	}
	for _, text := range w.Where {
		place, err := placeIn(text, spec, input)
		if err != nil {
			return fmt.Errorf("%s: where: %w", w.Kind, err)
		}
		if place.Of != "everywhere" {
			w.Places = append(w.Places, place)
		}
	}
	for key, name := range map[string]string{"within": w.Within, "parts": w.Parts} {
		if name != "" && !input(name) {
			return fmt.Errorf("%s: %s: unknown input %q", w.Kind, key, name)
		}
	}
	if w.RoundedBefore == "" {
		return nil
	}
	if !addend.MatchString(w.RoundedBefore) {
		return fmt.Errorf("%s: rounded_before %q: want an input, or an attribute * an input", w.Kind,
			w.RoundedBefore)
	}
	name, attribute := w.Addend()
	if !input(name) || attribute != "" && spec.knowAttributes([]string{attribute}) != nil {
		return fmt.Errorf("%s: rounded_before %q: want an input, or an attribute * an input", w.Kind,
			w.RoundedBefore)
	}
	return nil
}

// placeIn reads one condition.
func placeIn(text string, spec *Spec, input func(string) bool) (Place, error) {
	for _, f := range placeForms {
		m := f.form.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		p := Place{Of: f.of, Is: m[len(m)-1]}
		if f.of == "element" || f.of == "row" {
			if p.Tensor = m[1]; !input(p.Tensor) {
				continue // "truth is ..." of a form that there is not, or a tensor that there is not
			}
		}
		if f.of == "index" {
			var err error
			dim := func(name string) bool {
				return slices.ContainsFunc(spec.Dims, func(d DimSpec) bool { return d.Name == name })
			}
			if p.Index, err = ParseExpression(m[1], dim, false); err != nil {
				return p, err
			}
		}
		return p, nil
	}
	var forms []string
	for _, f := range placeForms {
		forms = append(forms, f.words)
	}
	return Place{}, fmt.Errorf("%q: want one of %s", text, strings.Join(forms, "; "))
}
