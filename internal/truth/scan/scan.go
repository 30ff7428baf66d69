// Package scan is the family of running sums: output i is the sum of a term over all places up to i, or
// before i where an attribute asks for that. An operator states the term, as an elementwise formula; truth,
// the error bound of each prefix, the exact cases and relations follow. Package scantest derives mutants and
// right variants. Sums are in fp32, outside tensor cores; those of integers, where an operator states them,
// wrap.
package scan

import (
	"fmt"
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/elementwise"
)

// Operator describes an operator of this family.
type Operator struct {
	Output    string
	Term      elementwise.Formula // of the inputs at one place
	Exclusive string              // the boolean attribute that leaves the place itself out; "": none does
	Permits   []string
	Linear    []string // inputs that double the sums when they are doubled

	// Whole returns the term of the integers at one place; nil: the operator takes none.
	Whole func(in []int64) int64
}

// operators are the registered operators, by name.
var operators = map[string]Operator{}

// Register registers an operator's truth and its relations: var _ = Register("prefix_sum", Operator{...}).
func Register(name string, o Operator) struct{} {
	operators[name] = o
	truth.Register(name, truth.Definition{Forward: o.forward, Permits: o.Permits, ByRows: []string{"n"}})
	truth.Relate(name, o.relations()...)
	return struct{}{}
}

// Get returns a registered operator.
func Get(name string) (Operator, bool) {
	o, ok := operators[name]
	return o, ok
}

// LeavesOut reports whether output i of a case leaves out the term at i.
func (o Operator) LeavesOut(attributes op.Attrs) bool {
	return o.Exclusive != "" && attributes.Text(o.Exclusive) == "true"
}

// forward computes the figures of every row of truth.FlatRow terms, then the sum before each row, and the
// outputs of a row from there.
func (o Operator) forward(k *truth.Request) ([]judge.Target, error) {
	names, err := elementwise.Inputs(k.Case)
	if err != nil {
		return nil, err
	}
	if _, err := k.Rank(names[0], 1); err != nil {
		return nil, err
	}
	in, err := k.Rows(names...)
	if err != nil {
		return nil, err
	}
	if !in.Tensors[0].DType.IsFloat() {
		return o.wholeTarget(k, in.Tensors)
	}
	e, err := elementwise.NewTerm(k, o.Term, names, in.Tensors[0].DType)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Output, err)
	}
	return []judge.Target{o.target(k, e, in.Tensors)}, nil
}

// running is the sum of some terms: sim is the sum under the simulated contract.
type running struct {
	truth.Terms
	sim float64
}

func (s running) with(o running) running { return running{s.Terms.With(o.Terms), s.sim + o.sim} }

func (o Operator) target(k *truth.Request, e *elementwise.Evaluation, in []tensor.Tensor) judge.Target {
	d, n := in[0].DType, in[0].Elements()
	before := make([]running, (n+truth.FlatRow-1)/truth.FlatRow+1)
	truth.EachRowWith(nil, int64(len(before)-1), e.TermRows(), func(own *elementwise.TermRow, r, _ int64) {
		terms := e.Terms(own, in, r*truth.FlatRow, int(min(truth.FlatRow, n-r*truth.FlatRow)))
		before[r+1] = running{truth.TermsOf(terms), truth.Sum(terms.Sim)}
	})
	for r := range before[1:] {
		before[r+1] = before[r+1].with(before[r])
	}
	t := k.FlatTarget(o.Output, d, n)
	t.Exact = k.ExactSums(before[len(before)-1].Terms)
	leavesOut := o.LeavesOut(k.Attrs)
	truth.FillFlat(k, t, e.TermRows(), func(own *elementwise.TermRow, first int64, out truth.Row) {
		terms, sum := e.Terms(own, in, first, len(out.R)), before[first/truth.FlatRow]
		for i, r := range terms.R {
			next := sum.with(running{truth.Terms{
				N: 1, Sum: r, Abs: math.Abs(r), Square: r * r, Off: terms.T[i], OffFP32: terms.TFP32[i],
			}, terms.Sim[i]})
			if !leavesOut {
				sum = next
			}
			out.R[i], out.Sim[i] = sum.Sum, sum.sim
			if !t.Exact {
				out.T[i], out.TFP32[i] = k.SumError(sum.Terms)
			}
			sum = next
		}
		truth.RoundRow(out.Sim, out.Sim, d)
	})
	return t
}
