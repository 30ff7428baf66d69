package truth

import (
	"fmt"
	"math"
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/tensor"
)

// A Function computes R, T, TFP32 and Sim of every output of one pass of an operator, from the exact
// low-precision inputs.
type Function func(k *Request) ([]judge.Target, error)

// Definition holds the two passes of an operator.
type Definition struct {
	Forward, Backward Function
	Permits           []string // the contracts the mathematics below knows
	// ByRows are the dims, the first of its large outputs, along which rows are independent: their truth can
	// be computed row by row (see TruthByRows). nil: none. From makes a case of later rows where that is more
	// than other sizes.
	ByRows []string
	From   func(c op.Case, row int64) op.Case
	// Whole: every element is judged, however large the case, since a sample proves nothing about the others.
	Whole bool
}

// truths is filled by the operators' packages, one declaration each: var _ = truth.Register("softmax",
// truth.Definition{...}).
var truths = map[string]Definition{}

// Register registers the truth of the operator called name for Of, and returns the one that it replaces.
func Register(name string, t Definition) (replaced Definition) {
	replaced, truths[name] = truths[name], t
	return replaced
}

// DefinitionOf returns the registered truth of the operator called name; the zero Definition if there is
// none.
func DefinitionOf(name string) Definition { return truths[name] }

// Of computes the truth of a case under a contract. The inputs are found by name. For a forward they are the
// operator's inputs; for a backward with driver-made saved tensors, and for one whose operator saves nothing,
// the spec's [backward] inputs; for a chained backward (c.Saved == "own") the operator's inputs and the
// upstream gradients. sample nil: every element.
func Of(c op.Case, contract string, in []tensor.Tensor, sample *Sample) (judge.Truth, error) {
	return of(Request{Case: c, In: in, Sample: sample}, contract)
}

// of is Of for a request; it sets the request's rules to those of the contract.
func of(asked Request, contract string) (judge.Truth, error) {
	c, k := asked.Case, &asked
	t, ok := truths[c.Op]
	if !ok {
		return judge.Truth{}, fmt.Errorf("compute the truth of %s: no truth is registered for it: a "+
			"program that judges imports "+
			"triad/internal/truth/all, which has those of the catalog", c.Op)
	}
	o, err := Get(c.Op)
	if err != nil {
		return judge.Truth{}, err
	}
	rules, err := ContractNamed(contract)
	if err != nil {
		return judge.Truth{}, err
	}
	if !slices.Contains(t.Permits, contract) {
		return judge.Truth{},
			fmt.Errorf("compute the truth of %s: contract %s is not permitted: want one of %v", c.Op,
				contract, t.Permits)
	}
	compute := t.Forward
	if c.Pass == op.Backward {
		compute = t.Backward
	}
	if compute == nil || c.Pass == op.PassUnknown {
		return judge.Truth{}, fmt.Errorf("compute the truth of %s: it has no pass %v", c.Op, c.Pass)
	}
	k.spec, k.Rules = o.Spec, rules
	for _, x := range k.In {
		if err := x.Check(); err != nil {
			return judge.Truth{}, fmt.Errorf("compute the truth of %s: %w", c.Op, err)
		}
	}
	targets, err := compute(k)
	if err != nil {
		return judge.Truth{}, fmt.Errorf("compute the truth of %s: %w", c.Op, err)
	}
	for i := range targets {
		if err := k.finish(&targets[i]); err != nil {
			return judge.Truth{}, err
		}
	}
	return judge.Truth{Contract: contract, Outputs: targets}, nil
}

// Exactly marks an output as one whose every partial sum is exactly representable: only R itself is accepted.
func Exactly(t judge.Target) judge.Target {
	t.Exact = true
	clear(t.T)
	clear(t.TFP32)
	return t
}

// UndefinedError is the error of a case whose truth or error bound is infinite or NaN without being declared
// so: nothing can be judged by it.
type UndefinedError struct{ Message string }

func (e *UndefinedError) Error() string { return e.Message }

func undefined(format string, a ...any) error { return &UndefinedError{fmt.Sprintf(format, a...)} }

// finish clears T where R is not finite, and rejects a truth that could not judge: NaN or infinity in R that
// the case does not declare, a T that is not finite.
func (k *Request) finish(t *judge.Target) error {
	if t.Rows != nil {
		k.finishRows(t)
		return nil
	}
	if len(t.T) != len(t.R) || len(t.TFP32) != len(t.R) {
		return fmt.Errorf("compute the truth of %s: %w", k.Op, t.Check())
	}
	declared := k.DeclaresInfinity()
	output, _ := k.spec.Output(t.Name)
	if t.Choice != nil && !output.Given {
		return fmt.Errorf("compute the truth of %s: %s is a choice: want given = true in its spec", k.Op,
			t.Name)
	}
	unasked := parallel.First(len(t.R), func(first, end int) int {
		for i, r := range t.R[first:end] {
			if IsFinite(r) {
				continue
			}
			if !declared && !(output.MayBeNegInf && math.IsInf(r, -1)) &&
				!(output.MayBeInf && math.IsInf(r, 0)) {
				return first + i
			}
			t.T[first+i], t.TFP32[first+i] = 0, 0
		}
		return -1
	})
	if unasked >= 0 {
		return undefined("compute the truth of %s: %s is %v at element %d of distribution %q: such inputs "+
			"are no test of this operator",
			k.Op, t.Name, t.R[unasked], unasked, k.Distribution)
	}
	if err := t.Check(); err != nil {
		if slices.ContainsFunc(t.T, func(v float64) bool { return !IsFinite(v) }) {
			return undefined("compute the truth of %s: %v", k.Op, err)
		}
		return fmt.Errorf("compute the truth of %s: %w", k.Op, err)
	}
	if declared {
		return nil
	}
	if i := parallel.First(len(t.Sim),
		func(first, end int) int { return firstUnsimulated(t, first, end) }); i >= 0 {
		return undefined("compute the truth of %s: element %d of %s: R = %v, T = %v, sim = %v: want a "+
			"number, or an infinity that R within T rounds to",
			k.Op, i, t.Name, t.R[i], t.T[i], t.Sim[i])
	}
	return nil
}

// firstUnsimulated returns the first element of a run whose simulated value is neither a number nor an
// accepted infinity, which G4 leaves out; -1 where there is none.
func firstUnsimulated(t *judge.Target, first, end int) int {
	truth := t.R[first:end]
	for i, s := range t.Sim[first:end] {
		if IsFinite(s) || !IsFinite(truth[i]) {
			continue
		}
		if low, high := t.Interval(truth[i], t.T[first+i]); !(low <= s && s <= high) {
			return first + i
		}
	}
	return -1
}
