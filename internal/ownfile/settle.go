package ownfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"triad/internal/declaration"
	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/declared"
	"triad/internal/ownfile/extents"
	"triad/internal/ownfile/layout"
)

// Tally counts the right and wrong cases of a trial, and among the wrong ones those in which the host
// accessed device memory, those that raced, and those that gave no numbers to compare: Python raised an
// exception, an output has another shape, or an input was written. Words is the message of the first of
// these, Why its kind; OfCalls means that it is an exception about the function's arguments.
type Tally struct {
	Right, Wrong, Reached, Raced, Raised int
	Words                                string
	Why                                  NoNumbers
	OfCalls                              bool
}

// NoNumbers is the reason why a call gave no numbers to compare.
type NoNumbers int

// The possible results of a call.
const (
	GaveNumbers NoNumbers = iota
	RaisedSomething
	GaveOtherShape
	WroteInput
)

// WhyNoNumbers returns the reason why a wrong call of a function gave no numbers to compare, from its
// message. raised means that the message is an exception that another call might not have raised.
func WhyNoNumbers(b *binding.Binding, message string, raised bool) NoNumbers {
	switch {
	case raised:
		return RaisedSomething
	case b.Function.Kind == cfacts.Python && isOfAnotherShape(message):
		return GaveOtherShape
	case ReturnsTensors(b) && strings.Contains(message, changedInputs):
		return WroteInput
	}
	return GaveNumbers
}

// changedInputs is in the message about a function that writes its inputs.
const changedInputs = " changed its inputs: "

// isOfAnotherShape recognizes the message about an output whose sizes differ from the operator's.
func isOfAnotherShape(message string) bool {
	_, says, _ := strings.Cut(message, " ")
	return strings.HasPrefix(says, "came back with shape ") ||
		strings.HasPrefix(says, "is a") && strings.Contains(says, ", want a torch.Tensor")
}

// Clean reports whether everything tried was right, and something was tried.
func (t Tally) Clean() bool { return t.Right > 0 && t.Wrong == 0 }

// Trial runs a function on ordinary numbers. Read runs it as it is read, or with an alternative; Flat runs it
// with the sizes set to 1 that decide the order of the tensors.
type Trial interface {
	Read(other *binding.Alternative) Tally
	Flat() Tally
	// Whole runs it as it is read, at sizes that are multiples of every usual tile and block
	Whole() Tally
	// Late reports whether the time was up for one of the interpretations
	Late() bool
}

// Settled is the result of the trials of an interpretation.
type Settled struct {
	Taken *binding.Alternative // the right interpretation if the first one is wrong; nil: the first one stays
	// why a wrong answer is no verdict: what was assumed, and the flag to write, or "" if it is one
	Doubt string
	// Doubt does not excuse a race: every launch that was tried races, and nothing else is in doubt
	Races bool
	// what trials that were not wrong leave open, and is reported if a case is wrong: of every case, of those
	// of other sizes than the trials', of those of other dtypes than the first of several
	Unshown, OtherSizes, OtherDTypes string
	Halves                           string           // about the distributions that the spec calls halves
	Line                             declaration.Line // of an interpretation that is right and was not taken
}

