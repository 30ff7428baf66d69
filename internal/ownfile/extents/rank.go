package extents

import (
	"fmt"
	"slices"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/layout"
	"triad/internal/ownfile/pyfacts"
)

// TakeRank gives a Python function tensors of the rank that its lines show: without the first size, if that
// has no parameter and is 1 by default or counts rows, or with additional leading ones, which are 1.
func TakeRank(b *binding.Binding) {
	said, rank := StatedRank(b)
	if b.Function.Kind != cfacts.Python || b.Function.Form == binding.KernelForm || said == 0 ||
		len(b.Options.Without) > 0 || said == rank || b.TakesSizes() {
		return
	}
	first, _ := Shape(b, b.InputSpecs[0])[0].(string)
	heads := withoutHeads(b)
	switch {
	case said == rank-1 && givesNone(b, heads):
		b.Options.Without = heads
	case said > rank && (said == rank+1 && rank <= 2 || rank == 1):
		b.Options.Leading = said - rank
	case said == 1 && rank == 2 && !b.GivesSize(first), said == rank-1 && defaultsToOne(b, first):
		b.Options.Without = []string{first}
	}
}

// defaultsToOne reports whether a size without a parameter is 1 by default.
func defaultsToOne(b *binding.Binding, dim string) bool {
	return !b.GivesSize(dim) && slices.ContainsFunc(b.Spec.Dims, func(d op.DimSpec) bool {
		return d.Name == dim && d.Default == "1"
	})
}

// givesNone reports whether there are such sizes and the function has no parameter for any of them.
func givesNone(b *binding.Binding, sizes []string) bool {
	return len(sizes) > 0 && !slices.ContainsFunc(sizes, b.GivesSize)
}

// withoutHeads returns the sizes missing from tensors of a batch without heads, if an operator has both: each
// part of the batch is treated like a head.
func withoutHeads(b *binding.Binding) []string {
	if flat := b.Spec.Own.Flat; b.Spec.Own.TokenSize != "" && len(flat) > 1 {
		return flat[1:]
	}
	return nil
}

// StatedRank returns the rank that the function's lines give its first tensor and the operator's rank. said
// is 0 if the lines say nothing or contradict each other.
func StatedRank(b *binding.Binding) (said, rank int) {
	first := slices.IndexFunc(b.Args, func(a binding.Argument) bool {
		return a.Role == binding.Input && a.Index == 0 && a.Adapter == layout.AsItLies &&
			a.Place == cfacts.InCall
	})
	if rank = len(Shape(b, b.InputSpecs[0])); first < 0 || rank == 0 {
		return 0, rank
	}
	if said = rankStatedBy(b, b.Function, b.Args[first].Name, rank, AsksDepth); said == 0 {
		said = rankOfOthers(b, rank)
	}
	return max(said, 0), rank
}

// rankOfOthers returns the rank that the lines give another tensor of the same first size and rank, 0 if they
// say nothing or contradict each other: "a.view(-1, a.shape[-1])" takes an a of any rank.
func rankOfOthers(b *binding.Binding, rank int) (said int) {
	like := Shape(b, b.InputSpecs[0])
	for _, a := range b.Args {
		if a.Role != binding.Input || a.Index == 0 || a.Adapter != layout.AsItLies ||
			a.Place != cfacts.InCall {
			continue
		}
		shape := Shape(b, b.InputSpecs[a.Index])
		if len(shape) != rank || shape[0] != like[0] || b.InputSpecs[a.Index].Optional {
			continue
		}
		n := rankStatedBy(b, b.Function, a.Name, rank, AsksDepth)
		if n < 0 || n > 0 && said > 0 && n != said {
			return 0
		}
		said = max(said, n)
	}
	return said
}

// rankStatedBy returns the rank that the lines of a function give a tensor, 0 if they say nothing, -1 if they
// contradict each other. If the function itself says nothing, functions of the file that receive the tensor
// are examined.
func rankStatedBy(b *binding.Binding, fn cfacts.Function, name string, rank, depth int) (said int) {
	asked := fn.FactsOf(name)
	if said = asked.Rank; said == 0 && depth > 0 {
		said = rankStatedInside(b, fn, asked.Handed, rank, depth)
	}
	if said == 0 && asked.Reach > rank { // a size beyond the operator's is queried, whatever is given
		return asked.Reach
	}
	return said
}

// rankStatedInside returns the rank that functions of the file give a tensor that a function passes to them.
func rankStatedInside(b *binding.Binding, fn cfacts.Function, handed []pyfacts.Handed, rank, depth int) int {
	for _, h := range handed {
		other, param := handedTo(b, fn, h)
		if other == nil || other.Form == binding.KernelForm || other.Form == binding.ModuleForm {
			continue
		}
		if n := rankStatedBy(b, *other, param, rank, depth-1); n != 0 {
			return n
		}
	}
	return 0
}

// Leading returns the number of leading ones that a tensor of these sizes gets. Vectors next to a matrix get
// none, and two factors of a size take the place of one.
func Leading(b *binding.Binding, sizes []any) int {
	if rank := len(Shape(b, b.InputSpecs[0])); b.Options.Leading == 0 || len(sizes) == 0 ||
		rank > 1 && len(sizes) < 2 || rank == 1 && !b.IsDim(fmt.Sprint(sizes[0])) {
		return 0
	}
	if len(sizes) == 1 && HasFactors(b, fmt.Sprint(sizes[0])) {
		return b.Options.Leading - 1
	}
	return b.Options.Leading
}

// PerhapsWithout lists the sizes that the tensors of a Python function without sizes may lack.
func PerhapsWithout(b *binding.Binding) (all [][]string) {
	if b.Function.Kind != cfacts.Python || b.TakesSizes() || b.Options.Said != nil {
		return nil
	}
	shape := Shape(b, b.InputSpecs[0])
	if first, _ := shape[0].(string); len(shape) > 2 && defaultsToOne(b, first) {
		all = append(all, []string{first})
	}
	for _, sizes := range [][]string{b.Spec.Own.Flat, withoutHeads(b)} {
		if givesNone(b, sizes) {
			all = append(all, sizes)
		}
	}
	return slices.DeleteFunc(all, func(sizes []string) bool { return slices.Equal(sizes, b.Options.Without) })
}
