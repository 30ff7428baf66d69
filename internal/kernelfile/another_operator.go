package kernelfile

import (
	"slices"
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
		return namedAfterAny("_"+match.Snake(b.Function.Name)+"_",
			b.ownWords())
	}
	plain := func(b *Binding) bool {
		name := "_" + match.Snake(b.Function.Name) + "_"
		return !other(b) && slices.ContainsFunc(strings.Split(match.Snake(spec.Name), "_"),
			func(w string) bool {
				return len(w) > 3 && strings.Contains(name, "_"+w+"_")
			})
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
		ofMatrices := w == "mul" && i > 0 && strings.HasPrefix(words[i-1], "mat") // a product of them
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
