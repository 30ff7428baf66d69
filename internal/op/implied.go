package op

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// An implied dim is one that an operator got after its first cases: its default is another dim, and a case
// holds it only where its size differs. Cases from before it have the same keys, words and JSON.

// compileImplied returns an error unless the default of every implied dim is the name of another dim.
func (s *Spec) compileImplied() error {
	for _, d := range s.Dims {
		if d.Implied && !s.isDim(d.Default) {
			return fmt.Errorf("dim %s is implied: its default %q is no dim", d.Name, d.Default)
		}
	}
	return nil
}

// impliedBy returns the dim whose size an implied dim has by default; false for any other name.
func (s *Spec) impliedBy(name string) (string, bool) {
	for _, d := range s.Dims {
		if d.Name == name && d.Implied {
			return d.Default, true
		}
	}
	return "", false
}

// Size returns a size of a case, of an implied dim too; false for a name that is no dim.
func (s *Spec) Size(dims Dims, name string) (int64, bool) {
	if v, ok := dims.Lookup(name); ok {
		return v, true
	}
	by, ok := s.impliedBy(name)
	if !ok {
		return 0, false
	}
	return dims.Lookup(by)
}

// GivesImplied reports whether sizes give an implied dim.
func (s *Spec) GivesImplied(sizes map[string]int64) bool {
	for name := range sizes {
		if _, ok := s.impliedBy(name); ok {
			return true
		}
	}
	return false
}

// ReplaceSizes puts sizes in the place of a shape's. An implied dim follows its default where only that is
// named.
func (s *Spec) ReplaceSizes(shape, named map[string]int64) {
	maps.Copy(shape, named)
	for _, d := range s.Dims {
		_, follows := named[d.Default]
		if _, given := named[d.Name]; d.Implied && follows && !given {
			delete(shape, d.Name)
		}
	}
}

// WithoutImplied returns the operator as it was before it had implied dims: another dim stands for each of
// them, and there are no shapes and points that give one. Users' files are read and judged so. A spec without
// implied dims is returned as it is.
func (s *Spec) WithoutImplied() *Spec {
	if s.plain == nil {
		return s
	}
	return s.plain
}

// dropImplied removes the implied dims from what was read from a file, before it is compiled.
func (s *Spec) dropImplied() {
	for _, d := range s.Dims {
		if !d.Implied {
			continue
		}
		word := regexp.MustCompile(`\b` + d.Name + `\b`)
		s.renameSizes(func(text string) string { return word.ReplaceAllString(text, d.Default) })
		delete(s.Synonyms, d.Name)
		s.Check.Shapes = slices.DeleteFunc(s.Check.Shapes, func(shape map[string]any) bool {
			_, given := shape[d.Name]
			return given
		})
		s.Bench = slices.DeleteFunc(s.Bench, func(b BenchSpec) bool { return b.Dims[d.Name] != 0 })
		s.Compile = slices.DeleteFunc(s.Compile, func(c CompileSpec) bool { return c.Dims[d.Name] != 0 })
	}
	s.Dims = slices.DeleteFunc(s.Dims, func(d DimSpec) bool { return d.Implied })
}

// renameSizes changes every expression over sizes that does not belong to a dim or an attribute.
func (s *Spec) renameSizes(change func(string) string) {
	each := func(list []string) {
		for i := range list {
			list[i] = change(list[i])
		}
	}
	each(s.Require)
	tensors := [][]TensorSpec{s.InputSpecs, s.OutputSpecs}
	if s.Backward != nil {
		tensors = append(tensors, s.Backward.Tensors)
	}
	for _, list := range tensors {
		for i := range list {
			list[i].Shape = renamed(list[i].Shape, change)
		}
	}
	for _, limits := range []*Limits{&s.Limits.Forward, &s.Limits.Backward} {
		each(limits.FP32)
		each(limits.Stored)
	}
	for _, cost := range []*PassCost{&s.Costs.Forward, &s.Costs.Backward} {
		cost.Bytes, cost.Flops = change(cost.Bytes), change(cost.Flops)
	}
	each(s.Check.Trivial.Shapes)
}

// renamed returns a shape, as a file gives it, with every size changed.
func renamed(shape any, change func(string) string) any {
	switch x := shape.(type) {
	case string:
		return change(x)
	case []any:
		for i := range x {
			x[i] = renamed(x[i], change)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(x)) {
			x[key] = renamed(x[key], change)
		}
	}
	return shape
}
