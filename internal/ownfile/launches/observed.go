package launches

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/extents"
	"triad/internal/ownfile/launchfit"
	"triad/internal/ownfile/layout"
	"triad/internal/ownfile/observed"
)

// foundLaunch is the file's own launch of a kernel, in the operator's sizes; a part that they cannot express
// is empty.
type foundLaunch struct {
	grid, block [3]string
	shared      string   // bytes
	oneBlock    bool     // of whatever sizes
	unsure      bool     // sizes that were equal there fit the grid alike
	blocks      [3]int64 // of the grid
	threads     [3]int64 // of the block
	// the numbers that the kernel's parameters are handed there, by their names
	handed   map[string]int64
	elements map[string]int64 // of what pointers point to there
}

// ownLaunch returns the first launch of the kernel by the file's main(), or nil if that was not observed to
// launch it.
func ownLaunch(k binding.Body) *foundLaunch {
	run := k.File.Observed()
	l := run.FirstLaunch(cfacts.LastName(k.B.Function.Name), len(k.B.Args))
	if l == nil {
		return nil
	}
	found := &foundLaunch{
		blocks: l.Grid, threads: l.Block, handed: map[string]int64{}, elements: map[string]int64{},
	}
	for i, a := range l.Arguments {
		if a.Kind == observed.Whole {
			found.handed[k.B.Args[i].Name] = a.Whole
		} else if room := run.Room(a); room > 0 {
			found.elements[k.B.Args[i].Name] = room / max(a.Bytes, 1)
		}
	}
	found.configure(k, l)
	return found
}

// configure expresses a launch in the operator's sizes. Of the grids that fit, that of the kernel's own lines
// goes first.
func (found *foundLaunch) configure(k binding.Body, l *observed.Launch) {
	fit := launchfit.Fit{
		Sizes: sizesThere(k, found), Order: likelySizes(k), Block: l.Block, Equal: extents.Equal(k.B),
	}
	all := l.Grid[0] * l.Grid[1] * l.Grid[2]
	for axis, n := range l.Block {
		found.block[axis] = fmt.Sprint(n)
	}
	for _, dim := range slices.Concat(fit.Order, slices.Sorted(maps.Keys(fit.Sizes))) { // a thread for each
		if all == 1 && fit.Sizes[dim] == l.Block[0] && l.Block[0] > 1 && l.Block[1]*l.Block[2] == 1 &&
			!uses(k, k.Tokens, "blockIdx", "x") &&
			!slices.ContainsFunc(binding.DimsOf(dim), func(d string) bool {
				return !k.B.GivesSize(d)
			}) {
			found.block[0] = dim
		}
	}
	other := *k.B
	other.Launch = &binding.Launch{Block: found.block}
	lines, said := grid(binding.Body{B: &other, File: k.File, Tokens: k.Tokens})
	found.shared = fit.Shared(l.Shared)
	if found.oneBlock = all == 1; all == 1 && fixedGrid(k, l) && !k.B.IsDim(found.block[0]) {
		return
	}
	// it is written for numbers, its file's or those of its main() alone
	if !k.B.GivesAnySize() {
		if ofNumbers(k) {
			found.grid = [3]string{fmt.Sprint(l.Grid[0]), fmt.Sprint(l.Grid[1]), fmt.Sprint(l.Grid[2])}
		}
		return
	}
	fits := func(axis int) bool {
		value, known := fit.Value(lines[axis])
		return l.Grid[axis] == 1 || known && value == l.Grid[axis]
	}
	// else the words of the launch say which of two equal sizes a side counts
	whole := fits(0) && fits(1) && fits(2)
	for axis, n := range l.Grid {
		fit.Axis, fit.Named = axis, sizesNamed(k, l, axis)
		text, sure := fit.Number(n)
		if fits(axis) && (whole || n == 1 || len(fit.Named) == 0 || !fit.IsOfOthers(lines[axis])) {
			text, sure = lines[axis], sure || said || n == 1
		}
		found.unsure = found.unsure || !sure
		if text == "" {
			found.grid = [3]string{}
			return
		}
		found.grid[axis] = text
	}
}

