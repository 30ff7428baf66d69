package ownfile

import (
	"fmt"
	"strings"

	"triad/internal/declaration"
	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/declared"
	"triad/internal/ownfile/extents"
	"triad/internal/ownfile/launchfit"
	"triad/internal/ownfile/match"
)

// Declaration returns the line that says how the function is read. With it, and with the flags that say how
// the file is compiled, the function is read the same, and nothing is assumed. ok is false where no line can
// say that: it is then as much as a line can say, or has no operator.
func Declaration(b *binding.Binding) (line declaration.Line, ok bool) { return declarationIn(b, nil) }

// declarationIn returns the line, which gives the dtypes too if there are any.
func declarationIn(b *binding.Binding, dtypes []string) (line declaration.Line, ok bool) {
	if b.Forward != nil {
		return declarationIn(b.Forward, dtypes)
	}
	if b.Function.Name == launchfit.Joined || len(b.Given.Singles) > 0 {
		return line, false
	}
	all := declared.WithPins(b)
	for _, w := range []declared.Wordy{{Launch: true, Numbers: true}, {Launch: true}, {Numbers: true}, {}} {
		one := declaration.Line{Operator: b.Spec.Name, Words: declared.LineWords(b, w, dtypes)}
		other, err := declared.ReadWith(b, one)
		if err != nil || len(Assumptions(other)) > 0 {
			continue
		}
		if declared.SameAs(b, other) || all != nil && declared.SameAs(all, other) {
			return one, true
		}
	}
	return declaration.Line{
		Operator: b.Spec.Name,
		Words:    declared.LineWords(b, declared.Wordy{Launch: true, Numbers: true}, dtypes),
	}, false
}

// DeclinedLine follows the sentence about a call that a Python function declines: the line that would say
// which sizes its tensors lack, or with which sizes it may be called. "" where the line is there, or none
// helps.
func DeclinedLine(b *binding.Binding, sentence string) string {
	line, _ := declarationIn(b, nil)
	before := len(line.Words)
	switch {
	case b.Options.Said != nil || line.Operator == "":
		return ""
	case strings.Contains(sentence, "another number of sizes") && len(extents.PerhapsWithout(b)) > 0:
		line, _ = b.WithOpen(line,
			binding.Those(b.ArgumentsThat(func(a binding.Argument) bool { return a.Role == binding.Size }),
				b.Uncertain))
		line.Words = binding.WithWord(line.Words, declared.KeyWithout, declaration.Open)
	case strings.Contains(sentence, "must be a power of 2"):
		for _, d := range b.Spec.Dims {
			if _, fixed := b.Fixed(d.Name); !fixed && d.Default == "" {
				line.Words = binding.WithWord(line.Words, d.Name, declaration.Open)
			}
		}
	}
	if before == len(line.Words) {
		return ""
	}
	return ". Write this line " + b.Above() + binding.WithMeant + ": " + line.Text(b.Sign())
}

// Declares reports whether the text of the file has a line of an operator.
func Declares(r binding.Request, text string, flags []string, operator string) bool {
	return declaration.MayBeIn(text) && declared.Declares(Read(r, text, flags), operator)
}

// ofOthers names the functions that are not taken because the file declares them as other operators, or
// declares only other functions as this one; "" for none.
func ofOthers(f *cfacts.File, r binding.Request, passes []op.Pass) string {
	var words []string
	for _, pass := range passes {
		said := declared.Saying(f, r, pass)
		for _, fn := range fitting(f, r, pass, match.IsHelper) {
			if len(said) > 0 && len(fn.Declared) == 0 && fn.Kind == said[0].Kind {
				words = append(words, fn.Name+", which has no line")
			}
		}
	}
	for _, fn := range f.Functions {
		if declared.SaysOther(r, fn) && declared.Names(r, fn) {
			words = append(words, fmt.Sprintf("%s, of which line %d says that it is %s", fn.Name,
				fn.Declared[0].At.Line, fn.Declared[0].Operator))
		}
	}
	return strings.Join(words, "; ")
}
