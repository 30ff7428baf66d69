package ownkernels

import (
	"maps"
	"slices"
	"strconv"

	"triad/internal/op"
)

// Coverage describes what files can be judged on.
type Coverage struct {
	Passes []op.Pass
	DTypes []string
	Equal  [][]string        // dims that one parameter stands for, group by group
	Pins   map[string]string // values of the attributes without a parameter; "" if two functions differ
	// distributions, if not all can be taken
	Distributions []string
	LeftOut       []string         // distributions that are left out unless requested
	Dims          map[string]int64 // sizes without a parameter that the user did not fix; 0 if two differ
	// sizes at which files are judged in addition to the level's, since they decline all of those
	Shapes []map[string]int64
}

// add adds what a function of a pass can be judged on.
func (c *Coverage) add(pass op.Pass, one Coverage) {
	dtypes, pins, equal := one.DTypes, one.Pins, one.Equal
	for _, dims := range one.Shapes {
		if !slices.ContainsFunc(c.Shapes, func(s map[string]int64) bool { return maps.Equal(s, dims) }) {
			c.Shapes = append(c.Shapes, dims)
		}
	}
	// Shapes of unequal sizes are dropped for the file that has no parameters for them
	for _, group := range equal {
		if !slices.ContainsFunc(c.Equal, func(g []string) bool { return slices.Equal(g, group) }) {
			c.Equal = append(c.Equal, group)
		}
	}
	if !slices.Contains(c.Passes, pass) {
		c.Passes = append(c.Passes, pass)
	}
	for _, d := range dtypes {
		if !slices.Contains(c.DTypes, d) {
			c.DTypes = append(c.DTypes, d)
		}
	}
	for _, name := range one.LeftOut {
		if !slices.Contains(c.LeftOut, name) {
			c.LeftOut = append(c.LeftOut, name)
		}
	}
	if c.Pins == nil {
		c.Pins, c.Dims, c.Distributions = maps.Clone(pins), maps.Clone(one.Dims), one.Distributions
		return
	}
	if !slices.Equal(c.Distributions, one.Distributions) {
		c.Distributions = nil
	}
	for name := range c.Dims { // another file has a parameter for this size, or another value
		if c.Dims[name] != one.Dims[name] {
			c.Dims[name] = 0
		}
	}
	for name, value := range pins {
		if c.Pins[name] != value {
			c.Pins[name] = ""
		}
	}
	for name := range c.Pins {
		if pins[name] != c.Pins[name] {
			c.Pins[name] = ""
		}
	}
}

// Narrow restricts the cases to those that some added file can be judged on, unless the user chose them.
func (b *Backend) Narrow(options *op.Options) {
	var all Coverage
	for _, f := range b.Files {
		for _, pass := range f.Covers.Passes {
			all.add(pass, f.Covers)
		}
	}
	if len(options.Passes) == 0 {
		options.Passes = all.Passes
	}
	if len(options.DTypes) == 0 {
		options.DTypes = all.DTypes
	}
	if len(options.Distributions) == 0 {
		options.Distributions = all.Distributions
	}
	options.LeftOut = all.LeftOut
	attributes := maps.Collect(maps.All(options.Attributes)) // a copy, and never nil
	for name, value := range all.Pins {
		if _, asked := attributes[name]; !asked && value != "" {
			attributes[name] = value
		}
	}
	dims := maps.Collect(maps.All(options.Dims))
	for name, n := range all.Dims {
		if _, asked := dims[name]; !asked && n > 0 {
			dims[name] = n
		}
	}
	options.Attributes, options.Equal, options.Dims = attributes, all.Equal, dims
	options.Shapes = all.Shapes
	options.SavedFrom = b.savedFrom()
	for _, f := range b.Files { // sizes of its own, which others do not have
		own := maps.Clone(f.Covers.Dims)
		differs := func(name string) bool { return own[name] > 0 && all.Dims[name] == 0 }
		if !slices.ContainsFunc(slices.Collect(maps.Keys(own)), differs) {
			continue
		}
		for _, d := range f.interpretation.Spec.Dims {
			if n, err := strconv.ParseInt(d.Default, 10, 64); err == nil && own[d.Name] == 0 {
				own[d.Name] = n
			}
		}
		known := func(d op.DimSpec) bool { return own[d.Name] > 0 }
		same := func(shape map[string]int64) bool { return maps.Equal(shape, own) }
		if !slices.ContainsFunc(f.interpretation.Spec.Dims, func(d op.DimSpec) bool { return !known(d) }) &&
			!slices.ContainsFunc(options.Shapes, same) {
			options.Shapes = append(options.Shapes, own)
		}
	}
}

// savedFrom returns where the backwards of the files take saved tensors from, if not all of them accept every
// source: one that recomputes its forward goes through it, and without a forward of its own a file has none
// to save them.
func (b *Backend) savedFrom() (all []string) {
	own, driver := false, false
	for _, f := range b.Files {
		for _, one := range f.Bindings {
			if one.Pass == op.Backward {
				driver = driver || !one.Recomputes()
				own = own || one.Recomputes() || slices.Contains(f.Covers.Passes, op.Forward)
			}
		}
	}
	switch {
	case own && !driver:
		return []string{"own"}
	case driver && !own:
		return []string{"driver"}
	}
	return nil
}
