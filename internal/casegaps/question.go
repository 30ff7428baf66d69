// Package casegaps finds what the cases of an operator test in an implementation, and what they do not. It
// derives from the spec the mistakes that an implementation could make with an attribute, an input, an output
// or a size, and finds the cases on which each of them would show. A mistake that shows on no case is a
// question that no case asks.
package casegaps

import (
	"fmt"
	"slices"

	"triad/internal/op"
)

// Kind is a kind of mistake.
type Kind uint8

// The kinds of mistakes. The comments explain Subject and Value.
const (
	Attribute Kind = iota // an attribute that is taken to be Value: Default, Other, or a value of its own
	Strides               // an input that is read as if it were contiguous
	Offset                // an input that is read from the beginning of its memory
	Numbers               // an input whose numbers of the kind Value are read as others
	First                 // the first element of an output
	Last                  // its last element
	Period                // every 2^Power-th element of an output
	Above16               // elements of an output behind the first 65,536
	Index16               // a size whose indices are kept in 16 bits
	Multiple              // the last element of an output where the size Value is 32*n, and no power of two
	Threads               // the last element of an output where the size Value is more than a block's threads
	Ragged                // the last element of an output where the size Beside is 32*n, and Value is not
	HalfAway              // an output that is rounded half away from zero
	Sum16                 // an output whose sum over the size Value is kept in 16 bits
	Previous              // the outputs of the first call with these sizes
	Unwritten             // an optional output that is not written
	Confused              // an output that holds the values of the output Value
)

// Default and Other are values of a numeric attribute: its default, and a number close to the case's.
const (
	Default = "its default"
	Other   = "another number"
)

// Kinds of numbers in an input.
const (
	NaN         = "NaN"
	Infinity    = "infinity"
	NegInfinity = "-infinity"
	NegZero     = "-0"
	SignOfZero  = "-0, for 0"
	Repeated    = "equal neighbours"
	Large       = "numbers between 1e6 and 1e30"
)

// wraps is the number of indices that 16 bits hold.
const wraps = 1 << 16

// mostThreads is the largest number of threads of a block.
const mostThreads = 1024

// tileSide divides the sides of tiles in most kernels.
const tileSide = 32

// powers is the number of periods that are asked about, up to one element in 32,768.
const powers = 15

// Question is one mistake that an implementation could make in a pass.
type Question struct {
	Kind           Kind
	Subject, Value string
	Beside         string // the second size of Ragged
	Power          int
	// the subject is an optional output: an implementation without it cannot make the mistake
	OfOptional bool
}

// String returns the mistake in words. Within a pass no two questions have the same.
func (q Question) String() string {
	switch q.Kind {
	case Attribute:
		return fmt.Sprintf("%s is always %s", q.Subject, q.Value)
	case Strides, Offset:
		return fmt.Sprintf("the %s of %s %s ignored", []string{"strides", "offset"}[q.Kind-Strides],
			q.Subject, []string{"are", "is"}[q.Kind-Strides])
	case Numbers:
		return fmt.Sprintf("%s is wrong on %s", q.Subject, q.Value)
	case First, Last:
		which := []string{"first", "last"}[q.Kind-First]
		return fmt.Sprintf("the %s element of %s is wrong", which, q.Subject)
	case Period:
		return fmt.Sprintf("every 2^%d-th element of %s is wrong", q.Power, q.Subject)
	case Above16:
		return fmt.Sprintf("elements of %s above 65,535 are wrong", q.Subject)
	case Index16:
		return fmt.Sprintf("%s is counted in 16 bits", q.Subject)
	case Multiple:
		return fmt.Sprintf("%s is wrong where %s is a multiple of 32 and no power of two", q.Subject, q.Value)
	case Threads:
		return fmt.Sprintf("%s is wrong where %s is above 1,024", q.Subject, q.Value)
	case Ragged:
		return fmt.Sprintf("%s is wrong where %s is a multiple of 32 and %s is none", q.Subject, q.Beside,
			q.Value)
	case HalfAway:
		return q.Subject + " is rounded half away from zero"
	case Sum16:
		return fmt.Sprintf("%s is summed over %s in 16 bits", q.Subject, q.Value)
	case Previous:
		return "an earlier output of the same sizes is returned"
	case Unwritten:
		return q.Subject + " is not written"
	case Confused:
		return fmt.Sprintf("%s holds %s", q.Subject, q.Value)
	}
	return "unknown"
}

// Cases are cases of one pass and dtype of an operator.
type Cases struct {
	Spec  *op.Spec
	Pass  op.Pass
	DType string
	List  []op.Case
}

