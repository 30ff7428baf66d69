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

// changing lists words in the name of a function which say that it computes something else than the operator,
// or a part of it, unless the operator or its parts are named so.
var changing = strings.Fields(`abs absolute act activation add addition argmax argmin average avg
	batchnorm bias blur causal celu clamped crelu cross diff difference div divide division dropout
	elu geglu gelu glu gray grayscale grey group grouped hardsigmoid hardswish hardtanh instance
	int8 leaky linear local log mask masked max mean min mish mul outer partial pass1 pass2 pass3
	phase phase1 phase2 phase3 pool pooling prelu quantized reglu relu relu6 residual scaled segment
	segmented selu sigmoid silu sliding softplus sparse stage1 stage2 step1 step2 step3 sub subtract
	subtraction swish tanh threshold transposed weighted window`)

// perhapsOther returns what may be to blame for a function that is right in no call on ordinary numbers
// though nothing about it was assumed: it raises in each, or its name says that it computes something else.
// Raising on its arguments is no answer, whatever the user said: it may be meant for other calls.
func (b *Binding) perhapsOther(first Tally) []Assumption {
	if first.Right > 0 || first.Wrong == 0 {
		return nil
	}
	always := first.Raised == first.Wrong
	shaped := always && first.Why == GaveOtherShape
	said := slices.ContainsFunc(b.Args, b.stated)
	if always && first.Why != WroteInput && !shaped && (!said || first.OfCalls) {
		return []Assumption{{
			What: "it takes what triad calls it with: it raises in each of these calls" +
				inBrackets(first.Words),
			otherCalls: true,
		}}
	}
	word := b.saysOther()
	switch {
	case len(b.tensorParameters()) == 0, said, always && first.Why == WroteInput:
		return nil
	case shaped:
		return []Assumption{{What: "it computes " + b.Spec.Name + ": it gives another shape in each of " +
			"these calls" + inBrackets(first.Words), open: []string{b.Spec.Name}}}
	case word != "":
		return b.namedOtherwise(word)
	case b.launchesOther() != "":
		return []Assumption{{What: "it computes " + b.Spec.Name + ", though what it launches is called " +
			b.launchesOther(), open: []string{b.Spec.Name}}}
	}
	return nil
}

// perhapsAlike returns what may be to blame for a function that is right on ordinary numbers and wrong on
// others: by its name it computes something that gives the same results there, as relu6 does for numbers up
// to 6.
func (b *Binding) perhapsAlike() []Assumption {
	word := b.saysOther()
	if word == "" || len(b.tensorParameters()) == 0 || slices.ContainsFunc(b.Args, b.stated) {
		return nil
	}
	return b.namedOtherwise(word)
}

// namedOtherwise returns the assumption that a function with a word of another operator in its name is this
// one.
func (b *Binding) namedOtherwise(word string) []Assumption {
	return []Assumption{{
		What: "it computes " + b.Spec.Name + ", though its name has " + word, open: []string{b.Spec.Name},
	}}
}

// inBrackets returns words in brackets, to follow others; "" without words.
func inBrackets(words string) string {
	if words == "" {
		return ""
	}
	return " (" + words + ")"
}

// operatorWords lists names of operators that a kernel of another operator does not bear.
var operatorWords = strings.Fields(`attention convolution cross_entropy gelu geglu histogram layernorm
	layer_norm relu rmsnorm rms_norm rope silu softmax swiglu transpose`)

// launchesOther returns the only kernel that a host function launches, if it is named after another operator
// and not after this one; "" otherwise.
func (b *Binding) launchesOther() string {
	kernel := ""
	for i := range b.Function.Body {
		callee, _ := b.file.Called(&b.Function, i)
		if callee == nil || callee.Kind != cfacts.Kernel || callee.Name == kernel {
			continue
		}
		if kernel != "" {
			return ""
		}
		kernel = callee.Name
	}
	name, own := "_"+match.Snake(kernel)+"_", b.ownWords()
	if strings.Contains(lettersOf(name), lettersOf(b.Spec.Name)) {
		return ""
	}
	if !namedAfterAny(name, own) {
		return ""
	}
	return kernel
}

// namedAfterAny reports whether a name between underscores has the word of an operator that own has not.
func namedAfterAny(name, own string) bool {
	return slices.ContainsFunc(operatorWords, func(w string) bool {
		return strings.Contains(name, "_"+w+"_") && !strings.Contains(own, lettersOf(w))
	})
}

// withoutOthers leaves out functions named after other operators if another function has a word of this
// operator's name: layernorm next to attention, for flash_attention.
func withoutOthers(fit []*Binding, spec *op.Spec) []*Binding {
	other := func(b *Binding) bool {
		return namedAfterAny("_"+match.Snake(b.Function.Name)+"_", b.ownWords())
	}
	plain := func(b *Binding) bool {
		name := "_" + match.Snake(b.Function.Name) + "_"
		return !other(b) && slices.ContainsFunc(strings.Split(match.Snake(spec.Name), "_"),
			func(w string) bool { return len(w) > 3 && strings.Contains(name, "_"+w+"_") })
	}
	if !slices.ContainsFunc(fit, plain) {
		return fit
	}
	return leaveOut(fit, other)
}

