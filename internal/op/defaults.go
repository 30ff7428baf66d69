package op

import (
	"fmt"
	"slices"
	"strings"
)

// LoadOwn reads the spec of a user's own operator as Load does. What such a spec may leave out is filled in:
// words, dtypes, the default contract, costs, and what is judged.
func LoadOwn(file string, text []byte) (*Spec, error) {
	return load(file, text, (*Spec).fillIn, (*Spec).proveShapes)
}

// defaultDistributions are those that suit any operator, and defaultQuick those of the quick level.
var (
	defaultDistributions = []string{"normal", "scaled", "shifted", "constant", "zeros", "outlier", "sparse"}
	defaultQuick         = []string{"shifted", "outlier"}
)

// defaultSizes are the shapes that are judged where none are listed, by the number of sizes: the first
// belongs to the last size. They are no multiples of a warp, a block or a vector, but one.
var defaultSizes = [][]int64{{1, 1}, {7, 3}, {264, 5}, {1025, 2}, {100, 33}, {9, 130}, {4099, 2}}

// fillIn sets what a user's own spec leaves out.
func (s *Spec) fillIn() {
	set := func(text *string, words string) {
		if *text == "" {
			*text = words
		}
	}
	set(&s.Summary, s.Name)
	set(&s.Formula, "as the function reference says")
	set(&s.Source, "the reference of this folder")
	if len(s.DTypes) == 0 {
		s.DTypes = []string{"fp32", "fp16", "bf16"}
	}
	if len(s.Contract.Default) == 0 && len(s.Contract.Permits) == 0 {
		s.Contract.Default = map[string]string{}
		for _, d := range s.DTypes {
			s.Contract.Default[d] = "fp32"
		}
		s.Contract.Permits = []string{"eager"}
	}
	s.fillInCosts()
	c := &s.Check
	if len(c.Distributions) == 0 {
		c.Distributions = slices.Clone(defaultDistributions)
		if len(c.Quick) == 0 {
			c.Quick = slices.Clone(defaultQuick)
		}
		if len(c.Trivial.Distributions) == 0 {
			c.Trivial.Distributions = []string{"zeros"}
		}
	}
	if len(c.Trivial.Upstreams) == 0 && s.Backward != nil {
		c.Trivial.Upstreams = []string{"zeros"}
	}
	if len(c.Shapes) == 0 {
		c.Shapes = s.defaultShapes()
	}
}

// defaultShapes returns shapes over all sizes. Those before the last two are 1 to 3.
func (s *Spec) defaultShapes() []map[string]any {
	var shapes []map[string]any
	for i, sizes := range defaultSizes {
		shape := map[string]any{}
		for d := range s.Dims {
			fromEnd := len(s.Dims) - 1 - d
			size := int64(1 + (i+d)%3)
			if fromEnd < len(sizes) {
				size = sizes[fromEnd]
			}
			shape[s.Dims[d].Name] = size
		}
		if i == 2 {
			shape["all"] = true
		}
		if i < 5 {
			shape["quick"] = true
		}
		shapes = append(shapes, shape)
	}
	return shapes
}

// fillInCosts counts each tensor of a pass as moved once, and an operation for each element that is written.
func (s *Spec) fillInCosts() {
	forward, backward := &s.Costs.Forward, &s.Costs.Backward
	if forward.Bytes == "" && forward.Flops == "" {
		forward.Bytes = moved(slices.Concat(s.InputSpecs, s.OutputSpecs))
		forward.Flops = elements(s.OutputSpecs)
	}
	if s.Backward == nil || backward.Bytes != "" || backward.Flops != "" {
		return
	}
	inputs, outputs := s.tensorSpecs(Backward)
	backward.Bytes, backward.Flops = moved(slices.Concat(inputs, outputs)), elements(outputs)
}

// moved returns an expression for the bytes of tensors.
func moved(tensors []TensorSpec) string {
	var terms []string
	for _, t := range tensors {
		if n := elementsOf(t); n != "" {
			terms = append(terms, fmt.Sprintf("%s * size_%s", n, t.Name))
		}
	}
	return strings.Join(terms, " + ")
}

// elements returns an expression for the elements of tensors.
func elements(tensors []TensorSpec) string {
	var terms []string
	for _, t := range tensors {
		if n := elementsOf(t); n != "" {
			terms = append(terms, n)
		}
	}
	return strings.Join(terms, " + ")
}

// elementsOf returns an expression for the elements of a tensor; "" if its shape depends on an attribute.
func elementsOf(t TensorSpec) string {
	list, ok := t.Shape.([]any)
	if !ok {
		return ""
	}
	if len(list) == 0 {
		return "1"
	}
	var sizes []string
	for _, size := range list {
		sizes = append(sizes, fmt.Sprintf("(%v)", size))
	}
	return strings.Join(sizes, " * ")
}
