package kernelfile

import (
	"fmt"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
)

// goesWithout reports whether a PyTorch function that takes its sizes as numbers takes none for a size whose
// default is 1, such as a batch: its tensors then lack that size.
func (b *Binding) goesWithout(d op.DimSpec) bool {
	return b.Function.Kind == cfacts.Python && d.Default == "1" && b.takesSizes() && !b.givesSize(d.Name)
}

// hides reports whether tensors are passed without a size, which is 1.
func (b *Binding) hides(dim string) bool {
	return b.implied[dim] == 1 || slices.ContainsFunc(b.Spec.Dims, func(d op.DimSpec) bool {
		return d.Name == dim && b.goesWithout(d)
	})
}

// hasFactors reports whether a function is given two factors of a size: its tensors then have both as their
// sizes.
func (b *Binding) hasFactors(dim string) bool {
	return b.Options.Split == dim && dim != "" ||
		slices.ContainsFunc(b.Args, func(a Argument) bool { return a.Share > 0 && a.Target == dim })
}

// mostFactor is the largest of two factors at which a function is judged: an interpreter takes long to run a
// program for each of more rows.
const mostFactor = 1024

// MoreShapes returns sizes that a function is judged at in addition to the operator's. A Python function that
// is given two factors of a size gets some with two factors that are not multiples of a tile, and one that is
// a row: the operator's own are primes. One that takes a square gets a square larger than a tile: the
// operator's own have few rows. A kernel of one block gets a size that the block has threads for.
func (b *Binding) MoreShapes() (all []map[string]int64) {
	square := func(a Argument) bool { return a.Role == Size && strings.Contains(a.Target, "=") }
	if len(b.Spec.Dims) == 2 && b.Function.Kind == cfacts.Python && slices.ContainsFunc(b.Args, square) {
		all = append(all, map[string]int64{b.Spec.Dims[0].Name: 67, b.Spec.Dims[1].Name: 67})
	}
	all = append(all, b.sizesOfOneBlock()...)
	for _, d := range b.Spec.Dims {
		for _, n := range []int64{29 * 37, 63 * 65, 257} {
			if b.Function.Kind == cfacts.Python && len(b.Spec.Dims) == 1 && b.hasFactors(d.Name) {
				all = append(all, map[string]int64{d.Name: n})
			}
		}
	}
	return all
}

// whereFactorsAre returns the condition under which a size has two factors that a function is given.
func (b *Binding) whereFactorsAre() []condition {
	for _, d := range b.Spec.Dims {
		if b.hasFactors(d.Name) {
			return []condition{{
				fmt.Sprintf("factor(%s, 2) <= %d", pythonName(d.Name), mostFactor),
				fmt.Sprintf("its two sizes are factors of %s: it is judged where both are at most %d", d.Name,
					mostFactor),
			}}
		}
	}
	return nil
}

// pythonSquares returns the sizes whose square occurs in the lines of a Python function: "N * N", "N ** 2".
func pythonSquares(fn *cfacts.Function) map[string]bool {
	all := map[string]bool{}
	for _, p := range fn.Parsed().Params {
		all[p.Name] = all[p.Name] || p.Squared
	}
	return all
}
