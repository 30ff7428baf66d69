package ownfile

import (
	"fmt"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/adapters"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/extents"
	"triad/internal/ownfile/launches"
	"triad/internal/ownfile/params"
)

// maxAlternatives bounds how many interpretations of one kind are tried.
const maxAlternatives = 24

// Alternatives lists the other interpretations of what was assumed: the likely ones first, those that are
// only proposed last.
func Alternatives(b *binding.Binding) []binding.Alternative {
	if b.Options.Said != nil { // what the line leaves open
		return otherAttributes(b)
	}
	var all []binding.Alternative
	launched, own := launches.AsLaunched(b)
	if own && !b.GivesAnySize() { // its file alone says how many elements there are
		all = append(all, launched)
	}
	all = slices.Concat(all, reordered(b, guessed(b, binding.Argument.IsTensor)),
		reordered(b, guessed(b, func(a binding.Argument) bool { return a.Role == binding.Size })),
		withSingles(b), inOtherOrders(extents.Exchangeable(b)), adapters.OtherAdapters(b), otherSizes(b),
		binding.EachOf(extents.PerhapsWithout(b), withoutSizes), perhapsOutputs(b))
	if mayBeFlat(b) {
		all = append(all,
			binding.Alternative{Flags: "tensors of one dimension", Options: binding.Options{Flat: true}})
	}
	all = append(all, extents.AsSquares(b)...)
	if ones := launchedSizes(b); len(ones) > 0 {
		dims := map[string]int64{}
		for _, name := range ones {
			dims[name] = 1
		}
		flags := "--dims " + strings.Join(ones, "=1,") + "=1"
		all = append(all, binding.Alternative{Flags: flags, Options: binding.Options{Dims: dims}})
	}
	if b.Launch != nil && b.Launch.Guessed && slices.Contains(b.Launch.Proposed, "--shared") {
		flags := fmt.Sprintf("--shared %q", mostShared)
		all = append(all, binding.Alternative{Flags: flags, Options: binding.Options{Shared: mostShared}})
	}
	if own && b.GivesAnySize() { // what the file does goes before what others do
		all = append(all, launched)
	}
	if b.Launch != nil && b.Launch.Guessed && b.Options.Block == "" {
		for _, block := range []string{"1024", "128", "512", "64", "32", launches.LastSize(b)} {
			if block != "1" { // a single thread cannot conflict with others
				flags := fmt.Sprintf("--block %q", block)
				all = append(all, binding.Alternative{Flags: flags, Options: binding.Options{Block: block}})
			}
		}
	}
	if other, is := launches.RowOfABlock(b); is {
		all = append(all, other)
	}
	return append(all, otherAttributes(b)...)
}

// perhapsOutputs returns the interpretations in which the result is written into a tensor that is an optional
// input of the operator: C of matmul(A, B, C), which is returned.
func perhapsOutputs(b *binding.Binding) (all []binding.Alternative) {
	if !ReturnsTensors(b) {
		return nil
	}
	for _, a := range b.Args {
		if a.Role != binding.Input || b.Stated(a) {
			continue
		}
		shape, left := withoutSwitches(b, b.InputSpecs[a.Index])
		for _, t := range b.OutputSpecs {
			if left && !b.Has(binding.Output, t.Name) &&
				slices.Equal(binding.PlainSizes(extents.Shape(b, t)), shape) {
				all = append(all, binding.Mapped([]string{a.Name}, []string{t.Name}))
			}
		}
	}
	return all
}

// withoutSwitches returns the sizes of a tensor with all switches on, and whether a switch decides if it has
// elements: "batch * with_c".
func withoutSwitches(b *binding.Binding, t op.TensorSpec) (sizes []string, switched bool) {
	for _, size := range extents.Shape(b, t) {
		text := fmt.Sprint(size)
		for _, a := range b.Spec.Attributes {
			plain, found := strings.CutSuffix(text, " * "+a.Name)
			text, switched = plain, switched || found && a.Type == "bool"
		}
		sizes = append(sizes, text)
	}
	return sizes, switched
}

// mayBeFlat reports whether a Python function may expect tensors of one dimension: it takes its sizes as
// numbers, or all its tensors have the same shape, its lines show no rank, and it is more than torch's own
// operations, which know the rank.
func mayBeFlat(b *binding.Binding) bool {
	if b.Function.Kind != cfacts.Python || b.Flat() || len(extents.Shape(b, b.InputSpecs[0])) < 2 {
		return false
	}
	said, _ := extents.StatedRank(b)
	return b.TakesSizes() || said == 0 && b.Function.Form != binding.KernelForm && eachAlike(b) &&
		!b.UsesNothingOfItsFile()
}

