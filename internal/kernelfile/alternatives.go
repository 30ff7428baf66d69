package kernelfile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
)

// Alternative is another interpretation of a function, one that a user may ask for: Flags are the words of
// the command line, Options holds nothing else.
type Alternative struct {
	Flags   string
	Options Options
	// what it changes is fixed by the operator's definition, such as a switch or an eps: it is proposed where
	// it is right, and never taken
	Attribute string
	Proposed  bool // so is another order or layout of tensors
}

// maxAlternatives bounds how many interpretations of one kind are tried.
const maxAlternatives = 24

// With returns the options with those of an alternative added.
func (o Options) With(a Alternative) Options {
	o.Map, o.Attrs = merged(o.Map, a.Options.Map), merged(o.Attrs, a.Options.Attrs)
	o.Dims = merged(o.Dims, a.Options.Dims)
	o.Grid, o.Block = cmp.Or(a.Options.Grid, o.Grid), cmp.Or(a.Options.Block, o.Block)
	o.Shared = cmp.Or(a.Options.Shared, o.Shared)
	if len(a.Options.Bound) > 0 {
		o.Bound = a.Options.Bound
	}
	if len(a.Options.Singles) > 0 {
		o.Singles = a.Options.Singles
	}
	if len(a.Options.Without) > 0 {
		o.Without = a.Options.Without
	}
	o.Flat, o.Square = o.Flat || a.Options.Flat, o.Square || a.Options.Square
	if len(a.Options.Only) > 0 {
		o.Only = a.Options.Only
	}
	o.Several = true // the other pass need not have such parameters
	return o
}

// merged returns a new map with the values of two; those of the second take precedence.
func merged[V any](a, b map[string]V) map[string]V {
	all := maps.Collect(maps.All(a))
	maps.Copy(all, b)
	return all
}

// Alternatives lists the other interpretations of what was assumed: the likely ones first, those that are
// only proposed last.
func (b *Binding) Alternatives() []Alternative {
	if b.Options.said != nil { // what the line leaves open
		return b.otherAttributes()
	}
	var all []Alternative
	launched, own := b.asLaunched()
	if own && !b.givesAnySize() { // its file alone says how many elements there are
		all = append(all, launched)
	}
	all = slices.Concat(all, b.reordered(Argument.isTensor),
		b.reordered(func(a Argument) bool { return a.Role == Size }), b.withSingles(),
		inOtherOrders(b.exchangeable()),
		b.otherAdapters(), b.otherSizes(), eachOf(b.perhapsWithout(), withoutSizes), b.perhapsOutputs())
	if b.mayBeFlat() {
		all = append(all, Alternative{Flags: "tensors of one dimension", Options: Options{Flat: true}})
	}
	all = append(all, b.asSquares()...)
	if ones := b.launchedSizes(); len(ones) > 0 {
		dims := map[string]int64{}
		for _, name := range ones {
			dims[name] = 1
		}
		flags := "--dims " + strings.Join(ones, "=1,") + "=1"
		all = append(all, Alternative{Flags: flags, Options: Options{Dims: dims}})
	}
	if b.Launch != nil && b.Launch.guessed && slices.Contains(b.Launch.proposed, "--shared") {
		flags := fmt.Sprintf("--shared %q", mostShared)
		all = append(all, Alternative{Flags: flags, Options: Options{Shared: mostShared}})
	}
	if own && b.givesAnySize() { // what the file does goes before what others do
		all = append(all, launched)
	}
	if b.Launch != nil && b.Launch.guessed && b.Options.Block == "" {
		for _, block := range []string{"1024", "128", "512", "64", "32", b.lastSize()} {
			if block != "1" { // a single thread cannot conflict with others
				flags := fmt.Sprintf("--block %q", block)
				all = append(all, Alternative{Flags: flags, Options: Options{Block: block}})
			}
		}
	}
	if other, is := b.rowOfABlock(); is {
		all = append(all, other)
	}
	return append(all, b.otherAttributes()...)
}

// perhapsOutputs returns the interpretations in which the result is written into a tensor that is an optional
// input of the operator: C of matmul(A, B, C), which is returned.
func (b *Binding) perhapsOutputs() (all []Alternative) {
	if !b.ReturnsTensors() {
		return nil
	}
	for _, a := range b.Args {
		if a.Role != Input || b.stated(a) {
			continue
		}
		shape, left := b.withoutSwitches(b.inputs[a.Index])
		for _, t := range b.outputs {
			if left && !b.has(Output, t.Name) && slices.Equal(plainSizes(b.shape(t)), shape) {
				all = append(all, mapped([]string{a.Name}, []string{t.Name}))
			}
		}
	}
	return all
}

// withoutSwitches returns the sizes of a tensor with all switches on, and whether a switch decides if it has
// elements: "batch * with_c".
func (b *Binding) withoutSwitches(t op.TensorSpec) (sizes []string, switched bool) {
	for _, size := range b.shape(t) {
		text := fmt.Sprint(size)
		for _, a := range b.Spec.Attributes {
			plain, found := strings.CutSuffix(text, " * "+a.Name)
			text, switched = plain, switched || found && a.Type == "bool"
		}
		sizes = append(sizes, text)
	}
	return sizes, switched
}

// plainSizes returns sizes as words.
func plainSizes(list []any) []string {
	return eachOf(list, func(size any) string { return fmt.Sprint(size) })
}

