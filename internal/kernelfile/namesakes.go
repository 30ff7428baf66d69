package kernelfile

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
)

// bearsName reports whether a function has the operator's name: softmax, nn::Softmax, softmax_forward.
func (r Request) bearsName(fn cfacts.Function) bool {
	rest, found := strings.CutPrefix(lettersOf(snake(cfacts.LastName(fn.Name))), lettersOf(snake(r.operator)))
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
		if isBackward(fn.Name) {
			pass = op.Backward
		}
		ofPass := func(name string) bool { return isBackward(name) == isBackward(fn.Name) }
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

// hostType matches what a function of the host takes for itself.
var hostType = regexp.MustCompile(`vector|string`)

// computes reports whether a function may be meant to be judged. A reference that runs on the host is not,
// nor one that makes its tensors itself or takes them as vectors, nor one that only chooses from others.
func computes(f *cfacts.File, fn cfacts.Function) bool {
	device := slices.ContainsFunc(fn.Params, func(p cfacts.Param) bool {
		number := p.IsInteger() || p.IsFloat() || p.IsBool() || p.IsStream()
		return p.Pointer || !number && !hostType.MatchString(p.Base)
	})
	selectors := func(p cfacts.Param) bool { return len(selectors(fn, p.Name)) > 1 }
	chooses := !fn.Launches && slices.ContainsFunc(fn.Params, selectors)
	reached := reached(f, []string{fn.Name})
	return fn.Kind == cfacts.Python || device && !chooses &&
		slices.ContainsFunc(f.Functions, func(o cfacts.Function) bool {
			return reached[cfacts.LastName(o.Name)] && (o.Kind == cfacts.Kernel || o.Launches || o.CallsLibrary)
		})
}