// sizesNamed lists the sizes whose variables a side of the grid is written with, as M in "(M + 31) / 32".
func sizesNamed(k binding.Body, l *observed.Launch, axis int) (named []string) {
	grid, _, names := k.File.LaunchWords(k.B.Function.Name, l.Line)
	if axis >= len(grid) || len(names) != len(k.B.Args) {
		return nil
	}
	for i, a := range k.B.Args {
		if a.Role == binding.Size && names[i] != "" && cfacts.HasTexts(grid[axis], names[i]) {
			named = append(named, binding.DimsOf(a.Target)...)
		}
	}
	return named
}

// ofNumbers reports whether the file, or the user, has a number for one of the operator's sizes.
func ofNumbers(k binding.Body) bool {
	return slices.ContainsFunc(k.B.Spec.Dims, func(d op.DimSpec) bool {
		_, constant := k.B.ConstantSize(k.File, d.Name)
		_, said := k.B.Options.Dims[d.Name]
		return constant || said
	})
}

// fixedGrid reports whether the file writes the grid of a launch as numbers: one block of as many as the
// author had elements for says nothing of others.
func fixedGrid(k binding.Body, l *observed.Launch) bool {
	grid, _, _ := k.File.LaunchWords(k.B.Function.Name, l.Line)
	return len(grid) > 0 && !slices.ContainsFunc(slices.Concat(grid...), func(t cfacts.Token) bool {
		_, number := number(k, t.Text)
		return t.Text == "/" || t.IsName() && !number
	})
}

// sizesThere returns the sizes of the operator at an observed launch, as far as they follow from the numbers
// that the kernel was given and from the extents of its tensors.
func sizesThere(k binding.Body, found *foundLaunch) map[string]int64 {
	type equation struct {
		factors []string
		value   int64
	}
	var all []equation
	for _, a := range k.B.Args {
		n, handed := found.handed[a.Name]
		switch {
		case a.Role == binding.Size && handed && strings.Contains(a.Target, "="):
			for _, dim := range binding.DimsOf(a.Target) {
				all = append(all, equation{[]string{dim}, n})
			}
		case a.Role == binding.Size && handed:
			all = append(all, equation{binding.DimsOf(a.Target), n})
		case (a.Role == binding.Input || a.Role == binding.Output) && a.Adapter == layout.AsItLies &&
			found.elements[a.Name] > 0:
			list := binding.PlainSizes(extents.Shape(k.B, k.B.Tensor(a)))
			all = append(all, equation{list, found.elements[a.Name]})
		}
	}
	for _, d := range k.B.Spec.Dims {
		if n, constant := k.B.ConstantSize(k.File, d.Name); constant {
			all = append(all, equation{[]string{d.Name}, n})
		}
	}
	sizes := map[string]int64{}
	for range all {
		for _, e := range all {
			open, left := []string{}, e.value
			for _, factor := range e.factors {
				n, known := sizes[factor]
				if number, err := strconv.ParseInt(factor, 10, 64); err == nil {
					n, known = number, true
				}
				switch {
				case known && n > 0 && left%n == 0:
					left /= n
				case !known && k.B.IsDim(factor):
					open = append(open, factor)
				default:
					left = 0
				}
			}
			if left > 0 && len(open) == 1 {
				sizes[open[0]] = left
			} else if left > 0 && len(open) == len(e.factors) { // only the product is known
				sizes[strings.Join(open, " * ")] = left
			}
		}
	}
	return sizes
}

// likelySizes lists the operator's sizes, those of the first output from its last one on first.
func likelySizes(k binding.Body) []string {
	order := binding.Those(OutputSizes(k.B), k.B.IsDim)
	slices.Reverse(order)
	for _, d := range k.B.Spec.Dims {
		if !slices.Contains(order, d.Name) {
			order = append(order, d.Name)
		}
	}
	return order
}