// mayBeFlat reports whether a Python function may expect tensors of one dimension: it takes its sizes as
// numbers, or all its tensors have the same shape, its lines show no rank, and it is more than torch's own
// operations, which know the rank.
func (b *Binding) mayBeFlat() bool {
	if b.Function.Kind != cfacts.Python || b.flat() || len(b.shape(b.inputs[0])) < 2 {
		return false
	}
	said, _ := b.statedRank()
	return b.takesSizes() || said == 0 && b.Function.Form != kernelForm && b.eachAlike() &&
		!b.UsesNothingOfItsFile()
}

// eachAlike reports whether all tensors of an operator have the same sizes.
func (b *Binding) eachAlike() bool {
	first := b.shape(b.inputs[0])
	return !slices.ContainsFunc(slices.Concat(b.inputs, b.outputs), func(t op.TensorSpec) bool {
		return !slices.Equal(b.shape(t), first) && !t.Optional
	})
}

// withoutSizes returns the interpretation in which tensors lack some sizes, which are 1.
func withoutSizes(sizes []string) Alternative {
	return Alternative{
		Flags: "tensors without " + strings.Join(sizes, ", "), Options: Options{Without: sizes},
	}
}

// reordered gives the guessed parameters of a kind their targets in every other order.
func (b *Binding) reordered(kind func(Argument) bool) []Alternative {
	_, guessed := b.guessedParameters()
	like := b.withLike(guessed)
	var names, targets []string
	for _, a := range b.Args {
		if (slices.Contains(guessed, a.Name) || a.isTensor() && slices.Contains(like, a.Name)) && kind(a) {
			names, targets = append(names, a.Name), append(targets, strings.ReplaceAll(a.Target, " ", ""))
		}
	}
	return inOtherOrders(names, targets)
}

// inOtherOrders gives parameters their targets in every other order.
func inOtherOrders(names, targets []string) (all []Alternative) {
	for _, order := range permutations(targets) {
		if !slices.Equal(order, targets) && len(all) < maxAlternatives {
			all = append(all, mapped(names, order))
		}
	}
	return all
}

// mapped returns the alternative that maps parameters to targets.
func mapped(names, targets []string) Alternative {
	words := map[string]string{}
	var text []string
	for i, name := range names {
		words[name] = targets[i]
		text = append(text, name+"="+targets[i])
	}
	return Alternative{Flags: "--map " + strings.Join(text, ","), Options: Options{Map: words}}
}

// permutations returns all orders of words, the given one first.
func permutations(words []string) [][]string {
	if len(words) < 2 || len(words) > 5 {
		return [][]string{words}
	}
	var all [][]string
	for i, first := range words {
		rest := slices.Delete(slices.Clone(words), i, i+1)
		all = append(all, eachOf(permutations(rest), func(order []string) []string {
			return append([]string{first}, order...)
		})...)
	}
	return all
}

// equates reports whether a target is several equal sizes, one of which has a parameter of its own: a
// function that takes m, n and k separately is not judged on squares alone.
func (b *Binding) equates(a Argument, target string) bool {
	sizes := strings.Split(strings.ReplaceAll(target, " ", ""), "=")
	return len(sizes) > 1 && slices.ContainsFunc(b.Args, func(other Argument) bool {
		return other.Role == Size && other.Name != a.Name && slices.Contains(sizes, other.Target)
	})
}

// otherSizes gives a guessed size each of the meanings that no other parameter has.
func (b *Binding) otherSizes() []Alternative {
	_, guessed := b.guessedParameters()
	square := b.allEqual()
	mayBeSide := square != "" && b.countSizes() == 1 && len(b.assumedSizes()) > 0
	var all []Alternative
	for _, a := range b.Args {
		open := slices.Contains(guessed, a.Name)
		if a.Role != Size || b.stated(a) || !open && !mayBeSide {
			continue
		}
		for _, target := range slices.Concat(b.Spec.SizesBeside(), dimNames(b.Spec)) {
			other := target != a.Target && (open || target == square)
			if other && !b.has(Size, target) && !b.equates(a, target) {
				all = append(all, mapped([]string{a.Name}, []string{strings.ReplaceAll(target, " ", "")}))
			}
		}
	}
	return all
}

// launchedSizes returns the sizes that only a guessed launch gives.
func (b *Binding) launchedSizes() []string {
	var all []string
	for _, d := range b.Spec.Dims {
		_, said := b.Options.Dims[d.Name]
		if l := b.Launch; l != nil && l.guessed && l.uses(d.Name) && !b.givesSize(d.Name) && !said {
			all = append(all, d.Name)
		}
	}
	return all
}

// mostShared is the shared memory that every kernel may have without asking, in bytes.
const mostShared = "49152"

// lastSize returns the last size of the first output: a thread for each column.
func (b *Binding) lastSize() string {
	if sizes := b.outputSizes(); len(sizes) > 0 {
		return sizes[len(sizes)-1]
	}
	return "1"
}

// otherAttributes gives each guessed attribute its other values, an eps those in the file.
func (b *Binding) otherAttributes() []Alternative {
	var all []Alternative
	for _, a := range b.Spec.Attributes {
		value := b.guessedAttribute(a)
		values := a.Values
		switch a.Type {
		case "bool":
			values = []string{"true", "false"}
		case "float":
			values = b.smallLiterals()
		}
		for _, v := range values {
			if value != "" && v != value {
				all = append(all, Alternative{
					Flags:   fmt.Sprintf("--attr %s=%s", a.Name, v),
					Options: Options{Attrs: map[string]string{a.Name: v}}, Attribute: a.Name,
				})
			}
		}
	}
	return all
}
