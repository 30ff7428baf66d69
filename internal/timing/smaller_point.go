package timing

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"triad/internal/op"
)

// fitting returns a case whose timed calls fit into the device's memory: own, or own with dims halved one
// after the other, each time the one that saves most memory and of equals the first of the spec. Dims that
// the options name stay. kind, dims and attributes are what own was made of. fits is false, and the case own,
// where no halving makes it fit.
func (b *benchPlanner) fitting(own, kind op.Case, dims map[string]int64, attributes map[string]string) (
	found op.Case, fits bool, err error,
) {
	if b.options.Memory <= 0 {
		return own, true, nil
	}
	_, bytes, err := b.spec.Footprint(own)
	if err != nil {
		return own, false, err
	}
	found, dims = own, maps.Clone(dims)
	for bytes > b.options.Memory/leastSets {
		smaller, less, by, err := b.halved(kind, bytes, dims, attributes)
		if err != nil || by == "" {
			return own, false, err
		}
		found, bytes = smaller, less
		dims[by] /= 2
	}
	return found, true, nil
}

// halved halves one dim of a case that takes so many bytes. by names it, and is empty if no halving gives a
// smaller case.
func (b *benchPlanner) halved(kind op.Case, bytes int64, dims map[string]int64,
	attributes map[string]string,
) (smaller op.Case, least int64, by string, err error) {
	least = bytes
	for _, d := range b.spec.Dims {
		size, given := dims[d.Name]
		if _, named := b.options.Dims[d.Name]; named || !given || size < 2 || b.equals(d.Name) {
			continue
		}
		tried := maps.Clone(dims)
		tried[d.Name] = size / 2
		possible, err := b.spec.NewCase(kind, tried, attributes)
		if errors.As(err, new(*op.UsageError)) {
			continue // the operator has no such size
		}
		if err != nil {
			return smaller, 0, "", err
		}
		_, needs, err := b.spec.Footprint(possible)
		if err != nil {
			return smaller, 0, "", err
		}
		if needs < least {
			smaller, least, by = possible, needs, d.Name
		}
	}
	return smaller, least, by, nil
}

// equals reports whether a dim is one of several that the options take as one.
func (b *benchPlanner) equals(name string) bool {
	return slices.ContainsFunc(b.options.Equal,
		func(group []string) bool { return slices.Contains(group, name) })
}

// smallerWords returns a sentence about the dims that a point has on this device in the place of its own.
func smallerWords(own, timed op.Case, memory int64) string {
	var changed string
	for i, d := range timed.Dims {
		if was := own.Dims[i]; was.Value != d.Value {
			changed += fmt.Sprintf(", %s=%d in the place of %d", d.Name, d.Value, was.Value)
		}
	}
	return fmt.Sprintf("%s %v %s is timed at a smaller size%s: the device's memory of %.1f GB must hold %d "+
		"sets of inputs and outputs", own.Op, own.Pass, own.DType, changed, float64(memory)/1e9, leastSets)
}
