package params

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"triad/internal/declaration"
	"triad/internal/op"
	"triad/internal/ownfile/adapters"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/layout"
)

// ArgumentWords returns the words of the parameters; numbers includes those whose number the lines give.
func ArgumentWords(b *binding.Binding, numbers bool) (words []declaration.Word) {
	add := func(key, value string) { words = binding.WithWord(words, key, value) }
	factors := map[string][]string{}
	for _, a := range b.Args {
		if a.Share > 0 {
			factors[a.Target] = append(factors[a.Target], a.Name)
			if names := factors[a.Target]; len(names) > 1 {
				add(a.Target, strings.Join(names, "*"))
			}
			continue
		}
		number := a.Adapter == layout.Scratch || a.Role == binding.Constant &&
			(numbers || a.Stated || adapters.GuessedNumber(b, a))
		if a.Adapter == layout.BlockTotals || strings.HasPrefix(a.Target, "2 *") {
			continue // its lines say that, and no word does
		}
		if a.Over != "" {
			add(a.Over, a.Name)
		}
		if number || slices.Contains(
			[]binding.Role{binding.Input, binding.Output, binding.Size, binding.Attribute}, a.Role) {
			add(adapters.AdapterWord(b, a), a.Name)
		}
	}
	return words
}

// openLine returns the line as far as it is known, with open places marked: parameters without a target and
// those that are guesses; tensors and sizes without a parameter if no open one can stand for them. "" if
// nothing is open, or if no word of a line can say what is.
func openLine(b *binding.Binding) string {
	line := declaration.Line{Operator: b.Spec.Name, Words: ArgumentWords(b, false)}
	before := len(line.Words)
	add := func(key, value string) { line.Words = binding.WithWord(line.Words, key, value) }
	_, open := GuessedParameters(b)
	left := 0 // pointers, and what may be one
	for _, a := range b.Args {
		tile := a.Place == cfacts.InTile && !b.Function.FactsOf(a.Name).Optional && !binding.NamesTile(a.Name)
		if a.Role == binding.Nothing && (tile || !a.Optional && a.Place == cfacts.InCall) {
			add(declaration.Open, a.Name)
			open = append(open, a.Name)
			if a.Pointer || a.Untyped {
				left++
			}
		}
	}
	missing, results := unmatched(b, binding.Input, b.InputSpecs), unmatched(b, binding.Output, b.OutputSpecs)
	if b.Function.MayReturn() {
		results = nil
	}
	writable := func(a binding.Argument) bool { return a.Role == binding.Input && !a.Const }
	switch {
	case len(missing) == 0 && left == 0 && slices.ContainsFunc(b.Args, writable): // y=? may be what x is
		for _, i := range results {
			add(b.OutputSpecs[i].Name, declaration.Open)
		}
	case len(missing)+len(results) > left && len(b.Spec.Own.Packed) == 0:
		return ""
	case len(missing)+len(results) > 0:
		open = append(open, binding.Those(b.TensorParameters(), b.Uncertain)...)
	}
	for _, t := range b.Function.Template[min(len(b.Options.Arguments), len(b.Function.Template)):] {
		if !t.Type && t.Default == "" {
			add(declaration.Open, t.Name)
		}
	}
	for _, d := range b.Spec.Dims {
		if !b.GivesSize(d.Name) && d.Default == "" && b.Implied[d.Name] == 0 && !b.Function.ShowsSizes() {
			add(d.Name, declaration.Open)
			open = append(open, binding.Those(
				b.ArgumentsThat(func(a binding.Argument) bool { return a.Role == binding.Size }),
				b.Uncertain)...) // it may be what another one was taken for
		}
	}
	if before == len(line.Words) && len(missing)+len(results) == 0 {
		return ""
	}
	line, any := b.WithOpen(line, b.WithLike(open))
	if !any && before == len(line.Words) {
		return ""
	}
	return line.Text(b.Sign())
}

// withLine returns an error that the user can correct, with the line that does so as far as it is known.
func withLine(b *binding.Binding, err error) error {
	u := (*op.UsageError)(nil)
	line := openLine(b)
	if !errors.As(err, &u) || line == "" || b.Options.Said != nil {
		return err
	}
	return &op.UsageError{Message: fmt.Sprintf("%s\n  Write this line %s%s: %s", u.Message, b.Above(),
		binding.WithMeant, line)}
}
