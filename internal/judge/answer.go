package judge

import (
	"slices"

	"triad/internal/op"
	"triad/internal/tensor"
)

// Plan is the request to an implementation, decided before it runs.
type Plan struct {
	Outputs []op.TensorType // of the pass, in the order of the spec, dtype and shape resolved
	// the outputs the implementation declares to give; the required ones are always expected
	Gives            []string
	Nondeterministic []string // the outputs whose bits it declares to vary
	Launches         int      // at least two: one with each poison
}

// expects reports whether an output must come back.
func (p Plan) expects(t op.TensorType) bool { return !t.Optional || slices.Contains(p.Gives, t.Name) }

// Answer holds the results of a call: one entry for each launch that took place.
type Answer struct {
	Launches []Launch
	// Saved is the result of the implementation's own forward, given to a chained backward: truths may follow
	// from a choice among them.
	Saved []tensor.Tensor
}

// Launch is one launch into fresh, poisoned outputs, as the driver checked it. The zero value is a launch
// that fails every check.
type Launch struct {
	Poison          string // "a", "b" or tensor.Ordinary
	Order           string // schedule order, for the sentence; "": none
	InputsUnchanged bool   // the inputs' checksums afterwards are those before
	GuardsIntact    bool   // no byte next to a buffer changed
	// what happened to inputs or guards, in one clause, or why the frame is incomplete
	Fault   string
	Outputs []Returned
}

// Returned is one output of a launch. Shape and Stride are those of the tensor the implementation made; Data
// holds its elements in row-major order.
type Returned struct {
	Name    string
	Present bool // false: an optional output that was not given
	DType   op.DType
	Shape   []int64
	Stride  []int64
	Data    []byte
}

// find returns the output called name of a launch.
func (l Launch) find(name string) (Returned, bool) {
	for _, o := range l.Outputs {
		if o.Name == name {
			return o, true
		}
	}
	return Returned{}, false
}

// bytesOf returns the bytes of an output of one launch.
func (a Answer) bytesOf(name string, launch int) []byte {
	o, _ := a.Launches[launch].find(name)
	return o.Data
}

// inOneOrder reports whether an emulator ran all launches in the same schedule order.
func (a Answer) inOneOrder() bool {
	return a.Launches[0].Order != "" && !slices.ContainsFunc(a.Launches,
		func(l Launch) bool { return l.Order != a.Launches[0].Order })
}
