package kernelfile

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"triad/internal/ownfile/cfacts"
)

// neverAsked returns the sizes that an extension, or a Python function that launches kernels, takes for
// equal, as one parameter for two would say: it never asks the tensors that have the second one for their
// sizes.
func (b *Binding) neverAsked() [][]string {
	host := b.extension && b.Function.Kind == cfacts.Host
	python := b.Function.Kind == cfacts.Python && (b.Function.Form == plainForm ||
		b.Function.Form == appliedTo)
	if !host && !python || !b.Function.ShowsSizes() || b.takesSizes() {
		return nil
	}
	var groups [][]string
	for _, target := range slices.Sorted(maps.Keys(b.Spec.Synonyms)) {
		dims := dimsOf(target)
		if !strings.Contains(target, "=") || len(dims) != 2 {
			continue
		}
		if !b.asksSize(dims[1]) && b.asksSize(dims[0]) {
			groups = append(groups, dims)
		}
	}
	return groups
}

// asksSize reports whether the function may learn a size: it asks a tensor that has it, or passes one on
// whole.
func (b *Binding) asksSize(dim string) bool {
	return slices.ContainsFunc(b.Args, func(a Argument) bool {
		if a.Role != Input || !slices.Contains(b.shape(b.tensor(a)), any(dim)) {
			return false
		}
		if b.Function.Kind == cfacts.Python {
			return b.pythonAsks(b.Function, a.Name, asksDepth)
		}
		place := slices.Index(b.shape(b.tensor(a)), any(dim))
		return a.TorchTensor && asksSizes(&b.Function, a.Name, place, len(b.shape(b.tensor(a))))
	})
}

// asksSizes reports whether the lines of a function ask a tensor of a given rank for its size at a place, or
// for all its sizes, or pass it on whole. Macros that check it do not count.
func asksSizes(fn *cfacts.Function, name string, place, rank int) bool {
	for i, t := range fn.Body {
		if t.Text != name || i+2 >= len(fn.Body) {
			continue
		}
		checks := i >= 2 && fn.Body[i-1].Text == "(" && strings.Contains(fn.Body[i-2].Text, "CHECK")
		next := fn.Body[i+1].Text
		if next != "." && !checks {
			return true
		}
		member := fn.Body[i+2].Text
		if member == "size" && i+5 < len(fn.Body) && fn.Body[i+5].Text == ")" { // of another place
			n, err := strconv.Atoi(fn.Body[i+4].Text)
			if err == nil && n != place && n < rank {
				continue
			}
		}
		if next == "." && (strings.HasPrefix(member, "size") || strings.Contains(member, "accessor") ||
			slices.Contains([]string{"numel", "dim", "ndimension", "view", "reshape"}, member)) {
			return true
		}
	}
	return false
}
