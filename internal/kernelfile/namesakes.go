package kernelfile

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"triad/internal/op"
)

// bearsName reports whether a function has the operator's name: softmax, nn::Softmax, softmax_forward.
func (r Request) bearsName(fn Function) bool {
	plain := func(name string) string { return strings.ReplaceAll(snake(name), "_", "") }
	name := plain(fn.Name[strings.LastIndex(fn.Name, ":")+1:])
	rest, found := strings.CutPrefix(name, plain(r.operator))
	return found && slices.Contains([]string{"", "forward", "fwd", "backward", "bwd", "grad"}, rest)
}

// withNamesakes adds the functions with the operator's name that a result would not cover, so that each is a
// row of its own, which may say why it is not judged: a file is not right if another of its functions is.
func (f *File) withNamesakes(r Request, passes []op.Pass, all []*Binding, err error) ([]*Binding, error) {
	var several *SeveralError
	if r.Function != "" || err != nil && !errors.As(err, &several) {
		return all, err
	}
	var judged []string
	for _, b := range all {
		judged = append(judged, b.Function.Name)
	}
	if several != nil {
		judged = several.Names
	}
	added := slices.Clone(judged)
	var reached map[string]bool
	for _, fn := range f.Functions {
		pass := op.Forward
		if isBackward(fn.Name) {
			pass = op.Backward
		}
		ofPass := func(name string) bool { return isBackward(name) == isBackward(fn.Name) }
		if !r.bearsName(fn) || slices.Contains(added, fn.Name) || !slices.Contains(passes, pass) ||
			r.saysOther(fn) || len(f.saying(r, pass)) > 0 || !slices.ContainsFunc(judged, ofPass) {
			continue
		}
		if reached == nil {
			reached = f.reached(judged)
		}
		if !reached[fn.Name] && !reached[strings.TrimSuffix(fn.said().StandsFor, "()")] && f.computes(fn) {
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

// reached returns the names of functions, and of all that they name in their lines.
func (f *File) reached(names []string) map[string]bool {
	known := map[string][]*Function{}
	for _, list := range [][]Function{f.Functions, f.helpers} {
		for i := range list {
			fn := &list[i]
			last := fn.Name[strings.LastIndex(fn.Name, ":")+1:]
			known[last] = append(known[last], fn)
		}
	}
	reached := map[string]bool{}
	var add func(name string)
	add = func(name string) {
		name, _, _ = strings.Cut(strings.ReplaceAll(name, "<", "#"), "#")
		name = name[strings.LastIndex(name, ":")+1:]
		if name == "" || reached[name] {
			return
		}
		reached[name] = true
		for _, fn := range known[name] {
			reached[fn.Name] = true
			for _, t := range fn.body {
				add(t.text)
			}
			for _, word := range bareName.FindAllStringSubmatch(fn.said().Code, -1) {
				add(word[1])
			}
		}
	}
	for _, name := range names {
		add(name)
	}
	return reached
}

// computes reports whether a function may be meant to be judged. A reference that runs on the host is not,
// nor one that makes its tensors itself or takes them as vectors of the host, nor one that only chooses from
// others by a number.
func (f *File) computes(fn Function) bool {
	if fn.Kind == Python {
		return true
	}
	device := slices.ContainsFunc(fn.Params, func(p Param) bool {
		return p.Pointer || !p.isInteger() && !p.isFloat() && !p.isBool() && !p.isStream() &&
			!strings.Contains(p.Base, "vector") && !strings.Contains(p.Base, "string")
	})
	chooses := !fn.Launches && slices.ContainsFunc(fn.Params, func(p Param) bool {
		return len(fn.rungs(p.Name)) > 1
	})
	reached := f.reached([]string{fn.Name})
	return device && !chooses && slices.ContainsFunc(f.Functions, func(o Function) bool {
		return reached[o.Name] && (o.Kind == Kernel || o.Launches || o.library)
	})
}