// leaveOut leaves out some functions, and notes that with the others.
func leaveOut(fit []*Binding, which func(*Binding) bool) []*Binding {
	left := eachOf(those(fit, which), func(b *Binding) string { return b.Function.Name })
	kept := slices.DeleteFunc(slices.Clone(fit), which)
	for _, b := range kept {
		b.left = append(b.left, left...)
	}
	return kept
}

// ownWords returns the letters of the operator's name, summary and formula: its kernels may be named after
// any of these, as one of attention is after its softmax.
func (b *Binding) ownWords() string {
	return lettersOf(b.Spec.Name + " " + b.Spec.Summary + " " + b.Spec.Formula)
}

// lettersOf removes separators, which words are written with or without.
func lettersOf(words string) string {
	return strings.NewReplacer("_", "", " ", "", "-", "").Replace(strings.ToLower(words))
}

// saysOther returns the word in a function's name that belongs to another operator; "" if there is none.
func (b *Binding) saysOther() string {
	known := match.Snake(b.Spec.Name)
	for _, a := range b.Spec.Attributes {
		known += "_" + match.Snake(a.Name)
	}
	words := strings.Split(match.Snake(b.Function.Name), "_")
	for i, w := range words {
		ofMatrices := w == "mul" && slices.ContainsFunc(words[max(i-2, 0):i], // a product of them
			func(before string) bool { return strings.HasPrefix(before, "mat") })
		if ofMatrices && strings.Contains(b.Spec.Summary, "matri") {
			continue
		}
		if slices.Contains(changing, w) && !strings.Contains(known, w) &&
			!strings.Contains(b.Spec.Summary, w) {
			return w
		}
	}
	return ""
}

// ReturnsTensors reports whether a function is Python or belongs to a PyTorch extension: its author may have
// meant an input for the result.
func (b *Binding) ReturnsTensors() bool { return b.Function.Kind == cfacts.Python || b.extension }

// Launches reports whether a function launches a Triton kernel of that name.
func (b *Binding) Launches(name string) bool {
	return strings.Contains(b.Function.Kernels, "def "+name+"(")
}

// bearsName reports whether a function has the operator's name: softmax, nn::Softmax, softmax_forward, and
// softmax_kernel of Triton's, which a function of the file that computes softmax with torch would acquit.
func (r Request) bearsName(fn cfacts.Function) bool {
	rest, found := strings.CutPrefix(lettersOf(match.Snake(cfacts.LastName(fn.Name))),
		lettersOf(match.Snake(r.operator)))
	return found && (slices.Contains([]string{"", "forward", "fwd", "backward", "bwd", "grad"}, rest) ||
		rest == "kernel" && fn.Form == kernelForm)
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
	added, named := slices.Clone(judged), reached(f, judged)
	for _, fn := range namesakes {
		name, stands := cfacts.LastName(fn.Name), strings.TrimSuffix(fn.Parsed().StandsFor, "()")
		if !named[name] && !named[stands] && !slices.Contains(added, fn.Name) && computes(f, fn, judged) {
			added = append(added, fn.Name)
		}
	}
	if len(added) == len(judged) {
		return all, err
	}
	// Kernels that one function with the operator's name launches together are its parts.
	for _, fn := range those(namesakes, func(fn cfacts.Function) bool { return fn.Launches }) {
		parts := reached(f, []string{fn.Name})
		part := func(name string) bool { return parts[cfacts.LastName(name)] && name != fn.Name }
		if slices.Contains(added, fn.Name) && len(those(added, part)) > 1 {
			added = slices.DeleteFunc(added, part)
		}
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
// nor one that makes its tensors itself or takes them as vectors, nor one that only calls judged ones.
func computes(f *cfacts.File, fn cfacts.Function, judged []string) bool {
	device := slices.ContainsFunc(fn.Params, func(p cfacts.Param) bool {
		number := p.IsInteger() || p.IsFloat() || p.IsBool() || p.IsStream()
		return p.Pointer || !number && !strings.Contains(p.Base, "vector") &&
			!strings.Contains(p.Base, "string")
	})
	reached := reached(f, []string{fn.Name})
	calls := func(name string) bool { return !fn.Launches && reached[cfacts.LastName(name)] }
	return fn.Kind == cfacts.Python || device && !slices.ContainsFunc(judged, calls) &&
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
		if len(found) == 0 && tuned && math.Abs(n) < mostAdded {
			found = smallAdded(file, &b.Function)
		}
		slices.Sort(found)
		if found = slices.Compact(found); len(found) == 1 {
			b.named[a.Name] = found[0]
		}
	}
}

// mostAdded is above each number that is added only to keep a divisor from 0.
const mostAdded = 1e-2

// smallAdded lists the small numbers that the lines of a function, and of those that it calls, add.
func smallAdded(f *cfacts.File, fn *cfacts.Function) (all []string) {
	added := fn.Parsed().Added
	f.Walk(fn, func(fn *cfacts.Function, _ func(string) string) {
		for i, t := range fn.Body {
			if t.Text == "+" || t.Text == "+=" {
				added = append(added, cfacts.TextAt(fn.Body, i+1))
			}
		}
	})
	for _, word := range added {
		value := plainValue(word)
		if n, err := strconv.ParseFloat(value, 64); err == nil && n > 0 && n < mostAdded {
			all = append(all, value)
		}
	}
	return all
}

// plainValue returns a number in its shortest form, or "" for any other text.
func plainValue(text string) string {
	n, err := strconv.ParseFloat(strings.TrimRight(strings.Trim(text, "() "), "fFlL"), 64)
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
