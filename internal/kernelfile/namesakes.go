package kernelfile

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"triad/internal/op"
)

// lastName returns a name without its namespaces.
func lastName(name string) string { return name[strings.LastIndex(name, ":")+1:] }

// bearsName reports whether a function has the operator's name: softmax, nn::Softmax, softmax_forward.
func (r Request) bearsName(fn Function) bool {
	rest, found := strings.CutPrefix(lettersOf(snake(lastName(fn.Name))), lettersOf(snake(r.operator)))
	return found && slices.Contains([]string{"", "forward", "fwd", "backward", "bwd", "grad"}, rest)
}

// withNamesakes adds the functions with the operator's name that a result would not cover, so that each is a
// row of its own, which may say why it is not judged: a file is not right if another of its functions is.
func (f *File) withNamesakes(r Request, passes []op.Pass, all []*Binding, err error) ([]*Binding, error) {
	judged := eachOf(all, func(b *Binding) string { return b.Function.Name })
	if several := (*SeveralError)(nil); errors.As(err, &several) {
		judged = append(slices.Clone(several.Names), judged...)
	}
	if r.Function != "" || len(judged) == 0 {
		return all, err
	}
	namesakes := slices.DeleteFunc(slices.Clone(f.Functions), func(fn Function) bool {
		pass := op.Forward
		if isBackward(fn.Name) {
			pass = op.Backward
		}
		ofPass := func(name string) bool { return isBackward(name) == isBackward(fn.Name) }
		return !r.bearsName(fn) || slices.Contains(judged, fn.Name) || !slices.Contains(passes, pass) ||
			!slices.ContainsFunc(judged, ofPass) || r.saysOther(fn) || len(f.saying(r, pass)) > 0
	})
	if len(namesakes) == 0 {
		return all, err
	}
	added, reached := slices.Clone(judged), f.reached(judged)
	for _, fn := range namesakes {
		name, stands := lastName(fn.Name), strings.TrimSuffix(fn.parsed().StandsFor, "()")
		if !reached[name] && !reached[stands] && !slices.Contains(added, fn.Name) && f.computes(fn) {
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
func (f *File) reached(names []string) map[string]bool {
	reached, known := map[string]bool{}, map[string][]Function{}
	for _, fn := range slices.Concat(f.Functions, f.helpers) {
		known[lastName(fn.Name)] = append(known[lastName(fn.Name)], fn)
	}
	for next := slices.Clone(names); len(next) > 0; next = next[1:] {
		name, _, _ := strings.Cut(strings.ReplaceAll(next[0], "<", "#"), "#")
		if name = lastName(name); name == "" || reached[name] {
			continue
		}
		reached[name] = true
		for _, fn := range known[name] {
			next = append(next, eachOf(fn.body, func(t token) string { return t.text })...)
			for _, word := range bareName.FindAllStringSubmatch(fn.parsed().Code, -1) {
				next = append(next, word[1])
			}
		}
	}
	return reached
}

// hostType matches what a function of the host takes for itself.
var hostType = regexp.MustCompile(`vector|string`)

// computes reports whether a function may be meant to be judged. A reference that runs on the host is not,
// nor one that makes its tensors itself or takes them as vectors, nor one that only chooses from others.
func (f *File) computes(fn Function) bool {
	device := slices.ContainsFunc(fn.Params, func(p Param) bool {
		number := p.isInteger() || p.isFloat() || p.isBool() || p.isStream()
		return p.Pointer || !number && !hostType.MatchString(p.Base)
	})
	selectors := func(p Param) bool { return len(fn.selectors(p.Name)) > 1 }
	chooses := !fn.Launches && slices.ContainsFunc(fn.Params, selectors)
	reached := f.reached([]string{fn.Name})
	return fn.Kind == Python || device && !chooses && slices.ContainsFunc(f.Functions, func(o Function) bool {
		return reached[lastName(o.Name)] && (o.Kind == Kernel || o.Launches || o.library)
	})
}
