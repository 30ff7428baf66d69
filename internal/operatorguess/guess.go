// Package operatorguess guesses which operator a user's file implements: from the lines that name one, from
// its name and those of its functions, from the functions of mathematics that its code calls, and from its
// parameters.
package operatorguess

import (
	"path/filepath"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/declared"
	"triad/internal/ownfile/match"
	"triad/internal/ownfile/params"
)

// Evidence is the basis of a guess. More is better.
type Evidence int

const (
	None       Evidence = iota
	Parameters          // a function has the operator's parameters
	Body                // and calls the functions of its formula
	Function            // one of the functions has its name
	FileName            // the file has its name
	Judged              // the function that would be judged has its name
	Declared            // a line of the file names it
)

// Sure reports whether a file with this evidence may be called wrong: it says itself what it computes.
func (e Evidence) Sure() bool { return e >= Function }

// Guess is an operator that a file may implement.
type Guess struct {
	Operator string
	By       Evidence
	Fits     bool // a function has its parameters
	named    int  // tensors whose parameters bear their names
	letters  int  // of the name that was found
	plain    int  // 1: neither the code nor the formula calls a function of mathematics
}

// Of lists the operators that a file may implement, best first: all have the same evidence. text is that of
// the file.
func Of(file *cfacts.File, r binding.Request, text string, specs []*op.Spec) []Guess {
	var all []Guess
	called := calledIn(text, specs)
	for _, s := range specs {
		s = s.WithoutImplied()
		g := Guess{Operator: s.Name}
		bound, err := ownfile.Bind(file, r, s, s.Passes(), binding.Options{})
		g.Fits = err == nil && len(bound) > 0
		for _, b := range bound {
			g.named += params.TensorsNamed(b)
		}
		g.by(file, r, s, bound)
		if g.By < Function {
			g.byBody(called, s, specs)
		}
		if g.By > None {
			all = append(all, g)
		}
	}
	return best(all)
}

// by sets what names say.
func (g *Guess) by(file *cfacts.File, r binding.Request, s *op.Spec, bound []*binding.Binding) {
	set := func(by Evidence, name string) {
		if letters := named(name, s); letters > 0 && by > g.By {
			g.By, g.letters = by, letters
		}
	}
	if declared.Declares(file, s.Name) {
		g.By, g.letters = Declared, len(s.Name)
		return
	}
	for _, b := range bound {
		set(Judged, b.Function.Name)
	}
	stem := filepath.Base(r.Path)
	set(FileName, strings.TrimSuffix(stem, filepath.Ext(stem)))
	if r.Function != "" {
		set(Judged, r.Function)
	}
	for _, f := range file.Functions {
		set(Function, f.Name)
	}
}

// byBody compares the functions of mathematics that the code calls with those of the formula.
func (g *Guess) byBody(called []string, s *op.Spec, specs []*op.Spec) {
	wanted := calledIn(s.Formula, specs)
	switch {
	case !g.Fits || len(called) > 0 && !slices.Equal(called, wanted):
		g.By = None
	case len(called) > 0:
		g.By = Body
	default: // the functions may be called elsewhere
		g.By = Parameters
		if len(wanted) == 0 {
			g.plain = 1
		}
	}
}

// best keeps the guesses with the most evidence. Those that fit go before those that do not, the longer of
// two names before the shorter one that is part of it, more tensors with their names before fewer, and
// formulas as plain as the code before others.
func best(all []Guess) []Guess {
	fits := func(g Guess) bool { return g.Fits }
	if sure := slices.IndexFunc(all, func(g Guess) bool { return g.By.Sure() }); sure >= 0 {
		all = slices.DeleteFunc(all, func(g Guess) bool { return !g.By.Sure() })
	}
	if slices.ContainsFunc(all, fits) {
		all = slices.DeleteFunc(all, func(g Guess) bool { return !g.Fits })
	}
	for _, most := range []func(Guess) int{
		func(g Guess) int { return min(int(g.By), int(FileName)) + int(g.By)/int(Declared) },
		func(g Guess) int { return g.letters },
		func(g Guess) int { return g.named },
		func(g Guess) int { return g.plain },
	} {
		highest := 0
		for _, g := range all {
			highest = max(highest, most(g))
		}
		all = slices.DeleteFunc(all, func(g Guess) bool { return most(g) < highest })
	}
	return all
}

// Named returns the names of the operators.
func Named(all []Guess) []string {
	var names []string
	for _, g := range all {
		names = append(names, g.Operator)
	}
	return names
}

// longName is the length from which a name may be part of a word: mysoftmax.
const longName = 6

// named returns the number of letters of the operator's longest name that a name has in its words; 0 if it
// has none.
func named(name string, s *op.Spec) int {
	words := wordsOf(name)
	longest := 0
	for _, known := range append([]string{s.Name}, s.AlsoCalled...) {
		plain := strings.ReplaceAll(known, "_", "")
		if hasRun(words, plain) || len(plain) >= longName && strings.Contains(strings.Join(words, ""),
			plain) {
			longest = max(longest, len(plain))
		}
	}
	return longest
}

// wordsOf splits a name into its words, in small letters: vectorAdd2 has vector, add and 2.
func wordsOf(name string) []string {
	var words []string
	begin := 0
	text := match.Snake(name)
	kind := func(c byte) int {
		switch {
		case c >= '0' && c <= '9':
			return 1
		case c >= 'a' && c <= 'z':
			return 2
		}
		return 0
	}
	for i := 0; i <= len(text); i++ {
		if i < len(text) && (i == begin || kind(text[i]) == kind(text[i-1])) {
			continue
		}
		if word := text[begin:i]; word != "" && kind(word[0]) > 0 {
			words = append(words, word)
		}
		begin = i
	}
	return words
}

// hasRun reports whether consecutive words make up a name.
func hasRun(words []string, name string) bool {
	for i := range words {
		rest := name
		for _, word := range words[i:] {
			var is bool
			if rest, is = strings.CutPrefix(rest, word); !is {
				break
			}
			if rest == "" {
				return true
			}
		}
	}
	return false
}
