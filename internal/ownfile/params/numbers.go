package params

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/match"
)

// nameNumbers keeps the values that the lines of the function, or of those that it calls, give by name to
// attributes without a parameter: "constexpr float kEpsilon = 1e-6f", "eps = 1e-6". A name with several
// values counts as none.
func nameNumbers(b *binding.Binding, file *cfacts.File) {
	b.Named = map[string]string{}
	for _, a := range b.Spec.Attributes {
		// a number that people choose, such as an eps or a slope: 0 and 1 occur in every file
		n, err := strconv.ParseFloat(fmt.Sprint(a.Default), 64)
		tuned := err == nil && n != 0 && math.Abs(n) != 1
		if a.Type != "float" || !tuned && b.Function.Kind == cfacts.Python ||
			b.Has(binding.Attribute, a.Name) {
			continue
		}
		says := func(name string) bool {
			return match.Score(b.Spec, b.Pass, name, a.Name) > match.Weak ||
				match.Score(b.Spec, b.Pass, strings.TrimPrefix(match.Snake(name), "k_"), a.Name) > match.Weak
		}
		var found []string
		if !tuned { // a 0 or a 1 is informative only if a parameter of that name gets it
			says = func(name string) bool { return match.Snake(name) == a.Name }
			found = handedInCUDA(file, &b.Function, says)
		} else if b.Function.Kind == cfacts.Python {
			found = namedInPython(file, b.Function, says)
		} else {
			found = namedInCUDA(file, &b.Function, says)
		}
		if len(found) == 0 && tuned && math.Abs(n) < binding.MostAdded {
			found = SmallAdded(file, &b.Function)
		}
		slices.Sort(found)
		if found = slices.Compact(found); len(found) == 1 {
			b.Named[a.Name] = found[0]
		}
	}
}

// SmallAdded lists the small numbers that the lines of a function, and of those that it calls, add.
func SmallAdded(f *cfacts.File, fn *cfacts.Function) (all []string) {
	added := fn.Parsed().Added
	f.Walk(fn, func(fn *cfacts.Function, _ func(string) string) {
		for i, t := range fn.Body {
			if t.Text == "+" || t.Text == "+=" {
				added = append(added, cfacts.TextAt(fn.Body, i+1))
			}
		}
	})
	for _, word := range added {
		value := binding.PlainValue(word)
		if n, err := strconv.ParseFloat(value, 64); err == nil && n > 0 && n < binding.MostAdded {
			all = append(all, value)
		}
	}
	return all
}

// namedInCUDA lists the numbers that the lines of a function, and of those that it calls, assign to names of
// a kind: to a variable, to a parameter of a function that they call, and to a constant of the file.
func namedInCUDA(f *cfacts.File, fn *cfacts.Function, says func(string) bool) (all []string) {
	f.Walk(fn, func(fn *cfacts.Function, _ func(string) string) {
		for i, t := range fn.Body {
			if t.IsName() && says(t.Text) {
				value := cfacts.Join(cfacts.Assigned(fn.Body[i:], t.Text))
				all = append(all, binding.PlainValue(f.Defines[t.Text]), binding.PlainValue(value))
			}
		}
	})
	return append(binding.Those(all, isGiven), handedInCUDA(f, fn, says)...)
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
					all = append(all, binding.PlainValue(cfacts.Join(argument)))
				}
			}
		}
	})
	return binding.Those(all, isGiven)
}

// namedInPython lists the numbers that are assigned to names of a kind in the lines of a function and of its
// kernels, and at the top of the file to names that these use.
func namedInPython(f *cfacts.File, fn cfacts.Function, says func(string) bool) (all []string) {
	for _, n := range fn.Parsed().Numbers {
		if says(n.Name) {
			all = append(all, binding.PlainValue(n.Value))
		}
	}
	return all
}