// Questions returns the mistakes that the spec lets an implementation make in these cases.
func (c Cases) Questions() ([]Question, error) {
	if len(c.List) == 0 {
		return nil, fmt.Errorf("ask about %s: there are no cases", c.Spec.Name)
	}
	first := c.List[0]
	inputs, err := c.Spec.Inputs(first)
	if err != nil {
		return nil, err
	}
	outputs, err := c.Spec.Outputs(first)
	if err != nil {
		return nil, err
	}
	all := c.ofAttributes()
	bits := c.Spec.DefaultContract(c.DType) == "exact"
	for _, t := range inputs {
		if _, saved := c.Spec.Output(t.Name); !saved || c.Pass == op.Forward {
			all = append(all, ofInput(t, bits)...)
		}
	}
	for i, t := range outputs {
		all = append(all, ofOutput(t, c.largest(t.Name))...)
		if !bits && c.is16(t.Name) {
			all = append(all, Question{Kind: HalfAway, Subject: t.Name, OfOptional: t.Optional})
		}
		all = append(all, c.ofSums(inputs, t)...)
		if j := partner(outputs, i); j != i && (t.Optional || slices.Equal(t.Sizes, outputs[j].Sizes)) {
			all = append(all, Question{
				Kind: Confused, Subject: t.Name, Value: outputs[j].Name,
				OfOptional: t.Optional,
			})
		}
	}
	for _, d := range c.Spec.Dims {
		if c.allows(d.Name, wraps+1) {
			all = append(all, Question{Kind: Index16, Subject: d.Name})
		}
		if isRow(inputs, d.Name) {
			all = append(all, Question{Kind: Multiple, Subject: outputs[0].Name, Value: d.Name})
		}
		if c.allows(d.Name, mostThreads+1) {
			all = append(all, Question{Kind: Threads, Subject: outputs[0].Name, Value: d.Name})
		}
	}
	for _, sides := range c.matrices(slices.Concat(inputs, outputs)) {
		all = append(all, Question{
			Kind: Ragged, Subject: outputs[0].Name, Value: sides[0], Beside: sides[1],
		})
	}
	all = append(all, Question{Kind: Previous})
	return all, nil
}

// matrices returns the sizes that are the last two of a tensor, in both orders, each pair once.
func (c Cases) matrices(tensors []op.TensorType) (all [][2]string) {
	isDim := func(size string) bool {
		return slices.ContainsFunc(c.Spec.Dims, func(d op.DimSpec) bool { return d.Name == size })
	}
	for _, t := range tensors {
		n := len(t.Sizes)
		if n < 2 || !isDim(t.Sizes[n-1]) || !isDim(t.Sizes[n-2]) {
			continue
		}
		for _, sides := range [][2]string{{t.Sizes[n-2], t.Sizes[n-1]}, {t.Sizes[n-1], t.Sizes[n-2]}} {
			if sides[0] != sides[1] && !slices.Contains(all, sides) {
				all = append(all, sides)
			}
		}
	}
	return all
}

// allows reports whether the spec takes a value of a size in some case.
func (c Cases) allows(size string, value int64) bool {
	return slices.ContainsFunc(c.List, func(x op.Case) bool {
		sizes, attributes := sizesOf(x), map[string]string{}
		sizes[size] = value
		for _, a := range x.Attrs {
			attributes[a.Name] = a.Text
		}
		_, _, err := c.Spec.Resolve(sizes, attributes)
		return err == nil
	})
}

// isRow reports whether a size is the row length of a matrix.
func isRow(inputs []op.TensorType, size string) bool {
	return slices.ContainsFunc(inputs, func(t op.TensorType) bool {
		n := len(t.Sizes)
		return n >= 2 && t.Sizes[n-1] == size
	})
}

// partner returns the output that an output may be confused with: the next of its dtype.
func partner(outputs []op.TensorType, i int) int {
	for step := range outputs {
		j := (i + step + 1) % len(outputs)
		if outputs[j].DType == outputs[i].DType {
			return j
		}
	}
	return i
}

// ofAttributes returns the questions of whether the cases distinguish each value of an attribute from every
// other. Where an attribute determines the number of elements of a tensor, no implementation can take another
// value for it.
func (c Cases) ofAttributes() []Question {
	var all []Question
	for _, a := range c.Spec.Attributes {
		values := []string{Default, Other}
		switch a.Type {
		case "bool":
			values = []string{"false", "true"}
		case "enum":
			values = a.Values
		}
		for _, v := range values {
			q := Question{Kind: Attribute, Subject: a.Name, Value: v}
			if !slices.ContainsFunc(c.List, func(x op.Case) bool {
				other, differs := q.attributed(c.Spec, x)
				return differs && hasElements(c.Spec, x) && !sameElements(c.Spec, x, other)
			}) {
				all = append(all, q)
			}
		}
	}
	return all
}

