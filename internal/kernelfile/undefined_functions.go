package kernelfile

import "slices"

// declares keeps the name of a function that is declared and not defined, from the tokens before a ";".
func (f *File) declares(words []token) {
	if len(words) == 0 || words[0].text == "typedef" || words[0].text == "using" {
		return
	}
	closes := func(t token) bool { return t.text == ">" }
	if words[0].text == "template" && slices.ContainsFunc(words, closes) {
		var fn Function
		words = f.template(&fn, words)
	}
	open := parameterList(words)
	if !isFunctionHead(words) || open < 2 || !words[open-1].isName() || slices.ContainsFunc(words[:open],
		func(t token) bool { return t.text == "=" }) {
		return
	}
	f.declared = append(f.declared, words[open-1].text)
}

// Defined returns the names of the functions that a file defines, except main().
func (f *File) Defined() (names []string) {
	return functionNames(slices.Concat(f.Functions, f.helpers))
}

// Undefined returns the functions that a file declares and calls or launches, but does not define.
func (f *File) Undefined() (names []string) {
	defined := f.Defined()
	for _, name := range f.declared {
		if slices.Contains(defined, name) || slices.Contains(names, name) {
			continue
		}
		if slices.ContainsFunc(slices.Concat(f.Functions, f.helpers), func(fn Function) bool {
			return fn.Uses(name)
		}) {
			names = append(names, name)
		}
	}
	return names
}

// Uses reports whether a function's lines call or launch one of that name.
func (fn *Function) Uses(name string) bool {
	for i := 0; i+1 < len(fn.body); i++ {
		if fn.body[i].text == name && slices.Contains([]string{"(", "<", "<<<"}, fn.body[i+1].text) {
			return true
		}
	}
	return false
}
