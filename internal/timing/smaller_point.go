package timing

import (
	"errors"
	"fmt"
	"maps"

	"triad/internal/op"
)

// fitting returns a case whose timed calls fit into the device's memory: c itself, or c with dims halved one
// after the other, each time the one that saves most memory and of equals the first of the spec. Dims that
// the options name stay, and so do cases that no halving makes smaller. fits reports whether one was found.
func (b *benchPlanner) fitting(c op.Case, dims map[string]int64, attributes map[string]string) (
	found op.Case, fits bool, err error,
) {
	if found = c; b.options.Memory <= 0 {
		return found, true, nil
	}
	_, bytes, err := b.spec.Footprint(found)
	for dims = maps.Clone(dims); err == nil && bytes > b.options.Memory/leastSets; {
		smaller, less, by, err := b.halved(found, bytes, dims, attributes)
		if err != nil || by == "" {
			return c, false, err
		}
		found, bytes = smaller, less
		dims[by] /= 2
	}
	return found, true, err
}

// halved halves one dim of a case. by names it, and is empty if no halving gives a smaller case.
func (b *benchPlanner) halved(c op.Case, bytes int64, dims map[string]int64, attributes map[string]string) (
	smaller op.Case, least int64, by string, err error,
) {
	least = bytes
	for _, d := range b.spec.Dims {
		size, given := dims[d.Name]
		if _, named := b.options.Dims[d.Name]; named || !given || size < 2 || b.equals(d.Name) {
			continue
		}
		tried := maps.Clone(dims)
		tried[d.Name] = size / 2
		kind := op.Case{
			Pass: c.Pass, DType: c.DType, Distribution: c.Distribution, Layout: c.Layout,
			Upstream: c.Upstream, Saved: c.Saved,
		}
		possible, err := b.spec.NewCase(kind, tried, attributes)
		if errors.As(err, new(*op.UsageError)) {
			continue // the operator has no such size
		}
		if err != nil {
			return c, bytes, "", err
		}
		_, needs, err := b.spec.Footprint(possible)
		if err != nil {
			return c, bytes, "", err
		}
		if needs < least {
			smaller, least, by = possible, needs, d.Name
		}
	}
	return smaller, least, by, nil
}

// equals reports whether a dim is one of several that the options take as one.
func (b *benchPlanner) equals(name string) bool {
	for _, group := range b.options.Equal {
		for _, member := range group {
			if member == name {
				return true
			}
		}
	}
	return false
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