func ofInput(t op.TensorType, bits bool) []Question {
	var all []Question
	if t.Strided {
		if !single(t) {
			all = append(all, Question{Kind: Strides, Subject: t.Name})
		}
		all = append(all, Question{Kind: Offset, Subject: t.Name})
	}
	for _, v := range numbersOf(t, bits) {
		all = append(all, Question{Kind: Numbers, Subject: t.Name, Value: v})
	}
	return all
}

// single reports whether a tensor always has one element.
func single(t op.TensorType) bool {
	return !slices.ContainsFunc(t.Sizes, func(size string) bool { return size != "1" })
}

// numbersOf returns the kinds of numbers that an input may hold, by its dtype and the rule that makes it.
func numbersOf(t op.TensorType, bits bool) []string {
	fill, err := op.ParseFill(t.Fill)
	if err != nil || t.DType == op.E2M1x2 || !drawn(fill.Kind) {
		return nil
	}
	var kinds []string
	if !single(t) {
		kinds = append(kinds, Repeated)
	}
	if !t.DType.IsFloat() {
		return kinds
	}
	kinds = append(kinds, NaN, NegZero)
	if bits {
		kinds = append(kinds, SignOfZero)
	}
	if t.DType != op.E4M3 {
		kinds = append(kinds, Infinity, NegInfinity)
	}
	if t.DType == op.FP32 || t.DType == op.BF16 {
		kinds = append(kinds, Large)
	}
	return kinds
}

// drawn reports whether a fill draws numbers that may be any of its dtype. Offsets increase, tables of
// cosines and scales follow from other inputs, and masks, classes and lengths have numbers of their own.
func drawn(kind string) bool {
	switch kind {
	case "", "addend", "weight", "bias", "digits", "quantize":
		return true
	}
	return false
}

// largest returns the largest number of elements that a tensor has in the cases.
func (c Cases) largest(name string) int64 {
	largest := int64(0)
	for _, x := range c.List {
		largest = max(largest, TypesOf(c.Spec, x)[name].Elements())
	}
	return largest
}

// ofOutput returns a question for each period that some case has elements for: Above16 is about more
// elements.
func ofOutput(t op.TensorType, largest int64) []Question {
	about := Question{Subject: t.Name, OfOptional: t.Optional}
	add := func(all []Question, kind Kind, power int) []Question {
		q := about
		q.Kind, q.Power = kind, power
		return append(all, q)
	}
	all := add(nil, Last, 0)
	if !single(t) {
		all = add(all, First, 0)
		for power := 1; power <= powers && 1<<power <= largest; power++ {
			all = add(all, Period, power)
		}
		all = add(all, Above16, 0)
	}
	if t.Optional {
		all = add(all, Unwritten, 0)
	}
	return all
}

// is16 reports whether some case has an output of 16 bits.
func (c Cases) is16(output string) bool {
	return slices.ContainsFunc(c.List, func(x op.Case) bool {
		return slices.ContainsFunc(outputsOf(c.Spec, x), func(t op.TensorType) bool {
			return t.Name == output && has16Bits(t.DType)
		})
	})
}

func has16Bits(d op.DType) bool { return d == op.FP16 || d == op.BF16 }

// ofSums returns questions about the sizes that inputs of numbers have and the output has not.
func (c Cases) ofSums(inputs []op.TensorType, output op.TensorType) []Question {
	var all []Question
	if output.Given || output.DType.IsFloat() && c.Spec.DefaultContract(c.DType) == "exact" {
		return nil // it chooses or moves
	}
	for _, d := range c.Spec.Dims {
		if Mentions(output.Sizes, d.Name) || !slices.ContainsFunc(inputs, func(t op.TensorType) bool {
			return Summed(t) && slices.Contains(t.Sizes, d.Name)
		}) {
			continue
		}
		all = append(all, Question{
			Kind: Sum16, Subject: output.Name, Value: d.Name,
			OfOptional: output.Optional,
		})
	}
	return all
}

// Summed reports whether an input holds numbers that may be added up.
func Summed(t op.TensorType) bool {
	fill, err := op.ParseFill(t.Fill)
	return err == nil && t.DType != op.E2M1x2 && t.DType != op.Bool && drawn(fill.Kind)
}
