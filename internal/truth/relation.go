package truth

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
)

// Relation is a property of an operator for all inputs: of one output (an invariant, which needs no further
// call), or between the outputs of two calls whose inputs are related (a metamorphic relation). Gate G6
// checks it. The files of the operators declare theirs: var _ = truth.Relate("scale", truth.Relation{...}).
type Relation struct {
	Name    string   // the property in words: "each row adds up to 1"
	Pass    op.Pass  //
	Outputs []string // that the relation covers
	// Applies reports whether the relation covers a case, beyond the conditions of every relation: outputs
	// with elements and a truth without NaN and infinities. nil: all of those. A relation between calls is
	// checked only on ordinary data in contiguous tensors.
	Applies func(c op.Case) bool
	// Base replaces inputs before both calls of a relation, where it holds only for special data (a sum that
	// must be exact); nil: the first call is the judged one. It is for forwards: the inputs of a backward
	// belong together.
	Base func(in Inputs) []tensor.Tensor
	// Second returns the second call: the inputs that differ from the first, and the case where its sizes or
	// attributes differ; nil: the relation is an invariant. first holds the outputs of the first call too.
	Second func(c op.Case, first Inputs) (op.Case, []tensor.Tensor)
	// SavedFollow: the tensors that a driver saved for a backward are computed again from the changed inputs.
	SavedFollow bool
	// OfSample: the invariant can be stated for a sample, of the elements that Target.Index names.
	OfSample bool
	// ToTheBit: the relation detects what no earlier gate does, an output that is right within its interval
	// but one ulp away from what the relation of two calls requires. A test checks that. A leak of masked
	// keys is the example.
	ToTheBit bool
	// States puts the relation into numbers for one of its outputs.
	States func(r *Related, output string) judge.Statement
}

// relations is filled by the operators' packages.
var relations = map[string][]Relation{}

// Relate declares relations of the operator called name.
func Relate(name string, declared ...Relation) struct{} {
	relations[name] = append(relations[name], declared...)
	return struct{}{}
}

// Relations lists the declared relations of an operator, in the order of the declarations.
func Relations(name string) []Relation { return slices.Clone(relations[name]) }

// RelationsOf lists the relations that apply to a case and its pass.
func RelationsOf(c op.Case) []Relation {
	switch c.Distribution {
	case "non_finite", "neg_inf_mask", "neg_inf_blocks", "extremes":
		// outputs that are not finite, or beyond the range in which errors are relative
		return nil
	}
	if c.Upstream == "huge" || c.Upstream == "non_finite" {
		return nil
	}
	var all []Relation
	for _, r := range relations[c.Op] {
		ordinary := c.Distribution == "normal" && c.Layout == "contiguous" &&
			(c.Upstream == "" || c.Upstream == "normal")
		if r.Pass == c.Pass && (r.Second == nil || ordinary) && (r.Applies == nil || r.Applies(c)) {
			all = append(all, r)
		}
	}
	return all
}

// Calls returns the number of calls of the implementation that the relation needs in addition to the judged
// one.
func (r Relation) Calls() int {
	switch {
	case r.Second == nil:
		return 0
	case r.Base == nil:
		return 1
	}
	return 2
}

// Inputs are tensors by name: the inputs of a call, and after it its outputs.
type Inputs []tensor.Tensor

// Get returns the tensor called name; the zero tensor where there is none.
func (in Inputs) Get(name string) tensor.Tensor {
	for _, t := range in {
		if t.Name == name {
			return t
		}
	}
	return tensor.Tensor{}
}

// With returns the tensors with some replaced, by name.
func (in Inputs) With(replaced []tensor.Tensor) Inputs {
	out := slices.Clone(in)
	for _, t := range replaced {
		if i := slices.IndexFunc(out, func(x tensor.Tensor) bool { return x.Name == t.Name }); i >= 0 {
			out[i] = t
		}
	}
	return out
}

// Call is one call of a relation. Given are the tensors that its truth is a function of (see Of), Gave the
// outputs that came back; Truth may be nil, and is then computed where it is needed.
type Call struct {
	Case  op.Case
	Given Inputs
	Gave  Inputs
	Truth func(contract string) (judge.Truth, error)
	// keeps what HoldParts computes for other calls on the same case; nil: nothing is kept
	Parts *PartTruths
}

// Next returns the case and the replaced inputs of the call that follows those done, the judged one first.
func (r Relation) Next(done []Call) (op.Case, []tensor.Tensor, error) {
	last := done[len(done)-1]
	if r.Base != nil && len(done) == 1 {
		return last.Case, r.Base(last.Given), nil
	}
	first := slices.Concat(last.Given, last.Gave)
	at, replaced := r.Second(last.Case, first)
	if !r.SavedFollow {
		return at, replaced, nil
	}
	replaced, err := withSaved(at, first, replaced)
	if err != nil {
		return at, nil, fmt.Errorf("make another call of %s, of which %s: %w", at.Op, r.Name, err)
	}
	return at, replaced, nil
}

