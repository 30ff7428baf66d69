package kernelfile

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/match"
)

// bearsName reports whether a function has the operator's name: softmax, nn::Softmax, softmax_forward.
func (r Request) bearsName(fn cfacts.Function) bool {
	rest, found := strings.CutPrefix(lettersOf(match.Snake(cfacts.LastName(fn.Name))),
		lettersOf(match.Snake(r.operator)))
	return found && slices.Contains([]string{"", "forward", "fwd", "backward", "bwd", "grad"}, rest)
}

// withNamesakes adds the functions with the operator's name that a result would not cover, so that each is a
// row of its own, which may say why it is not judged: a file is not right if another of its functions is.
func withNamesakes(f *cfacts.File, r Request, passes []op.Pass, all []*Binding, err error) (
	[]*Binding, error,
) {
	judged := eachOf(all, func(b *Binding) string { return b.Function.Name })
	if several := (*SeveralError)(nil); errors.As(err, &several) {
		judged = append(slices.Clone(several.Names), judged...)
	}
	if r.Function != "" || len(judged) == 0 {
		return all, err
	}
	namesakes := slices.DeleteFunc(slices.Clone(f.Functions), func(fn cfacts.Function) bool {
		pass := op.Forward
		if match.IsBackward(fn.Name) {
			pass = op.Backward
		}
		ofPass := func(name string) bool { return match.IsBackward(name) == match.IsBackward(fn.Name) }
		return !r.bearsName(fn) || slices.Contains(judged, fn.Name) || !slices.Contains(passes, pass) ||
			!slices.ContainsFunc(judged, ofPass) || r.saysOther(fn) || len(saying(f, r, pass)) > 0
	})
	if len(namesakes) == 0 {
		return all, err
	}
	added, reached := slices.Clone(judged), reached(f, judged)
	for _, fn := range namesakes {
		name, stands := cfacts.LastName(fn.Name), strings.TrimSuffix(fn.Parsed().StandsFor, "()")
		if !reached[name] && !reached[stands] && !slices.Contains(added, fn.Name) && computes(f, fn) {
			added = append(added, fn.Name)
		}
	}
	if len(added) == len(judged) {
		return all, err
	}
	return nil, &SeveralError{Names: added, Message: "several functions have the operator's name"}
}

// bareName matches the names in Python that are no member of something: f, and torch of torch.f.
var bareName = regexp.MustCompile(`(?:^|[^.\w])([A-Za-z_]\w*)`)

// reached returns the names of functions, and of all that they name in their lines, without namespaces.
func reached(f *cfacts.File, names []string) map[string]bool {
	reached, known := map[string]bool{}, map[string][]cfacts.Function{}
	for _, fn := range slices.Concat(f.Functions, f.Helpers) {
		known[cfacts.LastName(fn.Name)] = append(known[cfacts.LastName(fn.Name)], fn)
	}
	for next := slices.Clone(names); len(next) > 0; next = next[1:] {
		name, _, _ := strings.Cut(strings.ReplaceAll(next[0], "<", "#"), "#")
		if name = cfacts.LastName(name); name == "" || reached[name] {
			continue
		}
		reached[name] = true
		for _, fn := range known[name] {
			next = append(next, eachOf(fn.Body, func(t cfacts.Token) string { return t.Text })...)
			for _, word := range bareName.FindAllStringSubmatch(fn.Parsed().Code, -1) {
				next = append(next, word[1])
			}
		}
	}
	return reached
}

// computes reports whether a function may be meant to be judged. A reference that runs on the host is not,
// nor one that makes its tensors itself or takes them as vectors, nor one that only chooses from others.
func computes(f *cfacts.File, fn cfacts.Function) bool {
	device := slices.ContainsFunc(fn.Params, func(p cfacts.Param) bool {
		number := p.IsInteger() || p.IsFloat() || p.IsBool() || p.IsStream()
		return p.Pointer || !number && !strings.Contains(p.Base, "vector") &&
			!strings.Contains(p.Base, "string")
	})
	selectors := func(p cfacts.Param) bool { return len(selectors(fn, p.Name)) > 1 }
	chooses := !fn.Launches && slices.ContainsFunc(fn.Params, selectors)
	reached := reached(f, []string{fn.Name})
	return fn.Kind == cfacts.Python || device && !chooses &&
		slices.ContainsFunc(f.Functions, func(o cfacts.Function) bool {
			return reached[cfacts.LastName(o.Name)] &&
				(o.Kind == cfacts.Kernel || o.Launches || o.CallsLibrary)
		})
}

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
