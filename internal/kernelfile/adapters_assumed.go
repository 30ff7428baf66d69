package kernelfile

import (
	"maps"
	"slices"
	"strings"

	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/layout"
	"triad/internal/ownfile/match"
)

// adapterWord returns the word of --map for an argument's target and adapter.
func (b *Binding) adapterWord(a Argument) string {
	switch l := a.Row(); {
	case a.Adapter == layout.Scratch:
		return l.Word
	case a.Adapter == layout.Packed:
		return layout.WithEnd(strings.Join(a.Parts, "+"), l.Word)
	case l.Word != "":
		return layout.WithEnd(a.Target, l.Word)
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
		if a.Stated || b.ordered && a.Adapter == layout.BSHD || shown(a.Adapter) && !b.guessedNumber(a) {
			continue
		}
		open = append(open, a.Name)
		telling = telling && a.Adapter != layout.Scratch && a.Adapter != layout.Wide &&
			a.Adapter != layout.Pairs
		switch {
		case a.Adapter == layout.Packed:
			what = append(what, a.Name+" holds "+a.PartsInWords())
		case a.Adapter == layout.Scratch || a.Role == Constant:
			what = append(what, a.Name+" is "+a.Target)
		case a.Adapter == layout.BSHD:
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
func shown(f layout.Adapter) bool {
	return slices.Contains([]layout.Adapter{layout.AsItLies, layout.Narrow, layout.BlockTotals}, f)
}

// guessedNumber reports whether a number is passed for a parameter whose name alone says what it is: a plain
// factor or addend, or a letter that is taken for one more factor of the rows though no line multiplies it.
func (b *Binding) guessedNumber(a Argument) bool {
	if a.Role != Constant || a.Adapter != layout.AsItLies || a.Place == cfacts.InTile {
		return false
	}
	word := b.adapterWord(a)
	// A tensor of PyTorch has its sizes, and may be wanted with both.
	factor := strings.Contains(a.Target, "as a factor of")
	return word == wordFactor || word == wordAddend || match.IsLetter(a.Name) && !b.multiplied(a) ||
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
	}{
		{b.Spec.Own.Wide, []string{"", layout.EndTwice, layout.EndPairs}},
		{b.Spec.Own.Tokens, []string{"", layout.EndSwapped}},
	} {
		if python := b.Function.Kind == cfacts.Python; python &&
			slices.Contains(group.endings, layout.EndPairs) ||
			(python && b.bshd || b.ordered) && slices.Contains(group.endings, layout.EndSwapped) {
			continue
		}
		for _, end := range group.endings {
			if other, ok := b.allLying(group.targets, end); ok {
				all = append(all, other)
			}
		}
	}
	for _, a := range b.Args {
		for _, word := range []string{layout.FillZero, layout.FillLowest, layout.WordRoom} {
			if a.Adapter == layout.Scratch && !a.Stated && word != b.adapterWord(a) {
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
		if a.Adapter != layout.Packed || a.Stated {
			continue
		}
		for _, order := range permutations(a.Parts) {
			for _, lies := range []layout.Packing{
				a.Lies, layout.WholeTensors, layout.RowByRow,
				layout.Elementwise,
			} {
				other := a
				other.Parts, other.Lies = order, lies
				word := b.adapterWord(other)
				same := func(o Alternative) bool { return o.Options.Map[a.Name] == word }
				fixed := b.bshd || a.Lies == layout.Tokenwise
				if fixed && lies != a.Lies || word == b.adapterWord(a) || slices.ContainsFunc(all, same) {
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
		if !slices.Contains(targets, a.Target) || a.Role != Input && a.Role != Output ||
			a.Adapter == layout.Packed {
			continue
		}
		if a.Stated || a.Over != "" {
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
