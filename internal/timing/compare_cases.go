package timing

import (
	"slices"

	"triad/internal/op"
)

// CompareCases returns the cases that a comparison times: for each pass and dtype the operator's first bench
// point, made smaller where the device cannot hold it, with the dims, attributes and kinds of data that the
// options name. Without a requested dtype one is timed: bf16, or the operator's first. There are no cases if
// the operator has no such point. Skipped stays empty.
func CompareCases(spec *op.Spec, o op.Options) op.Plan {
	o.Level = op.LevelQuick
	var all op.Plan
	for _, pass := range spec.Passes() {
		if len(o.Passes) > 0 && !slices.Contains(o.Passes, pass) {
			continue
		}
		dtypes := slices.DeleteFunc(slices.Clone(o.DTypes), func(d string) bool {
			return !slices.Contains(spec.PassDTypes(pass), d)
		})
		if len(o.DTypes) == 0 {
			dtypes = []string{usualDType(spec.PassDTypes(pass))}
		}
		for _, dtype := range dtypes {
			one := o
			one.Passes, one.DTypes = []op.Pass{pass}, []string{dtype}
			if plan, err := BenchCases(spec, one); err == nil && len(plan.Cases) > 0 {
				all.Cases = append(all.Cases, plan.Cases[0])
				all.Smaller = append(all.Smaller, plan.Smaller...)
			}
		}
	}
	return all
}
