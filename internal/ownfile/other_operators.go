package ownfile

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/declared"
	"triad/internal/ownfile/match"
)

// changing lists words in the name of a function which say that it computes something else than the operator,
// or a part of it, unless the operator or its parts are named so.
var changing = strings.Fields(`abs absolute act activation add addition argmax argmin average avg
	batchnorm bias blur causal celu clamped copy crelu cross diff difference div divide division dropout
	elu geglu gelu glu gray grayscale grey group grouped hardsigmoid hardswish hardtanh instance
	int8 leaky linear local log mask masked max mean min mish mul outer partial pass1 pass2 pass3
	phase phase1 phase2 phase3 pool pooling prelu quantized reglu relu relu6 residual scaled segment
	segmented selu sigmoid silu sliding softplus sparse stage1 stage2 step1 step2 step3 sub subtract
	subtraction swish tanh threshold transpose transposed weighted window`)

// perhapsOther returns what may be to blame for a function that is right in no call on ordinary numbers
// though nothing about it was assumed: it raises in each, or its name says that it computes something else.
// Raising on its arguments is no answer, whatever the user said: it may be meant for other calls.
func perhapsOther(b *binding.Binding, first Tally) []binding.Assumption {
	if first.Right > 0 || first.Wrong == 0 {
		return nil
	}
	always := first.Raised == first.Wrong
	shaped := always && first.Why == GaveOtherShape
	said := slices.ContainsFunc(b.Args, b.Stated)
	if always && first.Why != WroteInput && !shaped && (!said || first.OfCalls) {
		return []binding.Assumption{{
			What: "it takes what triad calls it with: it raises in each of these calls" +
				inBrackets(first.Words),
			OtherCalls: true,
		}}
	}
	word := saysOther(b)
	switch {
	case len(b.TensorParameters()) == 0, said, always && first.Why == WroteInput:
		return nil
	case shaped:
		return computesIt(b, ": it gives another shape in each of these calls"+inBrackets(first.Words))
	case word != "":
		return computesIt(b, ", though its name has "+word)
	case launchesOther(b) != "":
		return computesIt(b, ", though what it launches is called "+launchesOther(b))
	}
	return nil
}

// perhapsAlike returns what may be to blame for a function that is right on ordinary numbers and wrong on
// others: by its name it computes something that gives the same results there, as relu6 does for numbers up
// to 6.
func perhapsAlike(b *binding.Binding) []binding.Assumption {
	word := saysOther(b)
	if word == "" || len(b.TensorParameters()) == 0 || slices.ContainsFunc(b.Args, b.Stated) {
		return nil
	}
	return computesIt(b, ", though its name has "+word)
}

// computesIt returns the assumption that a function is the operator, and what speaks against it.
func computesIt(b *binding.Binding, against string) []binding.Assumption {
	return []binding.Assumption{{
		What: "it computes " + b.Spec.Name + against, Open: []string{b.Spec.Name},
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
func launchesOther(b *binding.Binding) string {
	kernel := ""
	for i := range b.Function.Body {
		callee, _ := b.File.Called(&b.Function, i)
		if callee == nil || callee.Kind != cfacts.Kernel || callee.Name == kernel {
			continue
		}
		if kernel != "" {
			return ""
		}
		kernel = callee.Name
	}
	name, own := "_"+match.Snake(kernel)+"_", ownWords(b)
	if strings.Contains(lettersOf(name), lettersOf(b.Spec.Name)) || !namedAfterAny(name, own) {
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
func withoutOthers(fit []*binding.Binding, spec *op.Spec) []*binding.Binding {
	other := func(b *binding.Binding) bool {
		return namedAfterAny("_"+match.Snake(b.Function.Name)+"_", ownWords(b))
	}
	plain := func(b *binding.Binding) bool {
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
func leaveOut(fit []*binding.Binding, which func(*binding.Binding) bool) []*binding.Binding {
	left := binding.EachOf(binding.Those(fit, which),
		func(b *binding.Binding) string { return b.Function.Name })
	kept := slices.DeleteFunc(slices.Clone(fit), which)
	for _, b := range kept {
		b.Left = append(b.Left, left...)
	}
	return kept
}

// ownWords returns the letters of the operator's name, summary and formula: its kernels may be named after
// any of these, as one of attention is after its softmax.
func ownWords(b *binding.Binding) string {
	return lettersOf(b.Spec.Name + " " + b.Spec.Summary + " " + b.Spec.Formula)
}

// lettersOf removes separators, which words are written with or without.
func lettersOf(words string) string {
	return strings.NewReplacer("_", "", " ", "", "-", "").Replace(strings.ToLower(words))
}

// saysOther returns the word in a function's name that belongs to another operator; "" if there is none.
func saysOther(b *binding.Binding) string {
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
func ReturnsTensors(b *binding.Binding) bool { return b.Function.Kind == cfacts.Python || b.Extension }

// Launches reports whether a function launches a Triton kernel of that name.
func Launches(b *binding.Binding, name string) bool {
	return strings.Contains(b.Function.Kernels, "def "+name+"(")
}

// bearsName reports whether a function has the operator's name: softmax, nn::Softmax, softmax_forward, and
// softmax_kernel of Triton's, which a function of the file that computes softmax with torch would acquit.
func bearsName(r binding.Request, fn cfacts.Function) bool {
	rest, found := strings.CutPrefix(lettersOf(match.Snake(cfacts.LastName(fn.Name))),
		lettersOf(match.Snake(r.Operator)))
	return found && (slices.Contains([]string{"", "forward", "fwd", "backward", "bwd", "grad"}, rest) ||
		rest == "kernel" && fn.Form == binding.KernelForm)
}

// withNamesakes adds the functions with the operator's name that a result would not cover, so that each is a
// row of its own, which may say why it is not judged: a file is not right if another of its functions is.
func withNamesakes(f *cfacts.File, r binding.Request, passes []op.Pass, all []*binding.Binding, err error) (
	[]*binding.Binding, error,
) {
	judged := binding.EachOf(all, func(b *binding.Binding) string { return b.Function.Name })
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
		return !bearsName(r, fn) || slices.Contains(judged, fn.Name) || !slices.Contains(passes, pass) ||
			!slices.ContainsFunc(judged, ofPass) || declared.SaysOther(r, fn) ||
			len(declared.Saying(f, r, pass)) > 0
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
	for _, fn := range binding.Those(namesakes, func(fn cfacts.Function) bool { return fn.Launches }) {
		parts := reached(f, []string{fn.Name})
		part := func(name string) bool { return parts[cfacts.LastName(name)] && name != fn.Name }
		if slices.Contains(added, fn.Name) && len(binding.Those(added, part)) > 1 {
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
			next = append(next, binding.EachOf(fn.Body, func(t cfacts.Token) string { return t.Text })...)
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
