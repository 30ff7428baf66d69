package ownkernels

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/ownfile"
	"triad/internal/ownfile/adapters"
	"triad/internal/ownfile/extents"
	"triad/internal/tensor"
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

// add adds what a function of a pass can be judged on. Shapes of unequal sizes are dropped for the file that
// has no parameters for them.
func (c *Coverage) add(pass op.Pass, one Coverage) {
	plain := func(a, b string) bool { return a == b }
	c.Shapes = joined(c.Shapes, one.Shapes, maps.Equal[map[string]int64])
	c.Equal = joined(c.Equal, one.Equal, slices.Equal[[]string])
	c.Passes = joined(c.Passes, []op.Pass{pass}, func(a, b op.Pass) bool { return a == b })
	c.DTypes, c.LeftOut = joined(c.DTypes, one.DTypes, plain), joined(c.LeftOut, one.LeftOut, plain)
	if c.Pins == nil {
		c.Pins, c.Dims, c.Distributions = maps.Clone(one.Pins), maps.Clone(one.Dims), one.Distributions
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
	for _, pins := range []map[string]string{c.Pins, one.Pins} {
		for name := range pins {
			if c.Pins[name] != one.Pins[name] {
				c.Pins[name] = ""
			}
		}
	}
}

// joined returns a list with those of another that it lacks.
func joined[T any](list, others []T, same func(a, b T) bool) []T {
	for _, o := range others {
		if !slices.ContainsFunc(list, func(x T) bool { return same(x, o) }) {
			list = append(list, o)
		}
	}
	return list
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
				driver = driver || !ownfile.Recomputes(one)
				own = own || ownfile.Recomputes(one) || slices.Contains(f.Covers.Passes, op.Forward)
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

// Inputs of a function of ints lie within mostInteger, and there are so few of them that no sum of their
// products overflows an int. If the operator has its own integers they lie within mostOfKinds: only the ends
// of a total are that large, or nothing is multiplied.
const (
	mostInteger  = 8
	mostOfKinds  = 1 << 13
	mostElements = 1 << 22
)

// notIntegers returns the answer of a function of ints for other numbers.
func notIntegers(most float64) string {
	return fmt.Sprintf("its tensors are ints: it is judged on integers from -%v to %v, in tensors of up to "+
		"%d elements", most, most, mostElements)
}

// wantsIntegers returns the largest integer that the function of a job is called with, if it takes ints and
// the operator has floats, else 0.
func (f *File) wantsIntegers(job backend.Job) float64 {
	for _, b := range f.Bindings {
		if b.Pass == job.Implementation.Pass && adapters.Distributions(b) != nil {
			if b.Spec.Check.Integers != "" {
				return mostOfKinds
			}
			return mostInteger
		}
	}
	return 0
}

// areIntegers reports whether all numbers of some tensors are small integers, and none is -0, which an int
// lacks.
func areIntegers(inputs []tensor.Tensor, most float64) bool {
	for _, t := range inputs {
		if t.Elements() > mostElements {
			return false
		}
		for _, v := range tensor.Decode(t.DType, t.Data) {
			if v != math.Trunc(v) || math.Abs(v) > most || v == 0 && math.Signbit(v) {
				return false
			}
		}
	}
	return true
}

// withFiniteUnread returns a job in which inputs that the operator does not read, since an attribute is 0,
// hold 0 in place of NaN and infinities: functions multiply them by the attribute all the same.
func (f *File) withFiniteUnread(job backend.Job) backend.Job {
	for name, attribute := range f.interpretation.Spec.Own.Unread {
		is := func(a backend.AttrRef) bool { return a.Name == attribute && a.Number == 0 }
		at := slices.IndexFunc(job.Inputs, func(t tensor.Tensor) bool { return t.Name == name })
		if at < 0 || !slices.ContainsFunc(job.Attrs, is) {
			continue
		}
		job.Inputs = slices.Clone(job.Inputs)
		t := &job.Inputs[at]
		t.Data = slices.Clone(t.Data)
		size := int(t.DType.Size())
		for i, v := range tensor.Decode(t.DType, t.Data) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				clear(t.Data[i*size:][:size])
			}
		}
	}
	return job
}

// endsForSizes makes an outcome neutral in which a host function ended the process, if its lines do so for
// unsupported sizes, or if nothing is to be written: CUDA refuses a launch of no blocks, and a check after it
// ends the process.
func (f *File) endsForSizes(outcome *backend.Outcome, empty bool) {
	if outcome.Status != op.StatusCrash || f.IsPython() || !strings.HasPrefix(outcome.Sentence, "exited ") {
		return
	}
	if !empty && !slices.ContainsFunc(f.Bindings, extents.EndsForSizes) {
		return
	}
	outcome.Status = op.StatusUnsupported
	if empty { // its earlier output may be about another call
		outcome.Sentence = "on empty tensors it ends the process: return first where a size is 0"
		return
	}
	_, said, printed := strings.Cut(outcome.Sentence, "it last printed: ")
	outcome.Sentence = "it ends the process for these sizes"
	if printed {
		outcome.Sentence += ": " + said
	}
}
