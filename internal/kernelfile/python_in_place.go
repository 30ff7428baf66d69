package kernelfile

import (
	"fmt"
	"maps"
	"slices"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
)

// writesOver takes an input of a Python function that returns nothing and has no parameter for a result for
// the output in its place: the input that the spec pairs with it, else the first with the output's sizes and
// dtype that the function's lines change in place. The parameter gets the output, into which the input is
// copied before each call.
func (b *Binding) writesOver() {
	if b.Function.Kind != cfacts.Python || b.Function.Form != plainForm || b.Pass != op.Forward ||
		b.fills() ||
		b.each {
		return
	}
	over := map[int]int{} // by argument, the output
	for _, i := range b.required() {
		if b.leftOut(b.outputs[i]) {
			continue
		}
		at := b.changedLike(b.outputs[i], over)
		if at < 0 {
			return
		}
		over[at] = i
	}
	if b.Function.Parsed().Gives && !b.returnsWhatItChanges(over) {
		return
	}
	for at, i := range over {
		a := &b.Args[at]
		a.Over = a.Target
		a.Role, a.Target, a.Index = Output, b.outputs[i].Name, i
	}
}

// returnsWhatItChanges reports whether a function that changes arguments in place returns exactly these, each
// the one that the spec pairs with the output, and never another tensor of the name: a copy that it makes of
// an input that is not contiguous, say, occurs in some calls only.
func (b *Binding) returnsWhatItChanges(over map[int]int) bool {
	order := slices.SortedFunc(maps.Keys(over), func(x, y int) int { return over[x] - over[y] })
	var names []string
	for _, at := range order {
		a := b.Args[at]
		if b.Spec.Own.InPlace[b.outputs[over[at]].Name] != a.Target || b.Function.FactsOf(a.Name).Renamed {
			return false
		}
		names = append(names, a.Name)
	}
	return len(names) > 0 && slices.Equal(names, b.Function.Parsed().GivesBack)
}

// changedLike returns the argument in whose place an output may be written, or -1 if there is none.
func (b *Binding) changedLike(out op.TensorSpec, taken map[int]int) int {
	like := func(a Argument, pairs bool) bool {
		paired := b.Spec.Own.InPlace[out.Name] == a.Target
		if a.Role != Input || a.Adapter != AsItLies || a.Place != cfacts.InCall || pairs != paired {
			return false
		}
		in := b.inputs[a.Index]
		return in.DType == out.DType && fmt.Sprint(in.Shape) == fmt.Sprint(out.Shape) &&
			b.Function.FactsOf(a.Name).Changed
	}
	for _, pairs := range []bool{true, false} {
		for i, a := range b.Args {
			if _, has := taken[i]; !has && like(a, pairs) {
				return i
			}
		}
	}
	return -1
}
