package kernelfile

import (
	"maps"
	"slices"
	"strings"

	"triad/internal/ownfile/cfacts"
)

// adapterWord returns the word of --map for an argument's target and adapter.
func (b *Binding) adapterWord(a Argument) string {
	switch l := a.layout(); {
	case a.Adapter == Scratch:
		return l.word
	case a.Adapter == Packed:
		return withEnd(strings.Join(a.parts, "+"), l.word)
	case l.word != "":
		return withEnd(a.Target, l.word)
	case a.Role == Constant && strings.HasSuffix(a.Target, "factor"):
		return wordFactor
	case a.Role == Constant && strings.HasSuffix(a.Target, "addend"):
		return wordAddend
	case a.Role == Constant:
		return constantWord(a)
	}
	return strings.ReplaceAll(a.Target, " ", "")
}

// assumedForms returns the assumptions about how a function takes what does not lie as the operator has it.
func (b *Binding) assumedForms() []Assumption {
	var what, open []string
	telling := true
	for _, a := range b.Args {
		if a.stated || b.ordered && a.Adapter == BSHD ||
			a.Adapter.shown() && !b.guessedNumber(a) {
			continue
		}
		open = append(open, a.Name)
		telling = telling && a.Adapter != Scratch && a.Adapter != Wide && a.Adapter != Pairs
		switch {
		case a.Adapter == Packed:
			what = append(what, a.Name+" holds "+a.packed())
		case a.Adapter == Scratch || a.Role == Constant:
			what = append(what, a.Name+" is "+a.Target)
		case a.Adapter == BSHD:
			what = append(what, a.Name+" lies as "+b.swappedShape(a))
		default:
			what = append(what, a.Name+" has each value of "+a.Target+" twice")
		}
	}
	all := b.calledOtherwise()
	if len(what) > 0 {
		all = append(all, Assumption{
			Kind: GuessedForm, What: strings.Join(what, ", "), open: open, anySize: telling,
		})
	}
	return all
}

// shown reports whether the lines of a file leave nothing open about an adapter.
func (f Adapter) shown() bool {
	return slices.Contains([]Adapter{AsItLies, Narrow, BlockTotals}, f)
}

// guessedNumber reports whether a number is passed for a parameter whose name alone says what it is: a plain
// factor or addend, or a letter that is taken for one more factor of the rows though no line multiplies it.
func (b *Binding) guessedNumber(a Argument) bool {
	if a.Role != Constant || a.Adapter != AsItLies || a.Place == cfacts.InTile {
		return false
	}
	word := b.adapterWord(a)
	// A tensor of PyTorch has its sizes, and may be wanted with both.
	factor := strings.Contains(a.Target, "as a factor of")
	return word == wordFactor || word == wordAddend || isLetter(a.Name) && !b.multiplied(a) ||
		factor && b.Function.Kind == cfacts.Python
}

// calledOtherwise returns the assumption about a function without a parameter for some tensors: it is called
// for one of a pair after the other, or triad multiplies and adds itself.
func (b *Binding) calledOtherwise() []Assumption {
	parameters := b.tensorParameters()
	stated := !slices.ContainsFunc(b.Args, func(a Argument) bool {
		return slices.Contains(parameters, a.Name) && !b.stated(a)
	})
	if stated || !b.each && len(b.unscaled) == 0 {
		return nil
	}
	what := "it does without " + strings.Join(b.unscaled, " and ")
	if b.each {
		what = "it is called once for " + strings.Join(slices.Sorted(maps.Values(b.Spec.Own.Each)), ", ") +
			" and once for " + strings.Join(slices.Sorted(maps.Keys(b.Spec.Own.Each)), ", ")
	}
	return []Assumption{{Kind: GuessedForm, What: what, anySize: true}}
}

// otherAdapters returns the other ways in which arguments may lie whose layout the file leaves open. The
// order and layout that a function takes are part of the operator's definition: these interpretations are
// proposed, never taken. The fill of scratch memory is left to the caller.
func (b *Binding) otherAdapters() []Alternative {
	all := b.otherPackings()
	if !b.mayExchange() {
		return all
	}
	for _, group := range []struct {
		targets []string
		endings []string
	}{{b.Spec.Own.Wide, []string{"", endTwice, endPairs}}, {b.Spec.Own.Tokens, []string{"", endSwapped}}} {
		if python := b.Function.Kind == cfacts.Python; python && slices.Contains(group.endings, endPairs) ||
			(python && b.bshd || b.ordered) && slices.Contains(group.endings, endSwapped) {
			continue
		}
		for _, end := range group.endings {
			if other, ok := b.allLying(group.targets, end); ok {
				all = append(all, other)
			}
		}
	}
	for _, a := range b.Args {
		for _, word := range []string{fillZero, fillLowest, wordRoom} {
			if a.Adapter == Scratch && !a.stated && word != b.adapterWord(a) {
				all = append(all, mapped([]string{a.Name}, []string{word}))
			}
		}
	}
	return all
}

// otherPackings returns the other orders and packings of the inputs in one buffer.
func (b *Binding) otherPackings() []Alternative {
	var all []Alternative
	for _, a := range b.Args {
		if a.Adapter != Packed || a.stated {
			continue
		}
		for _, order := range permutations(a.parts) {
			for _, lies := range []packing{a.lies, wholeTensors, rowByRow, elementwise} {
				other := a
				other.parts, other.lies = order, lies
				word := b.adapterWord(other)
				same := func(o Alternative) bool { return o.Options.Map[a.Name] == word }
				fixed := b.bshd || a.lies == tokenwise
				if fixed && lies != a.lies || word == b.adapterWord(a) || slices.ContainsFunc(all, same) {
					continue
				}
				alternative := mapped([]string{a.Name}, []string{word})
				alternative.Proposed = true
				all = append(all, alternative)
			}
		}
	}
	return all
}

// allLying returns the interpretation in which all arguments for some tensors lie in one way; ok is false if
// they do so already, or the user said how one of them lies.
func (b *Binding) allLying(targets []string, end string) (other Alternative, ok bool) {
	var names, words []string
	differs := false
	for _, a := range b.Args {
		if !slices.Contains(targets, a.Target) || a.Role != Input && a.Role != Output || a.Adapter == Packed {
			continue
		}
		if a.stated || a.Over != "" {
			return other, false
		}
		word := a.Target
		if end != "" {
			word += ":" + end
		}
		differs = differs || word != b.adapterWord(a)
		names, words = append(names, a.Name), append(words, word)
	}
	other = mapped(names, words)
	other.Proposed = true
	return other, differs
}
