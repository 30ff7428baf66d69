package kernelfile

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"triad/internal/ownfile/cfacts"
)

// nameNumbers keeps the values that the lines of the function, or of those that it calls, give by name to
// attributes without a parameter: "constexpr float kEpsilon = 1e-6f", "eps = 1e-6". A name with several
// values counts as none.
func (b *Binding) nameNumbers(file *cfacts.File) {
	b.named = map[string]string{}
	for _, a := range b.Spec.Attributes {
		// a number that people choose, such as an eps or a slope: 0 and 1 occur in every file
		n, err := strconv.ParseFloat(fmt.Sprint(a.Default), 64)
		tuned := err == nil && n != 0 && math.Abs(n) != 1
		if a.Type != "float" || !tuned && b.Function.Kind == cfacts.Python || b.has(Attribute, a.Name) {
			continue
		}
		says := func(name string) bool {
			return score(b.Spec, b.Pass, name, a.Name) > scoreWeak ||
				score(b.Spec, b.Pass, strings.TrimPrefix(snake(name), "k_"), a.Name) > scoreWeak
		}
		var found []string
		if !tuned { // a 0 or a 1 is informative only if a parameter of that name gets it
			says = func(name string) bool { return snake(name) == a.Name }
			found = handedInCUDA(file, &b.Function, says)
		} else if b.Function.Kind == cfacts.Python {
			found = namedInPython(file, b.Function, says)
		} else {
			found = namedInCUDA(file, &b.Function, says)
		}
		slices.Sort(found)
		if found = slices.Compact(found); len(found) == 1 {
			b.named[a.Name] = found[0]
		}
	}
}

// plainValue returns a number in its shortest form, or "" for any other text.
func plainValue(text string) string {
	text = strings.ReplaceAll(text, " ", "")
	n, err := strconv.ParseFloat(strings.TrimRight(strings.Trim(text, "()"), "fFlL"), 64)
	if err != nil {
		return ""
	}
	return strconv.FormatFloat(n, 'g', -1, 64)
}

// namedInCUDA lists the numbers that the lines of a function, and of those that it calls, assign to names of
// a kind: to a variable, to a parameter of a function that they call, and to a constant of the file.
func namedInCUDA(f *cfacts.File, fn *cfacts.Function, says func(string) bool) (all []string) {
	f.Walk(fn, func(fn *cfacts.Function, _ func(string) string) {
		for i, t := range fn.Body {
			if t.IsName() && says(t.Text) {
				value := cfacts.Join(cfacts.Assigned(fn.Body[i:], t.Text))
				all = append(all, plainValue(f.Defines[t.Text]), plainValue(value))
			}
		}
	})
	return append(those(all, isGiven), handedInCUDA(f, fn, says)...)
}

func isGiven(value string) bool { return value != "" }

// handedInCUDA lists the numbers that a function, and those that it calls, pass to parameters of a kind.
func handedInCUDA(f *cfacts.File, fn *cfacts.Function, says func(string) bool) (all []string) {
	f.Walk(fn, func(fn *cfacts.Function, _ func(string) string) {
		for i := range fn.Body {
			callee, open := f.AnyCalled(fn, i)
			if callee == nil {
				continue
			}
			for at, argument := range cfacts.SplitAtCommas(cfacts.Inside(fn.Body, open)) {
				if at < len(callee.Params) && says(callee.Params[at].Name) {
					all = append(all, plainValue(cfacts.Join(argument)))
				}
			}
		}
	})
	return those(all, isGiven)
}

// namedInPython lists the numbers that are assigned to names of a kind in the lines of a function and of its
// kernels, and at the top of the file to names that these use.
func namedInPython(f *cfacts.File, fn cfacts.Function, says func(string) bool) (all []string) {
	for _, n := range fn.Parsed().Numbers {
		if says(n.Name) {
			all = append(all, plainValue(n.Value))
		}
	}
	return all
}
