package smallestcase

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/tensor"
)

// mostCompared limits the elements of a case whose inputs are made again.
const mostCompared = 1 << 20

// onlyAt returns the values of an input at which alone a function is wrong, "x = 0 or NaN": every wrong
// element of every wrong record of its pass has one of them, and elements without them are right. "" if there
// are no such values. Upstream gradients that are not finite may make other elements wrong, as a factor of 0
// does: then it says so.
func (j Judged) onlyAt(suspect record.Record) string {
	var wrong, finite []record.Record
	for _, r := range j.Result.Records {
		if r.Impl != suspect.Impl || r.Case.Pass != suspect.Case.Pass || r.Status.Weight() != op.Bad {
			continue
		}
		wrong = append(wrong, r)
		if r.Case.Upstream != "non_finite" {
			finite = append(finite, r)
		}
	}
	if at := j.commonValues(wrong); at != "" {
		return at
	}
	if at := j.commonValues(finite); at != "" {
		return at + ", and where the upstream gradient is not finite"
	}
	return ""
}

// commonValues returns the values of the one input whose special numbers are at all wrong elements of
// records.
func (j Judged) commonValues(wrong []record.Record) string {
	var common map[string]*atWrong // by input
	for i, r := range wrong {
		here := j.valuesAtWrong(r)
		if i == 0 {
			common = here
			continue
		}
		for name, found := range common {
			more, there := here[name]
			if !there {
				delete(common, name)
				continue
			}
			found.join(more)
		}
	}
	for name, found := range common {
		if len(common) == 1 && found.others && len(found.values) <= mostValues {
			return name + " = " + strings.Join(found.values, " or ")
		}
	}
	return ""
}

// mostValues is the number of values that a sentence names.
const mostValues = 3

// atWrong holds the values that an input has at wrong elements.
type atWrong struct {
	values []string
	others bool // elements with other values are right
}

func (a *atWrong) join(b *atWrong) {
	a.others = a.others || b.others
	for _, v := range b.values {
		if !slices.Contains(a.values, v) {
			a.values = append(a.values, v)
		}
	}
}

// valuesAtWrong returns, of the inputs with special numbers alone at the wrong elements of a record, these
// numbers.
func (j Judged) valuesAtWrong(r record.Record) map[string]*atWrong {
	inputs, err := j.Request.Operators[0].Inputs(r.Case, r.Seed)
	if r.Status != op.StatusFail || err != nil {
		return nil
	}
	all := map[string]*atWrong{}
	for _, input := range inputs {
		if input.Elements() > mostCompared {
			return nil
		}
		if found := valueAtWrong(input, r); found != nil {
			all[input.Name] = found
		}
	}
	return all
}

// valueAtWrong returns the values of an input at the wrong elements of a record's outputs; nil if one of them
// is no special number: 0, NaN, an infinity, or a number among the attributes.
func valueAtWrong(input tensor.Tensor, r record.Record) *atWrong {
	values := input.Float64s()
	special := []float64{0, math.NaN(), math.Inf(1), math.Inf(-1)}
	for _, a := range r.Case.Attrs {
		special = append(special, a.Number)
	}
	found := &atWrong{}
	var met []float64
	for _, v := range r.Outputs {
		if v.Status.Weight() != op.Bad {
			continue
		}
		if v.Statistics == nil || v.N != input.Elements() || v.NWrong == 0 || v.NCompared != v.N {
			return nil
		}
		for _, element := range v.Statistics.Worst[:min(int64(len(v.Statistics.Worst)), v.NWrong)] {
			at, fits := placeOf(element.Index, input.Shape)
			if !fits || !holds(special, values[at]) {
				return nil
			}
			if !holds(met, values[at]) {
				met = append(met, values[at])
				found.values = append(found.values, strings.Replace(fmt.Sprint(values[at]), "-0", "0", 1))
			}
		}
		with := int64(0)
		for _, x := range values {
			if holds(met, x) {
				with++
			}
		}
		if with < v.NWrong {
			return nil
		}
		found.others = found.others || with < v.N
	}
	if len(met) == 0 {
		return nil
	}
	return found
}

// holds reports whether a number is among others. NaN is equal to NaN.
func holds(all []float64, x float64) bool {
	return slices.ContainsFunc(all, func(y float64) bool { return x == y || x != x && y != y })
}

// placeOf returns the place of an index in a tensor of this shape, in row-major order.
func placeOf(index, shape []int64) (place int64, fits bool) {
	if len(index) != len(shape) {
		return 0, false
	}
	for i, n := range shape {
		if index[i] < 0 || index[i] >= n {
			return 0, false
		}
		place = place*n + index[i]
	}
	return place, true
}
