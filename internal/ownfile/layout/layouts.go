// Package layout holds the table of layouts: the representations in which a pointer gets a tensor that does
// not lie as the operator has it, with the word and the sentence of each.
package layout

import (
	"slices"
	"strings"
)

// Adapter is the representation in which a pointer gets its target, where that is not the tensor as it lies.
type Adapter uint8

// The adapters of a pointer. All but AsItLies point into the workspace of the call.
const (
	AsItLies Adapter = iota
	Scratch          // room for what the function keeps between its kernels
	Packed           // several inputs in one buffer, laid out as packing says
	Wide             // a table whose rows are written twice, as wide as the tensor that is multiplied by it
	// BSHD is a tensor whose second and third size have changed places: [batch, seq, heads, dim] where the
	// operator has [batch, heads, seq, dim].
	BSHD
	Narrow      // an int for each of the operator's int64
	BlockTotals // a value for each block; triad adds them up
)

// Packing is the order of several inputs in one buffer.
type Packing uint8

// The packings.
const (
	WholeTensors Packing = iota // one tensor after the other
	RowByRow                    // a row of each, then the next row of each
)

// Adapted is the layout adapter of a pointer with its details.
type Adapted struct {
	Adapter Adapter
	Parts   []string // of a Packed one, the inputs in their order
	Lies    Packing
	Fill    string // of a Scratch one: what a caller fills it with, a word of --map; "" for nothing
	Stated  bool   // the user said it
	// number is the value passed for a Constant, where the user said it: "0.5"
	Number string
	Host   bool // it points to a copy in the host's memory
}

// Row is a row of the table of layouts: how what a parameter gets differs from the tensor as the operator
// has it.
type Row struct {
	Adapter Adapter
	Fill    string  // of Scratch
	Lies    Packing // of Packed
	// the word of --map and of a line: of Scratch all of it, else what follows the tensors, "gate+up:rows"
	Word string
	// what is said of it: of Packed how the parts lie, else a sentence
	Says string
}

const (
	WordRoom   = "room"
	EndTwice   = "twice"
	EndSwapped = "swapped"
	roomToWork = "$parameter is room to work in, "
	givenTwice = "$parameter has rows of $size: each value of $target is given twice, "
	FillZero   = "zeros"
	FillLowest = "lowest" // -infinity
)

// Table lists the layouts.
var Table = []Row{
	{Adapter: Scratch, Word: WordRoom, Says: roomToWork + "which holds nothing before a call"},
	{Adapter: Scratch, Fill: FillZero, Word: FillZero, Says: roomToWork + "filled with zeros before each " +
		"call"},
	{
		Adapter: Scratch, Fill: FillLowest, Word: FillLowest,
		Says: roomToWork + "filled with -infinity before each call",
	},
	{Adapter: Packed, Lies: WholeTensors, Says: "one after the other"},
	{Adapter: Packed, Lies: RowByRow, Word: "rows", Says: "beside each other in each row"},
	{Adapter: Wide, Word: EndTwice, Says: givenTwice + "[values, values]"},
	{
		Adapter: BSHD, Word: EndSwapped,
		Says: "$parameter is $size: $target is copied so, and the copy is timed",
	},
	{Adapter: BlockTotals, Says: "$parameter gets a value of each block: triad adds them up, and that is " +
		"timed"},
	{Adapter: Narrow, Says: "$parameter is int: $target is converted, and that is timed"},
}

// Row returns the row of a form; the zero row if the tensor lies as the operator has it.
func (f Adapted) Row() Row {
	i := slices.IndexFunc(Table, func(l Row) bool {
		return l.Adapter == f.Adapter && l.Fill == f.Fill && (l.Adapter != Packed || l.Lies == f.Lies)
	})
	if i < 0 {
		return Row{}
	}
	return Table[i]
}

// WithEnd returns the word of --map for tensors that lie in some way.
func WithEnd(tensors, end string) string {
	if end == "" {
		return tensors
	}
	return tensors + ":" + end
}

// PartsInWords returns the layout of several inputs in one buffer: "gate, up one after the other".
func (f Adapted) PartsInWords() string { return strings.Join(f.Parts, ", ") + " " + f.Row().Says }
