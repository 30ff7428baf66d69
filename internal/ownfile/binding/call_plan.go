package binding

import (
	"slices"

	"triad/internal/op"
)

// Call is one call of a pass of an operator. The function receives everything about it as words, which are
// numbers, so one library of a file serves every interpretation of its functions.
type Call struct {
	Inputs, Outputs []op.TensorType
	Gaps            []string // the inputs that are not contiguous
	Attributes      []float64
}

// Location is a byte offset into a tensor or the workspace; with noPlace it is a number.
type Location struct {
	Of, Index int
	Bytes     int64
}

// Slot is a value that a call passes at run time: a location or a number.
type Slot struct {
	Location
	Real float64
}

// Copied is a copy between two locations, or a fill with zeros: rows of fixed length, in three loops.
type Copied struct {
	To, From               Location
	Many, ToStep, FromStep [3]int64
	Bytes                  int64
}

// Plan holds the values and copies that the shim takes at run time. It grows while the shim is written, so
// interpretations with the same text differ only in it.
type Plan struct {
	Slots  []func(*Evaluation) Slot
	Copies []func(*Evaluation) []Copied
}

// Evaluation computes the values of one call.
type Evaluation struct {
	*Binding
	Call
	Unknown string // the first invalid expression, and why
}

// Named returns the index of a tensor in a list.
func Named(list []op.TensorSpec, name string) int {
	return slices.IndexFunc(list, func(t op.TensorSpec) bool { return t.Name == name })
}