// Settle decides whether a function was understood. If something was assumed and the function is wrong on
// ordinary numbers, other interpretations are tried. A right interpretation that the operator's definition
// leaves open is taken, one that the definition fixes is proposed. If no interpretation is right, a function
// that is right nowhere may have been misunderstood; a guessed launch may be wrong at some sizes only, even
// if trials were right.
func Settle(b *binding.Binding, t Trial) Settled {
	settled := Settled{OtherDTypes: guessedDTypes(b), Halves: b.OtherHalves()}
	assumed := Assumptions(b)
	open := leavesOpen(b)
	other := b.Function.Kind == cfacts.Python ||
		b.Options.Said == nil && (saysOther(b) != "" || launchesOther(b) != "")
	if len(assumed) == 0 && !open && !other {
		return settled
	}
	first := t.Read(nil)
	assumed = append(assumed, perhapsOther(b, first)...)
	if taken := inOtherShapes(b, t, first); taken != nil {
		return Settled{Taken: taken}
	}
	switch {
	case first.Right > 0 && first.Wrong == 0:
		settled.Doubt = doubt(b, binding.Those(assumed, contradicted))
		hidden := slices.DeleteFunc(slices.Clone(assumed), shownByNumbers)
		settled.Unshown = doubt(b, append(hidden, perhapsAlike(b)...))
		settled.OtherSizes = doubt(b, slices.DeleteFunc(assumed, shownAtAnySize))
		return settled
	case len(assumed) == 0 && !open:
		return settled
	case first == (Tally{}): // it declines these calls
		settled.Unshown = doubt(b, assumed)
		return settled
	case b.Function.ExternC && first.Right == 0 && first.Reached == first.Wrong:
		return settled // its pointers are device pointers, whatever they stand for
	case first.Raised == first.Wrong && first.Why == WroteInput:
		return writtenAsOutput(b, t, settled)
	case first.Right == 0 && allShown(assumed) && t.Whole().Clean():
		return settled // the interpretation is right: it is the function that is wrong at other sizes
	}
	// A wrong guess may have made threads race. Other launches are tried, and the positions at which the
	// numbers of a tensor are read do not matter.
	mayRace := func(a binding.Assumption) bool {
		return a.Kind != binding.GuessedLaunch && a.Kind != binding.GuessedLayout
	}
	known := leftOpen{b: b, t: t, first: first}
	if taken, words := known.tryOthers(); taken != nil {
		return Settled{Taken: taken}
	} else if words != "" {
		settled.Doubt, settled.Line = words, known.line
		return settled
	}
	assumed = slices.DeleteFunc(assumed, known.cannotBe)
	if settled.Doubt = doubt(b, assumed); settled.Doubt == "" && known.left != "" {
		settled.Doubt = "wrong as triad reads it, and there was no time to read it otherwise, with " +
			known.left + ": give it longer with --limit readings=5m"
	}
	if settled.Doubt != "" && known.callable != "" {
		settled.Doubt = known.callable
	}
	settled.Races = first.Raced > 0 && first.Raced == first.Wrong && !known.ordered && !t.Late() &&
		!slices.ContainsFunc(assumed, mayRace)
	return settled
}

// leavesOpen reports whether the lines of a function leave another interpretation open although nothing was
// assumed.
func leavesOpen(b *binding.Binding) bool {
	if b.Options.Said != nil {
		return false
	}
	names, _ := extents.Exchangeable(b)
	return len(names) > 0 || len(extents.PerhapsWithout(b)) > 0 || mayBeFlat(b) || extents.MayBeSquare(b) ||
		len(perhapsOutputs(b)) > 0
}

// changesLaunch reports whether an alternative changes the launch.
func changesLaunch(a binding.Alternative) bool {
	return a.Options.Grid+a.Options.Block+a.Options.Shared != ""
}

// isOneWarp reports whether an alternative launches blocks of at most one warp.
func isOneWarp(a binding.Alternative) bool {
	threads, err := strconv.Atoi(a.Options.Block)
	return err == nil && threads <= 32
}

// writtenAsOutput settles on the right interpretation of a function that writes an input in which that input
// is an output, or on otherwise if there is none. No other sizes or layout of inputs excuse writing to them.
func writtenAsOutput(b *binding.Binding, t Trial, otherwise Settled) Settled {
	for _, other := range Alternatives(b) {
		isOutput := func(a binding.Argument) bool {
			return a.Role == binding.Input && slices.ContainsFunc(b.OutputSpecs, func(t op.TensorSpec) bool {
				return other.Options.Map[a.Name] == t.Name
			})
		}
		if slices.ContainsFunc(b.Args, isOutput) && t.Read(&other).Clean() {
			return Settled{Taken: &other}
		}
	}
	return otherwise
}

