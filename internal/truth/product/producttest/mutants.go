// Package producttest derives the kernels that a product is scored with: right ones in several orders of
// their sums, and the bugs of products.
package producttest

import (
	"slices"
	"strings"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/truth/product"
	"triad/internal/truth/truthtest"
)

// The size of a tile of an emulated kernel, and the number of parts of a split sum.
const (
	tile   = 16
	splits = 4
)

// right are the kernels that must pass. The first is the one that mutants change.
var right = []truthtest.Arithmetic{
	{Order: truthtest.InSequence},
	{Order: truthtest.InSequence, Fused: true},
	{Order: truthtest.InLanes},
	{Block: tile},  // partial sums of a tile of k
	{Other: true},  // k split among blocks, the parts added in a fixed order
	{LowP: true},   // 16-bit operands on tensor cores: 16 products at once, aligned and cut
	{Form: scaled}, // alpha multiplies the first operand
}

// scaled is the form of an epilogue that multiplies an operand, where that is exact: by a power of two.
const scaled = 1

// Bugs by their names; the numbers are those of docs/judge.md.
const (
	bf16Accumulator  = "bf16 accumulator"
	fp16Accumulator  = "fp16 accumulator"
	kTail            = "k tail missing"
	kLast            = "last product missing"
	kTwice           = "k block twice"
	partLost         = "split-k part lost in one tile"
	partLow          = "split-k parts in bf16"
	rowTail          = "row tail not written"
	columnTail       = "column tail zero"
	transposedSquare = "second operand transposed where square"
	firstTransposed  = "first operand transposed where square"
	oneElement       = "one element 5 % off"
	alphaLarge       = "alpha 1.01 times too large"
	alphaMedium      = "alpha 1.001 times too large"
	alphaSmall       = "alpha 1.0003 times too large"
	notZeroed        = "accumulator not zeroed"
	throughFP8       = "operands through e4m3"
	throughTF32      = "tf32 for fp32"
	firstMatrix      = "second operand of the first matrix for all"
	alphaIgnored     = "alpha ignored"
	betaIgnored      = "beta ignored"
	addedAlways      = "c read where beta is 0"
	alphaOnBoth      = "alpha on what is added too"
	roundedEarly     = "product rounded before c is added"
)

// everywhere are the bugs of every product.
var everywhere = []string{
	bf16Accumulator, fp16Accumulator, kTail, kLast, kTwice, partLost, partLow, rowTail, columnTail,
	transposedSquare, oneElement, alphaLarge, alphaMedium, alphaSmall, notZeroed, throughFP8, throughTF32,
}

// Suites returns the suites of the passes of an operator whose operands have no scales.
func Suites(name string) []truthtest.Suite {
	spec, err := catalog.Get(name)
	if err != nil {
		panic(err) // a test's own mistake
	}
	operator, _ := product.Get(name)
	var all []truthtest.Suite
	for _, pass := range spec.Spec.Passes() {
		f := &family{operator: operator, pass: pass}
		all = append(all, truthtest.Suite{
			Op: name, Pass: pass, Right: right, Kernel: f.kernel,
			Mutants: f.mutants(operator.Products(pass, nil), spec.Spec),
		})
	}
	return all
}

// isVector reports whether an input has one dim.
func isVector(spec *op.Spec, name string) bool {
	t, ok := spec.Input(name)
	_, shapes := t.Sizes()
	return ok && len(shapes[""]) == 1
}

func hasDim(spec *op.Spec, name string) bool {
	for _, d := range spec.Dims {
		if d.Name == name {
			return true
		}
	}
	return false
}

// family scores one pass.
type family struct {
	operator product.Operator
	pass     op.Pass
}

// mutants returns the bugs that the products of a pass can have.
func (f *family) mutants(products []product.Product, spec *op.Spec) truthtest.Mutants {
	names := slices.Clone(everywhere)
	if isVector(spec, products[0].B.Tensor) {
		names[slices.Index(names, transposedSquare)] = firstTransposed
	}
	if products[0].Groups != "" {
		names = append(names, ofGroups...)
		if f.pass == op.Backward {
			names = append(names, emptyGroup)
		}
	}
	if hasDim(spec, "batch") {
		names = append(names, firstMatrix)
	}
	if products[0].Scaled {
		names = append(names, alphaIgnored)
	}
	if products[0].Added != "" {
		names = append(names, betaIgnored, addedAlways, alphaOnBoth, roundedEarly)
	}
	var all truthtest.Mutants
	for _, name := range names {
		all.Add(func(g truthtest.Group) string { return equivalent(name, g) }, name)
	}
	return all
}

// equivalent returns why a bug shows nothing in a group.
func equivalent(name string, g truthtest.Group) string {
	switch {
	case name == throughTF32 && g.Dtype != "fp32":
		return "16-bit numbers of 11 bits or fewer are tf32 numbers"
	case name == roundedEarly && g.Dtype == "fp32":
		return "the product is rounded to fp32 anyway"
	case strings.HasPrefix(g.Attribute, "with_") && g.Value == "false" &&
		(name == betaIgnored || name == addedAlways || name == alphaOnBoth || name == roundedEarly):
		return "nothing is added"
	case name == addedAlways && g.Attribute != "" && !strings.HasPrefix(g.Attribute, "with_"):
		return "what is added does not depend on it, and shows where a NaN in it meets beta = 0"
	}
	return ""
}