// eachAlike reports whether all tensors of an operator have the same sizes.
func eachAlike(b *binding.Binding) bool {
	first := extents.Shape(b, b.InputSpecs[0])
	return !slices.ContainsFunc(slices.Concat(b.InputSpecs, b.OutputSpecs), func(t op.TensorSpec) bool {
		return !slices.Equal(extents.Shape(b, t), first) && !t.Optional
	})
}

// withoutSizes returns the interpretation in which tensors lack some sizes, which are 1.
func withoutSizes(sizes []string) binding.Alternative {
	return binding.Alternative{
		Flags: "tensors without " + strings.Join(sizes, ", "), Options: binding.Options{Without: sizes},
	}
}

// guessed leaves of the parameters of a kind those whose meaning was guessed.
func guessed(b *binding.Binding, kind func(binding.Argument) bool) func(binding.Argument) bool {
	_, names := params.GuessedParameters(b)
	like := b.WithLike(names)
	return func(a binding.Argument) bool {
		return kind(a) && (slices.Contains(names, a.Name) || a.IsTensor() && slices.Contains(like, a.Name))
	}
}

// reordered gives the parameters of a kind their targets in every other order.
func reordered(b *binding.Binding, kind func(binding.Argument) bool) []binding.Alternative {
	var names, targets []string
	for _, a := range b.Args {
		if kind(a) {
			names, targets = append(names, a.Name), append(targets, strings.ReplaceAll(a.Target, " ", ""))
		}
	}
	return inOtherOrders(names, targets)
}

// inOtherOrders gives parameters their targets in every other order.
func inOtherOrders(names, targets []string) (all []binding.Alternative) {
	for _, order := range binding.Permutations(targets) {
		if !slices.Equal(order, targets) && len(all) < maxAlternatives {
			all = append(all, binding.Mapped(names, order))
		}
	}
	return all
}

// equates reports whether a target is several equal sizes, one of which has a parameter of its own: a
// function that takes m, n and k separately is not judged on squares alone.
func equates(b *binding.Binding, a binding.Argument, target string) bool {
	sizes := strings.Split(strings.ReplaceAll(target, " ", ""), "=")
	return len(sizes) > 1 && slices.ContainsFunc(b.Args, func(other binding.Argument) bool {
		return other.Role == binding.Size && other.Name != a.Name && slices.Contains(sizes, other.Target)
	})
}

// otherSizes gives a guessed size each of the meanings that no other parameter has. The only size of a
// function, if taken for the number of all elements, may be the side of a square.
func otherSizes(b *binding.Binding) []binding.Alternative {
	_, guessed := params.GuessedParameters(b)
	square := extents.AllEqual(b)
	single := square != "" && adapters.CountSizes(b) == 1
	var all []binding.Alternative
	for _, a := range b.Args {
		open := slices.Contains(guessed, a.Name)
		mayBeSide := single && (len(assumedSizes(b)) > 0 || strings.Contains(a.Target, "*"))
		if a.Role != binding.Size || b.Stated(a) || !open && !mayBeSide {
			continue
		}
		for _, target := range slices.Concat(b.Spec.SizesBeside(), binding.DimNames(b.Spec)) {
			other := target != a.Target && (open || target == square)
			if other && !b.Has(binding.Size, target) && !equates(b, a, target) {
				all = append(all,
					binding.Mapped([]string{a.Name}, []string{strings.ReplaceAll(target, " ", "")}))
			}
		}
	}
	return all
}

// launchedSizes returns the sizes that only a guessed launch gives.
func launchedSizes(b *binding.Binding) []string {
	var all []string
	for _, d := range b.Spec.Dims {
		_, said := b.Options.Dims[d.Name]
		if l := b.Launch; l != nil && l.Guessed && launches.Uses(l, d.Name) && !b.GivesSize(d.Name) && !said {
			all = append(all, d.Name)
		}
	}
	return all
}

// mostShared is the shared memory that every kernel may have without asking, in bytes.
const mostShared = "49152"

// otherAttributes gives each guessed attribute its other values, an eps those in the file.
func otherAttributes(b *binding.Binding) []binding.Alternative {
	var all []binding.Alternative
	for _, a := range b.Spec.Attributes {
		value := b.GuessedAttribute(a)
		values := a.Choices()
		if a.Type == "float" {
			values = smallLiterals(b)
		}
		for _, v := range values {
			if value != "" && v != value {
				all = append(all, binding.Alternative{
					Flags:   fmt.Sprintf("--attr %s=%s", a.Name, v),
					Options: binding.Options{Attrs: map[string]string{a.Name: v}}, Attribute: a.Name,
				})
			}
		}
	}
	return all
}