// inOtherShapes returns an interpretation of a function that declines every call, or gives another shape in
// each: the right one, or the only one that it does not decline, in which tensors lack some sizes, or the one
// with the value of an attribute that decides the sizes which it gives, one loss for each row.
func inOtherShapes(b *binding.Binding, t Trial, first Tally) *binding.Alternative {
	shaped := first.Wrong > 0 && first.Raised == first.Wrong && first.Why == GaveOtherShape
	if first.Right > 0 || !shaped && first.Wrong > 0 {
		return nil
	}
	decides := func(a binding.Alternative) bool {
		return slices.ContainsFunc(b.OutputSpecs, func(t op.TensorSpec) bool {
			by, values := extents.ShapedBy(b, t)
			return values != nil && by.Name == a.Attribute &&
				fmt.Sprint(values[a.Options.Attrs[by.Name]]) != fmt.Sprint(extents.Shape(b, t))
		})
	}
	input := func(a binding.Argument) bool {
		return a.Role == binding.Input && !b.Stated(a) && b.Function.Kind == cfacts.Python
	}
	exchange := reordered(b, input)
	if len(exchange) > 1 { // of two inputs alone
		exchange = nil
	}
	var left, exchanged []binding.Alternative
	for _, other := range slices.Concat(binding.Those(otherAttributes(b), decides), exchange,
		binding.EachOf(extents.PerhapsWithout(b), withoutSizes)) {
		tally := t.Read(&other)
		gives := tally.Right+tally.Wrong > tally.Raised
		if tally.Clean() || shaped && other.Attribute != "" && gives {
			return &other
		}
		switch {
		case !gives || shaped:
		case len(other.Options.Map) > 0:
			exchanged = append(exchanged, other)
		default:
			left = append(left, other)
		}
	}
	if len(left) == 0 {
		left = exchanged
	}
	if len(left) != 1 || t.Late() {
		return nil
	}
	return &left[0]
}

// leftOpen holds what is known if no interpretation of a function is right.
type leftOpen struct {
	b         *binding.Binding
	t         Trial
	first     Tally
	relaid    bool   // it is wrong, or declines, with its tensors in the other order
	left      string // the first interpretation that there was no time for
	inSingles bool   // it is wrong with floats for its doubles too
	ordered   bool   // it is wrong in another launch, and does not race there
	line      declaration.Line
	callable  string // about one in which it does not raise, if it raises as triad reads it
}

// tryOthers tries the other interpretations until one is right, which is taken or proposed in words.
func (l *leftOpen) tryOthers() (taken *binding.Alternative, words string) {
	for _, other := range Alternatives(l.b) {
		if l.first.Raced > 0 && isOneWarp(other) {
			continue // there is nothing to race with
		}
		tally := l.t.Read(&other)
		if l.left == "" && l.t.Late() {
			l.left = other.Flags
		}
		l.ordered = l.ordered || changesLaunch(other) && tally.Wrong > 0 && tally.Raced == 0
		l.relaid = l.relaid || strings.Contains(other.Flags, ":"+layout.EndSwapped)
		l.inSingles = l.inSingles || len(other.Options.Singles) > 0 && tally.Wrong > 0
		if l.first.Raised == l.first.Wrong && tally.Right+tally.Wrong > tally.Raised && l.callable == "" {
			l.callable = l.proposal(other, "it raises in no call, and the file does not say it")
		}
		switch {
		case !tally.Clean():
		case other.Attribute == "" &&
			!other.Proposed, extents.CommentsSay(l.b, other), extents.ShowsPairs(l.b, other):
			return &other, ""
		default:
			return nil, l.proposal(other, "it is right, and the file does not say it")
		}
	}
	return nil, ""
}

