package truthtest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// Simulated answers a call as a simulated contract does: a right implementation that rounds where it must and
// nowhere else.
func Simulated(t *testing.T, contract string, c op.Case, given truth.Inputs) truth.Inputs {
	t.Helper()
	known := TruthFor(t, c, contract, given)
	var gave truth.Inputs
	for _, o := range known.Outputs {
		y := tensor.New(o.Name, o.DType, o.Shape)
		y.SetFloat64s(o.Sim)
		gave = append(gave, y)
	}
	return gave
}

// Follow makes the calls of a relation with the simulated contract as the implementation.
func Follow(t *testing.T, contract string, r truth.Relation, c op.Case, given truth.Inputs) []truth.Call {
	t.Helper()
	calls := []truth.Call{{Case: c, Given: given, Gave: Simulated(t, contract, c, given)}}
	for range r.Calls() {
		last := calls[len(calls)-1]
		at, replaced, err := r.Next(calls)
		if err != nil {
			t.Fatal(err)
		}
		next := truth.Call{Case: at, Given: last.Given.With(replaced)}
		next.Gave = Simulated(t, contract, at, next.Given)
		calls = append(calls, next)
	}
	return calls
}

// Spoilt returns the calls with other values in an output of the last.
func Spoilt(calls []truth.Call, output string, value func(i int, y float64) float64) []truth.Call {
	calls = slices.Clone(calls)
	last := &calls[len(calls)-1]
	y := last.Gave.Get(output)
	values := y.Float64s()
	for i, v := range values {
		values[i] = value(i, v)
	}
	other := tensor.New(y.Name, y.DType, y.Shape)
	other.SetFloat64s(values)
	last.Gave = last.Gave.With([]tensor.Tensor{other})
	return calls
}

// Holds returns, for every output of a relation, its result.
func Holds(r truth.Relation, contract string, calls []truth.Call) map[string]judge.Relation {
	all := map[string]judge.Relation{}
	for _, held := range r.Hold(contract, calls, nil) {
		all[held.Output] = held
	}
	return all
}

// RelatedCases calls visit with every relation of an operator on cases of the quick level, each relation at
// most a few times a dtype.
func RelatedCases(t *testing.T, o *truth.Operator, visit func(r truth.Relation, c op.Case,
	calls []truth.Call),
) {
	t.Helper()
	relatedCases(t, o, op.LevelQuick, 2, visit)
}

// EveryRelatedCase calls visit with every relation of an operator on every small case of the default level.
func EveryRelatedCase(t *testing.T, o *truth.Operator, visit func(r truth.Relation, c op.Case,
	calls []truth.Call),
) {
	t.Helper()
	relatedCases(t, o, op.LevelDefault, math.MaxInt, visit)
}

func relatedCases(t *testing.T, o *truth.Operator, level op.Level, most int,
	visit func(r truth.Relation, c op.Case, calls []truth.Call),
) {
	t.Helper()
	plan, err := o.Spec.Expand(op.Options{Level: level})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, c := range plan.Cases {
		if elements, _, err := o.Spec.Footprint(c); err != nil || elements > 30000 {
			continue
		}
		var given truth.Inputs
		for _, r := range truth.RelationsOf(c) {
			key := fmt.Sprint(r.Name, c.Pass, c.DType)
			if r.Second != nil && seen[key] == most {
				continue
			}
			seen[key]++
			if given == nil {
				given = CaseInputs(t, o.Spec, c, 1)
			}
			visit(r, c, Follow(t, o.Spec.DefaultContract(c.DType), r, c, given))
		}
	}
}

// OneUlpIsSeen reports whether some element of an output of the last call may be one ulp larger for G0 to G5
// and not for the relation.
func OneUlpIsSeen(t *testing.T, o *truth.Operator, r truth.Relation, output string, calls []truth.Call) bool {
	t.Helper()
	last := calls[len(calls)-1]
	truth := TruthFor(t, last.Case, o.Spec.DefaultContract(last.Case.DType), last.Given)
	k := slices.IndexFunc(truth.Outputs, func(x judge.Target) bool { return x.Name == output })
	target := truth.Outputs[k]
	format, _ := tensor.FormatOf(target.DType)
	values := Sims(truth)
	for i := range values[k] {
		y := values[k][i]
		next := y + format.ULP(y)
		if low, high := target.Interval(target.R[i], target.T[i]); y == 0 || !(low <= next && next <= high) {
			continue
		}
		leaking := Spoilt(calls, output, func(j int, v float64) float64 {
			if j == i {
				return next
			}
			return v
		})
		if Holds(r, truth.Contract, leaking)[output].Accepted() {
			continue // an element that the relation does not cover
		}
		values[k][i] = next
		Accepts(t, r.Name, Judged(truth, values...)[k:k+1])
		return true
	}
	return false
}
