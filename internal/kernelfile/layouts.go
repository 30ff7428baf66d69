package kernelfile

import (
	"slices"
	"strings"
)

// lying is a row of the table of layouts: how what a parameter gets differs from the tensor as the operator
// has it.
type lying struct {
	Adapter Adapter
	fill    string  // of Scratch
	lies    packing // of Packed
	// the word of --map and of a line: of Scratch all of it, else what follows the tensors, "gate+up:rows"
	word string
	// what is said of it: of Packed how the parts lie, else a sentence
	says string
}

const (
	wordRoom    = "room"
	endTwice    = "twice"
	endPairs    = "pairs"
	endSwapped  = "swapped"
	roomToWork  = "$parameter is room to work in, "
	givenTwice  = "$parameter has rows of $size: each value of $target is given twice, "
	fillZero    = "zeros"
	fillLowest  = "lowest" // -infinity
	fillCounted = "positions"
)

var layouts = []lying{
	{Adapter: Scratch, word: wordRoom, says: roomToWork + "which holds nothing before a call"},
	{Adapter: Scratch, fill: fillZero, word: fillZero, says: roomToWork + "filled with zeros before each " +
		"call"},
	{
		Adapter: Scratch, fill: fillLowest, word: fillLowest,
		says: roomToWork + "filled with -infinity before each call",
	},
	{
		Adapter: Scratch, fill: fillCounted, word: fillCounted,
		says: "$parameter gets the position of each token before each call, from 0",
	},
	{Adapter: Packed, lies: wholeTensors, says: "one after the other"},
	{Adapter: Packed, lies: rowByRow, word: "rows", says: "beside each other in each row"},
	{Adapter: Packed, lies: elementwise, word: "elements", says: "element by element"},
	{Adapter: Packed, lies: tokenwise, word: "tokens", says: "one after the other in each token"},
	{Adapter: Wide, word: endTwice, says: givenTwice + "[values, values]"},
	{Adapter: Pairs, word: endPairs, says: givenTwice + "one beside the other"},
	{
		Adapter: BSHD, word: endSwapped,
		says: "$parameter is $size: $target is copied so, and the copy is timed",
	},
	{Adapter: BlockTotals, says: "$parameter gets a value of each block: triad adds them up, and that is " +
		"timed"},
	{Adapter: Narrow, says: "$parameter is int: $target is converted, and that is timed"},
}

// layout returns the row of a form; the zero row if the tensor lies as the operator has it.
func (f adapterOf) layout() lying {
	i := slices.IndexFunc(layouts, func(l lying) bool {
		return l.Adapter == f.Adapter && l.fill == f.fill && (l.Adapter != Packed || l.lies == f.lies)
	})
	if i < 0 {
		return lying{}
	}
	return layouts[i]
}

// layoutOf returns the row of a word of --map, with so many parts before its ending.
func (b *Binding) layoutOf(text, end string, parts int) (l lying, ok bool) {
	at := slices.IndexFunc(layouts, func(l lying) bool {
		switch l.Adapter {
		case Scratch:
			return l.word == text && (l.fill != fillCounted || b.Spec.Own.Positions != "")
		case Packed:
			return parts > 1 && l.word == end && (l.lies != tokenwise || b.mayStack())
		}
		return parts == 1 && l.word != "" && l.word == end
	})
	if at < 0 {
		return lying{}, false
	}
	return layouts[at], true
}

// wordsOf returns the words of an operator for a layout.
func (b *Binding) wordsOf(l lying) (all []string) {
	own := b.Spec.Own
	switch l.Adapter {
	case Scratch:
		all = []string{l.word}
	case Packed:
		all = []string{withEnd(strings.Join(own.Packed, "+"), l.word)}
	case Wide, Pairs:
		all = eachOf(own.Wide, func(name string) string { return withEnd(name, l.word) })
	case BSHD:
		all = eachOf(own.Tokens, func(name string) string { return withEnd(name, l.word) })
	}
	return slices.DeleteFunc(all, func(word string) bool {
		_, ok := b.sayWord(word)
		return !ok
	})
}

// withEnd returns the word of --map for tensors that lie in some way.
func withEnd(tensors, end string) string {
	if end == "" {
		return tensors
	}
	return tensors + ":" + end
}

// layoutSentence describes what a parameter gets; "" if that is the tensor as it lies.
func (b *Binding) layoutSentence(a Argument) string {
	says, size := a.layout().says, b.Spec.Own.WideSize
	switch a.Adapter {
	case Packed:
		says = "$parameter holds " + a.packed() +
			": they are copied there before each call, and the copy is timed"
	case BSHD:
		size = b.swappedShape(a)
	}
	return strings.NewReplacer("$parameter", a.Name, "$target", a.Target, "$size", size).Replace(says)
}

// packed returns the layout of several inputs in one buffer: "gate, up one after the other".
func (f adapterOf) packed() string { return strings.Join(f.parts, ", ") + " " + f.layout().says }