// Hold evaluates the relation under a contract on the judged call and those from Next. Where an output's bits
// are declared to vary (nondeterministic), two calls need agree within the error bound only.
func (r Relation) Hold(contract string, calls []Call, nondeterministic []string) []judge.Relation {
	var all []judge.Relation
	for _, output := range r.Outputs {
		gave := calls[0].Gave.Get(output)
		if r.Second == nil && gave.Data == nil || slices.Contains(gave.Shape, 0) {
			continue // an optional output that was not given, or one without elements
		}
		held := judge.Relation{Name: r.Name, Output: output}
		a, err := relatedCalls(r, contract, calls, slices.Contains(nondeterministic, output))
		if err == nil {
			s, states := judge.Statement{}, r.States
			if a.undefined(output) {
				states = staysNaN
			}
			if s = states(a, output); a.err == nil {
				s.Output = output
				held = judge.Hold(r.Name, s)
			}
			err = a.err
			a.done()
		}
		if err != nil {
			held.Missing = err.Error()
		}
		all = append(all, held)
	}
	return all
}

// undefined reports whether an output has no defined value: its truth, given what the implementation
// returned, is NaN everywhere, as the mean of nothing may be.
func (a *Related) undefined(output string) bool {
	for _, call := range []*Answered{a.First, a.Second} {
		if call == nil {
			continue
		}
		r := call.Target(output).R
		if len(r) == 0 || slices.ContainsFunc(r, func(v float64) bool { return !math.IsNaN(v) }) {
			return false
		}
	}
	return true
}

// staysNaN states that every call returns NaN for an output without a number.
func staysNaN(a *Related, output string) judge.Statement {
	last := a.First
	if a.Second != nil {
		last = a.Second
	}
	y := last.Out(output)
	return judge.Statement{Shape: last.Target(output).Shape, N: int64(len(y)), At: func(i int64) judge.Claim {
		if math.IsNaN(y[i]) {
			return judge.Claim{Position: i}
		}
		return judge.Claim{Position: i, Got: y[i], Low: math.NaN(), High: math.NaN()}
	}}
}

// Related holds what a relation is stated from: the first call, and the second where it has one.
type Related struct {
	First, Second *Answered
	Rules         Contract
	Loose         bool // the output's bits may vary between calls
	based         bool // the first call is no judged one
	ofSample      bool // a truth of some elements is enough
	err           error
}

// Answered is one call with its values in fp64. An unknown name has no values, and the relation is not
// evaluated.
type Answered struct {
	op.Case
	call   Call
	truth  func() (judge.Truth, error) // computed where a relation needs it: not every call has one
	values map[string][]float64
	fail   func(error)
}

func relatedCalls(r Relation, contract string, calls []Call, loose bool) (*Related, error) {
	rules, err := ContractNamed(contract)
	if err != nil {
		return nil, err
	}
	if len(calls) != 1+r.Calls() {
		return nil, fmt.Errorf("%d of its %d calls took place", len(calls), 1+r.Calls())
	}
	a := &Related{Rules: rules, Loose: loose, based: r.Base != nil, ofSample: r.OfSample}
	first := len(calls) - 1
	if r.Second != nil {
		first--
		a.Second = a.answered(calls[first+1], contract)
	}
	a.First = a.answered(calls[first], contract)
	return a, nil
}

func (a *Related) answered(c Call, contract string) *Answered {
	compute := c.Truth
	if compute == nil {
		compute = func(contract string) (judge.Truth, error) { return Of(c.Case, contract, c.Given, nil) }
	}
	truth := sync.OnceValues(func() (judge.Truth, error) {
		t, err := compute(contract)
		if err != nil {
			return t, err
		}
		t = t.Under(func(name string) []byte { return c.Gave.Get(name).Data })
		for _, target := range t.Outputs {
			if target.Index != nil && !a.ofSample || target.Rows != nil {
				return t, errors.New("its truth is not that of every element")
			}
		}
		return t, nil
	})
	return &Answered{
		Case: c.Case, call: c, truth: truth, values: map[string][]float64{},
		fail: func(err error) {
			if a.err == nil {
				a.err = err
			}
		},
	}
}

// In returns an input's values, row-major.
func (a *Answered) In(name string) []float64 { return a.decoded("in ", a.call.Given, name) }

// Out returns an output's values, row-major.
func (a *Answered) Out(name string) []float64 { return a.decoded("out ", a.call.Gave, name) }

func (a *Answered) decoded(kind string, from Inputs, name string) []float64 {
	if v, ok := a.values[kind+name]; ok {
		return v
	}
	t := from.Get(name)
	if t.Data == nil {
		a.fail(fmt.Errorf("there is no %s%s", kind, name))
		return nil
	}
	v := t.LentFloat64s()
	a.values[kind+name] = v
	return v
}

// done returns the values to their pool: nothing reads them any more.
func (a *Related) done() {
	for _, call := range []*Answered{a.First, a.Second} {
		if call == nil {
			continue
		}
		for _, v := range call.values {
			tensor.GiveBack(v)
		}
		call.values = nil
	}
}

// Target returns the truth of an output; one without elements where there is none.
func (a *Answered) Target(output string) judge.Target {
	truth, err := a.truth()
	if err != nil {
		a.fail(err)
		return judge.Target{}
	}
	for _, t := range truth.Outputs {
		if t.Name == output {
			return t
		}
	}
	a.fail(fmt.Errorf("there is no truth of %s", output))
	return judge.Target{}
}

// Error returns the largest distance of each stored element of an output from its exact value: its error
// bound plus half an ulp of the stored value.
func (a *Answered) Error(output string) func(i int64) float64 {
	stored, y := a.Target(output).Stored(), a.Out(output)
	return func(i int64) float64 { return stored(i, y[i]) }
}

// Failed reports whether the relation could not be put into numbers.
func (a *Related) Failed() bool { return a.err != nil }
