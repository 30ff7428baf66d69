package kernelfile

import (
	"fmt"
	"slices"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/layout"
	"triad/internal/ownfile/pyfacts"
)

// takeRank gives a Python function tensors of the rank that its lines show: without the first size, if that
// has no parameter and is 1 by default or counts rows, or with additional leading ones, which are 1.
func (b *Binding) takeRank() {
	said, rank := b.statedRank()
	if b.Function.Kind != cfacts.Python || b.Function.Form == kernelForm || said == 0 ||
		len(b.Options.Without) > 0 || said == rank || b.takesSizes() {
		return
	}
	first, _ := b.shape(b.inputs[0])[0].(string)
	switch {
	case said > rank && (said == rank+1 && rank <= 2 || rank == 1):
		b.Options.Leading = said - rank
	case said == 1 && rank == 2 && !b.givesSize(first), said == rank-1 && b.defaultsToOne(first):
		b.Options.Without = []string{first}
	}
}

// defaultsToOne reports whether a size without a parameter is 1 by default.
func (b *Binding) defaultsToOne(dim string) bool {
	return !b.givesSize(dim) && slices.ContainsFunc(b.Spec.Dims, func(d op.DimSpec) bool {
		return d.Name == dim && d.Default == "1"
	})
}

// givesNone reports whether there are such sizes and the function has no parameter for any of them.
func (b *Binding) givesNone(sizes []string) bool {
	return len(sizes) > 0 && !slices.ContainsFunc(sizes, b.givesSize)
}

// withoutHeads returns the sizes missing from tensors of a batch without heads, if an operator has both: each
// part of the batch is treated like a head.
func (b *Binding) withoutHeads() []string {
	if flat := b.Spec.Own.Flat; b.Spec.Own.TokenSize != "" && len(flat) > 1 {
		return flat[1:]
	}
	return nil
}

// statedRank returns the rank that the function's lines give its first tensor and the operator's rank. said
// is 0 if the lines say nothing or contradict each other.
func (b *Binding) statedRank() (said, rank int) {
	first := slices.IndexFunc(b.Args, func(a Argument) bool {
		return a.Role == Input && a.Index == 0 && a.Adapter == layout.AsItLies && a.Place == cfacts.InCall
	})
	if rank = len(b.shape(b.inputs[0])); first < 0 || rank == 0 {
		return 0, rank
	}
	if said = b.rankStatedBy(b.Function, b.Args[first].Name, rank, asksDepth); said == 0 {
		said = b.rankOfOthers(rank)
	}
	return max(said, 0), rank
}

// rankOfOthers returns the rank that the lines give another tensor of the same first size and rank, 0 if they
// say nothing or contradict each other: "a.view(-1, a.shape[-1])" takes an a of any rank.
func (b *Binding) rankOfOthers(rank int) (said int) {
	like := b.shape(b.inputs[0])
	for _, a := range b.Args {
		if a.Role != Input || a.Index == 0 || a.Adapter != layout.AsItLies || a.Place != cfacts.InCall {
			continue
		}
		shape := b.shape(b.inputs[a.Index])
		if len(shape) != rank || shape[0] != like[0] || b.inputs[a.Index].Optional {
			continue
		}
		n := b.rankStatedBy(b.Function, a.Name, rank, asksDepth)
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
func (b *Binding) rankStatedBy(fn cfacts.Function, name string, rank, depth int) (said int) {
	asked := fn.FactsOf(name)
	if said = asked.Rank; said == 0 && depth > 0 {
		said = b.rankStatedInside(fn, asked.Handed, rank, depth)
	}
	if said == 0 && asked.Reach > rank { // a size beyond the operator's is queried, whatever is given
		return asked.Reach
	}
	return said
}

// rankStatedInside returns the rank that functions of the file give a tensor that a function passes to them.
func (b *Binding) rankStatedInside(fn cfacts.Function, handed []pyfacts.Handed, rank, depth int) int {
	for _, h := range handed {
		other, param := b.handedTo(fn, h)
		if other == nil || other.Form == kernelForm || other.Form == moduleForm {
			continue
		}
		if n := b.rankStatedBy(*other, param, rank, depth-1); n != 0 {
			return n
		}
	}
	return 0
}

// leading returns the number of leading ones that a tensor of these sizes gets. Vectors next to a matrix get
// none, and two factors of a size take the place of one.
func (b *Binding) leading(sizes []any) int {
	if rank := len(b.shape(b.inputs[0])); b.Options.Leading == 0 || len(sizes) == 0 ||
		rank > 1 && len(sizes) < 2 || rank == 1 && !b.isDim(fmt.Sprint(sizes[0])) {
		return 0
	}
	if len(sizes) == 1 && b.hasFactors(fmt.Sprint(sizes[0])) {
		return b.Options.Leading - 1
	}
	return b.Options.Leading
}

// perhapsWithout lists the sizes that the tensors of a Python function without sizes may lack.
func (b *Binding) perhapsWithout() (all [][]string) {
	if b.Function.Kind != cfacts.Python || b.takesSizes() || b.Options.said != nil {
		return nil
	}
	shape := b.shape(b.inputs[0])
	if first, _ := shape[0].(string); len(shape) > 2 && b.defaultsToOne(first) {
		all = append(all, []string{first})
	}
	for _, sizes := range [][]string{b.Spec.Own.Flat, b.withoutHeads()} {
		if b.givesNone(sizes) {
			all = append(all, sizes)
		}
	}
	return slices.DeleteFunc(all, func(sizes []string) bool { return slices.Equal(sizes, b.Options.Without) })
}
