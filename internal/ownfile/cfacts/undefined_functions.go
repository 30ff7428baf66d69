package cfacts

import "slices"

// Names returns the names of functions.
func Names(list []Function) (names []string) {
	for _, fn := range list {
		names = append(names, fn.Name)
	}
	return names
}

// declares keeps the name of a function that is declared and not defined, from the tokens before a ";".
func (f *File) declares(words []Token) {
	if len(words) == 0 || words[0].Text == "typedef" || words[0].Text == "using" {
		return
	}
	closes := func(t Token) bool { return t.Text == ">" }
	if words[0].Text == "template" && slices.ContainsFunc(words, closes) {
		var fn Function
		words = f.template(&fn, words)
	}
	open := parameterList(words)
	if !isFunctionHead(words) || open < 2 || !words[open-1].IsName() || slices.ContainsFunc(words[:open],
		func(t Token) bool { return t.Text == "=" }) {
		return
	}
	f.declared = append(f.declared, words[open-1].Text)
}

// Defined returns the names of the functions that a file defines, except main().
func (f *File) Defined() (names []string) {
	return Names(slices.Concat(f.Functions, f.Helpers))
}

// Undefined returns the functions that a file declares and calls or launches, but does not define.
func (f *File) Undefined() (names []string) {
	defined := f.Defined()
	for _, name := range f.declared {
		if slices.Contains(defined, name) || slices.Contains(names, name) {
			continue
		}
		if slices.ContainsFunc(slices.Concat(f.Functions, f.Helpers), func(fn Function) bool {
			return fn.Uses(name)
		}) {
			names = append(names, name)
		}
	}
	return names
}

// Uses reports whether a function's lines call or launch one of that name.
func (fn *Function) Uses(name string) bool {
	for i := 0; i+1 < len(fn.Body); i++ {
		if fn.Body[i].Text == name && slices.Contains([]string{"(", "<", "<<<"}, fn.Body[i+1].Text) {
			return true
		}
	}
	return false
}
