package timing

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"triad/internal/op"
)

// leastSets is the minimum number of sets of inputs and outputs that timed calls rotate over. The device must
// hold them all.
const leastSets = 2

// BenchCases returns the bench points of a spec: normal data, contiguous, a backward chained to its own
// forward if possible, or the kinds of data that the options name. --dims replaces single dims of every
// point, --attr attributes; points that become equal are merged. Without --dtype a point has the dtypes that
// it names, else bf16 if the operator has it, else the first. The quick level keeps the first point of each
// pass and dtype. A point that does not fit the device is made smaller, and skipped where that is impossible.
func BenchCases(spec *op.Spec, o op.Options) (op.Plan, error) {
	b := benchPlanner{spec: spec, options: o, seen: map[string]bool{}, has: map[string]bool{}}
	for _, pass := range []op.Pass{op.Forward, op.Backward} {
		if len(o.Passes) > 0 && !slices.Contains(o.Passes, pass) || !slices.Contains(spec.Passes(), pass) {
			continue
		}
		for _, point := range spec.Bench {
			for _, dtype := range benchDTypes(spec, point, pass, o.DTypes) {
				if err := b.add(point, pass, dtype); err != nil {
					return op.Plan{}, err
				}
			}
		}
	}
	if len(b.plan.Cases)+len(b.plan.Skipped) == 0 {
		if b.refused != nil {
			return op.Plan{}, b.refused
		}
		return op.Plan{}, &op.UsageError{Message: fmt.Sprintf("%s has no bench point of dtype %v in pass %v",
			spec.Name, o.DTypes, o.Passes)}
	}
	return b.plan, nil
}

// benchPlanner collects the cases of one BenchCases.
type benchPlanner struct {
	spec    *op.Spec
	options op.Options
	plan    op.Plan
	seen    map[string]bool // keys
	has     map[string]bool // passes with dtypes that have a point which fits
	refused error           // why a point cannot be with the dims and attributes that the options name
}

// add makes the cases of one point, one for each kind of data that is asked for.
func (b *benchPlanner) add(point op.BenchSpec, pass op.Pass, dtype string) error {
	group := fmt.Sprint(pass, " ", dtype)
	if b.options.Level == op.LevelQuick && b.has[group] {
		return nil
	}
	dims, attributes := replaced(b.spec, point, b.options)
	for _, kind := range kinds(b.spec, pass, b.options) {
		kind.Pass, kind.DType = pass, dtype
		c, err := b.spec.NewCase(kind, dims, attributes)
		named := len(b.options.Dims)+len(b.options.Attributes) > 0
		if err != nil && named && errors.As(err, new(*op.UsageError)) {
			b.refused = err // another point may accept these
			return nil
		}
		if err != nil {
			return err
		}
		own, memory := c, b.options.Memory
		c, fits, err := b.fitting(own, kind, dims, attributes)
		if err != nil {
			return err
		}
		if b.seen[c.Key()] {
			continue
		}
		b.seen[c.Key()] = true
		if !fits {
			_, bytes, err := b.spec.Footprint(c)
			if err != nil {
				return err
			}
			reason := fmt.Sprintf("timed calls rotate over %d sets of %d bytes, the device holds %d",
				leastSets, bytes, memory)
			b.plan.Skipped = append(b.plan.Skipped, op.Skipped{Case: c, Reason: reason})
			continue
		}
		if c.Key() != own.Key() {
			b.plan.Smaller = append(b.plan.Smaller, smallerWords(own, c, memory))
		}
		b.has[group] = true
		b.plan.Cases = append(b.plan.Cases, c)
	}
	return nil
}

// kinds returns the kinds of data that the options name: by layout, distribution, upstream gradient and saved
// tensors.
func kinds(spec *op.Spec, pass op.Pass, o op.Options) []op.Case {
	or := func(list []string, otherwise string) []string {
		if len(list) > 0 {
			return list
		}
		return []string{otherwise}
	}
	upstreams, saved := []string{""}, []string{""}
	if pass == op.Backward {
		upstreams = or(o.Upstreams, "")
		if spec.Backward.Chained {
			saved = or(o.Saved, "own")
		}
	}
	var all []op.Case
	for _, distribution := range or(o.Distributions, "") {
		for _, layout := range or(o.Layouts, "") {
			for _, upstream := range upstreams {
				for _, from := range saved {
					all = append(all, op.Case{
						Distribution: distribution, Layout: layout, Upstream: upstream,
						Saved: from,
					})
				}
			}
		}
	}
	return all
}

// replaced returns the dims and attributes of a point, with those of the options in their place.
func replaced(spec *op.Spec, b op.BenchSpec, o op.Options) (dims map[string]int64,
	attributes map[string]string,
) {
	dims, attributes = maps.Clone(b.Dims), map[string]string{}
	for _, group := range o.Equal {
		for _, name := range group[1:] {
			dims[name] = dims[group[0]]
		}
	}
	spec.ReplaceSizes(dims, o.Dims)
	for name, v := range b.Attributes {
		attributes[name] = fmt.Sprint(v)
	}
	maps.Copy(attributes, o.Attributes)
	return dims, attributes
}

// benchDTypes returns the dtypes of a point: those asked for, else those that it names, else the usual one.
func benchDTypes(spec *op.Spec, b op.BenchSpec, pass op.Pass, asked []string) []string {
	have := spec.PassDTypes(pass)
	keep := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(d string) bool { return !slices.Contains(have, d) })
	}
	switch {
	case len(asked) > 0:
		return keep(asked)
	case len(b.DTypes) > 0:
		return keep(b.DTypes)
	}
	return []string{usualDType(have)}
}

// usualDType returns bf16 if it is listed, else the first.
func usualDType(have []string) string {
	if slices.Contains(have, "bf16") {
		return "bf16"
	}
	return have[0]
}