// proposal returns the sentence about an interpretation that the file does not state, and how it ends.
func (l *leftOpen) proposal(other binding.Alternative, ends string) string {
	b := l.b
	words := other.Flags
	if flag, rest, several := strings.Cut(words, " "); several && strings.HasPrefix(flag, "--") {
		words = rest
	}
	words = "with " + words + " " + ends + ": "
	if again, err := declared.Again(b, b.Given.With(other), b.Function.Declared); err == nil {
		if line, ok := Declaration(again); ok {
			l.line = line
			return words + "write this line " + b.Above() + ": " + line.Text(b.Sign())
		}
	}
	return words + "say " + other.Flags
}

// cannotBe reports whether an assumption is not to blame.
func (l leftOpen) cannotBe(a binding.Assumption) bool {
	switch {
	case l.t.Late(): // what was not tried may be right
		return false
	case a.Double:
		return l.inSingles
	case a.Kind == binding.GuessedParameter && a.Tiny: // another eps is right where it makes no difference
		return false
	case !shownAtAnySize(a):
		return false
	case l.first.Right > 0, a.Kind == binding.GuessedAttribute: // no other value of it is right either
		return true
	}
	// A Python function takes its sizes off its tensors: the other order must have been tried too.
	return a.Kind == binding.GuessedLayout && (l.relaid || l.b.Function.Kind != cfacts.Python) &&
		!l.t.Flat().Clean()
}

// allShown reports whether there are assumptions, and each would show at sizes at which others are right.
func allShown(assumed []binding.Assumption) bool {
	return len(assumed) > 0 && !slices.ContainsFunc(assumed, func(a binding.Assumption) bool {
		return !shownAtAnySize(a) || a.Double
	})
}

// shownAtAnySize reports whether a value other than the assumed one would have shown where trials were right:
// the launch of a kernel, and the initial contents of its scratch memory, may be wrong at larger sizes only.
func shownAtAnySize(a binding.Assumption) bool {
	return a.Kind != binding.GuessedLaunch && (a.Kind != binding.GuessedForm || a.AnySize)
}

// shownByNumbers reports whether a value other than the assumed one would have shown on ordinary numbers:
// that of an eps shows where they are small.
func shownByNumbers(a binding.Assumption) bool { return !a.Tiny || contradicted(a) }

// contradicted reports whether the file has another value of an attribute than the assumed one.
func contradicted(a binding.Assumption) bool { return a.Contradicted != "" }

// doubt returns the sentence about the remaining assumptions, or "" if there are none.
func doubt(b *binding.Binding, assumed []binding.Assumption) string {
	if len(assumed) == 0 {
		return ""
	}
	var what, dtypes, open []string
	otherCalls := false
	for _, a := range assumed {
		if a.Kind == binding.GuessedParameter {
			a.Open = b.WithLike(a.Open)
		}
		what, open = append(what, a.What), append(open, a.Open...)
		otherCalls = otherCalls || a.OtherCalls
		if a.Kind == binding.GuessedDType {
			dtypes = b.DTypes()
		}
	}
	code := strings.ReplaceAll(b.Function.Code+b.Function.Kernels, "bfloat16", "float16")
	if len(b.Asked)+len(b.Options.DTypes) == 0 && strings.Contains(code, ".to(tl.float16)") {
		dtypes, open = b.DTypes(), append(open, declared.KeyDType)
	}
	read := "wrong as triad reads it, and this was assumed: " + strings.Join(what, "; ")
	line, ok := declarationIn(b, dtypes)
	if l := b.Launch; l != nil && b.Options.Shared == "" && strings.Contains(l.Shared, "max(") {
		open = append(open, declared.KeyShared) // main() says a number, which several sizes make
	}
	switch marked, open := b.WithOpen(line, open); {
	case otherCalls || line.Operator == "" || !ok && !open:
		return read + ". If it is meant for other calls, write a function that makes them of the " +
			"operator's inputs, and judge that: --add FILE:FUNCTION"
	case open:
		return read + ". Write this line " + b.Above() + binding.WithMeant + ": " + marked.Text(b.Sign())
	}
	return read + ". If it is meant so, write this line " + b.Above() + ": " + line.Text(b.Sign()) +
		"; if not, write in it what is meant"
}
