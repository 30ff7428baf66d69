package smallestcase

import (
	"fmt"
	"maps"

	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/tensor"
)

// mostCompared limits the elements of a case whose inputs are made again.
const mostCompared = 1 << 20

// onlyAt returns the one value of an input at which a function is wrong, "x = 0": every wrong element of
// every wrong record of its pass has it, and elements without it are right. "" if there is no such value.
func (j Judged) onlyAt(suspect record.Record) string {
	var common map[string]bool // by "x = 0", whether elements without it are right
	for _, r := range j.Result.Records {
		if r.Impl != suspect.Impl || r.Case.Pass != suspect.Case.Pass || r.Status.Weight() != op.Bad {
			continue
		}
		here := j.valuesAtWrong(r)
		if common == nil {
			common = maps.Clone(here)
		}
		for value := range common {
			apart, there := here[value]
			if !there {
				delete(common, value)
				continue
			}
			common[value] = common[value] || apart
		}
		if len(common) == 0 {
			return ""
		}
	}
	for value, apart := range common {
		if apart && len(common) == 1 {
			return value
		}
	}
	return ""
}

// valuesAtWrong returns what the wrong elements of a record have in common: the inputs that are 0, or a
// number among the attributes, at each of them, and whether other elements are right.
func (j Judged) valuesAtWrong(r record.Record) map[string]bool {
	inputs, err := j.Request.Operators[0].Inputs(r.Case, r.Seed)
	if r.Status != op.StatusFail || err != nil {
		return nil
	}
	all := map[string]bool{}
	for _, input := range inputs {
		if input.Elements() > mostCompared {
			return nil
		}
		if value, others, is := valueAtWrong(input, r); is {
			all[fmt.Sprintf("%s = %g", input.Name, value)] = others
		}
	}
	return all
}

// valueAtWrong returns the value that an input has at every wrong element of a record's outputs.
func valueAtWrong(input tensor.Tensor, r record.Record) (value float64, others, is bool) {
	values := input.Float64s()
	special := []float64{0}
	for _, a := range r.Case.Attrs {
		special = append(special, a.Number)
	}
	for _, v := range r.Outputs {
		if v.Status.Weight() != op.Bad {
			continue
		}
		if v.Statistics == nil || v.N != input.Elements() || v.NWrong == 0 || v.NCompared != v.N {
			return 0, false, false
		}
		listed := v.Statistics.Worst[:min(int64(len(v.Statistics.Worst)), v.NWrong)]
		for _, element := range listed {
			at, fits := placeOf(element.Index, input.Shape)
			if !fits || is && values[at] != value {
				return 0, false, false
			}
			value, is = values[at], true
		}
		with := int64(0)
		for _, x := range values {
			if x == value {
				with++
			}
		}
		if with < v.NWrong {
			return 0, false, false
		}
		others = others || with < v.N
	}
	for _, s := range special {
		if is && value == s {
			return s, others, true
		}
	}
	return 0, false, false
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
