package extents

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
)

// Equal returns the dims that share one parameter, group by group.
func Equal(b *binding.Binding) [][]string {
	var groups [][]string
	for _, a := range b.Args {
		if a.Role == binding.Size && strings.Contains(a.Target, "=") {
			groups = append(groups, binding.DimsOf(a.Target))
		}
	}
	for _, dims := range slices.Concat(neverAsked(b), namedAlike(b), b.SquareMasks()) {
		if !slices.ContainsFunc(groups, func(g []string) bool { return slices.Equal(g, dims) }) {
			groups = append(groups, dims)
		}
	}
	if b.Options.Square {
		groups = append(groups, SquareSizes(b))
	}
	return groups
}

// SomeTarget returns the condition that there is a target: libraries give 0 or NaN for a mean over none.
func SomeTarget(b *binding.Binding) (all []binding.Condition) {
	for _, t := range b.InputSpecs {
		if fill, _ := op.ParseFill(t.Fill); fill.Ignoring == "" || len(b.Spec.Own.NoTarget) == 0 {
			continue
		}
		for _, size := range Shape(b, t) {
			all = append(all, binding.Condition{
				Code: PythonExpression(fmt.Sprint(size)) + " >= 1", Sentence: binding.NoTarget,
			})
		}
	}
	return all
}

// neverAsked returns the sizes that an extension, or a Python function that launches kernels, takes for
// equal, as one parameter for two would say: it never asks the tensors that have the second one for their
// sizes.
func neverAsked(b *binding.Binding) [][]string {
	host := b.Extension && b.Function.Kind == cfacts.Host
	python := b.Function.Kind == cfacts.Python && (b.Function.Form == binding.PlainForm ||
		b.Function.Form == binding.AppliedTo)
	if !host && !python || !b.Function.ShowsSizes() || b.TakesSizes() {
		return nil
	}
	var groups [][]string
	for _, target := range slices.Sorted(maps.Keys(b.Spec.Synonyms)) {
		dims := binding.DimsOf(target)
		if !strings.Contains(target, "=") || len(dims) != 2 {
			continue
		}
		if !asksSize(b, dims[1]) && asksSize(b, dims[0]) {
			groups = append(groups, dims)
		}
	}
	return groups
}

// asksSize reports whether the function may learn a size: it asks a tensor that has it, or passes one on
// whole.
func asksSize(b *binding.Binding, dim string) bool {
	return slices.ContainsFunc(b.Args, func(a binding.Argument) bool {
		if a.Role != binding.Input || !slices.Contains(Shape(b, b.Tensor(a)), any(dim)) {
			return false
		}
		if b.Function.Kind == cfacts.Python {
			return PythonAsks(b, b.Function, a.Name, AsksDepth)
		}
		place := slices.Index(Shape(b, b.Tensor(a)), any(dim))
		return a.TorchTensor && AsksSizes(&b.Function, a.Name, place, len(Shape(b, b.Tensor(a))))
	})
}

// AsksSizes reports whether the lines of a function ask a tensor of a given rank for its size at a place, or
// for all its sizes, or pass it on whole. Macros that check it do not count.
func AsksSizes(fn *cfacts.Function, name string, place, rank int) bool {
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
