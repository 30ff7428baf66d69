package op

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// MaxElements is the largest number of elements the tensors of one case may have together.
const MaxElements = 1 << 40

// Resolve returns dims and attributes of a case in the order of the spec: the given values, defaults for the
// rest. A name or value that is unknown, missing, out of range or against a condition of the spec is a
// *UsageError.
func (s *Spec) Resolve(dims map[string]int64, attributes map[string]string) (Dims, Attrs, error) {
	if err := s.knowDims(slices.Sorted(maps.Keys(dims))); err != nil {
		return nil, nil, err
	}
	if err := s.knowAttributes(slices.Sorted(maps.Keys(attributes))); err != nil {
		return nil, nil, err
	}
	given := maps.Clone(dims)
	resolved := make(Attrs, len(s.Attributes))
	if err := s.resolveAttributes(resolved, given, attributes, "bool", "enum", "int"); err != nil {
		return nil, nil, err
	}
	ordered := make(Dims, 0, len(s.Dims))
	for _, d := range s.Dims {
		v, ok := dims[d.Name]
		if !ok && d.Default == "" {
			return nil, nil, Usagef("%s: dim %s has no value: want one of %s", s.Name, d.Name, s.dimNames())
		}
		if !ok {
			var err error
			if v, err = d.value.Int(integersNamed(dims, resolved)); err != nil {
				return nil, nil, Usagef("%s: dim %s: %v", s.Name, d.Name, err)
			}
		}
		if least := truth(!d.MayBeEmpty); v < least || v > MaxElements {
			return nil, nil, Usagef("%s: dim %s = %d: want %d to 2^40", s.Name, d.Name, v, least)
		}
		given[d.Name] = v
		if !d.Implied || v != dims[d.Default] {
			ordered = append(ordered, Dim{d.Name, v})
		}
	}
	if err := s.resolveAttributes(resolved, given, attributes, "float"); err != nil {
		return nil, nil, err
	}
	return ordered, resolved, s.meets(ordered, resolved)
}

// resolveAttributes fills in the attributes of some types: floats last, because their defaults may use dims
// that have defaults.
func (s *Spec) resolveAttributes(into Attrs, dims map[string]int64, asked map[string]string,
	types ...string,
) error {
	for i := range s.Attributes {
		a := &s.Attributes[i]
		if !slices.Contains(types, a.Type) {
			continue
		}
		text, ok := asked[a.Name]
		if !ok {
			text = a.word
		}
		var err error
		switch {
		case ok || a.value.root == nil:
			into[i], err = a.parse(text)
		case a.Type == "int":
			var v int64
			v, err = a.value.Int(integersNamed(dims, nil))
			into[i] = a.integer(v)
		default:
			var v float64
			v, err = a.value.Float(func(name string) (float64, bool) {
				x, ok := dims[name]
				return float64(x),
					ok
			})
			if err == nil && !(math.Abs(v) <= math.MaxFloat32) {
				err = fmt.Errorf("the default %v of %s is no fp32 number", v, a.Name)
			}
			into[i] = a.float(v)
		}
		if err != nil {
			return Usagef("%s: attribute %v", s.Name, err)
		}
	}
	return nil
}

// integersNamed looks names up among dims and attributes.
func integersNamed(dims map[string]int64, attributes Attrs) func(string) (int64, bool) {
	return func(name string) (int64, bool) {
		if v, ok := dims[name]; ok {
			return v, true
		}
		a, ok := attributes.Lookup(name)
		return int64(a.Number), ok
	}
}

// sizes looks names up in a resolved case.
func (s *Spec) sizes(dims Dims, attributes Attrs) func(string) (int64, bool) {
	return func(name string) (int64, bool) {
		if v, ok := s.Size(dims, name); ok {
			return v, true
		}
		a, ok := attributes.Lookup(name)
		return int64(a.Number), ok
	}
}

// holds reports whether a condition holds: of integers, or of floats where it names such attributes.
func (e Expression) holds(
	whole func(string) (int64, bool),
	number func(string) (float64, bool),
) (bool, error) {
	if e.float {
		v, err := e.Float(number)
		return v != 0, err
	}
	v, err := e.Int(whole)
	return v != 0, err
}

// meets returns an error for the condition of the spec that does not hold, with the values that break it.
func (s *Spec) meets(dims Dims, attributes Attrs) error {
	look := s.sizes(dims, attributes)
	number := func(name string) (float64, bool) {
		if v, ok := s.Size(dims, name); ok {
			return float64(v), true
		}
		a, ok := attributes.Lookup(name)
		return a.Number, ok
	}
	for _, condition := range s.require {
		holds, err := condition.holds(look, number)
		if err != nil {
			return Usagef("%s: require %s: %v", s.Name, condition, err)
		}
		if !holds {
			values := make([]string, len(condition.names))
			for i, name := range condition.names {
				x, _ := number(name)
				values[i] = name + " = " + strconv.FormatFloat(x, 'f', -1, 64)
			}
			return Usagef("%s: %s: want %s", s.Name, strings.Join(values, ", "), condition)
		}
	}
	return nil
}

func (s *Spec) knowDims(names []string) error {
	for _, name := range names {
		if !s.isDim(name) {
			return Usagef("%s: unknown dim %q: want one of %s", s.Name, name, s.dimNames())
		}
	}
	return nil
}

func (s *Spec) knowAttributes(names []string) error {
	for _, name := range names {
		if _, ok := s.attribute(name); ok {
			continue
		}
		if len(s.Attributes) == 0 {
			return Usagef("%s: unknown attribute %q: it has none", s.Name, name)
		}
		all := make([]string, len(s.Attributes))
		for i, a := range s.Attributes {
			all[i] = a.Name
		}
		return Usagef("%s: unknown attribute %q: want one of %s", s.Name, name, strings.Join(all, ", "))
	}
	return nil
}

func (s *Spec) dimNames() string {
	names := make([]string, len(s.Dims))
	for i, d := range s.Dims {
		names[i] = d.Name
	}
	return strings.Join(names, ", ")
}

// Inputs returns the inputs of the case's pass, in the order a kernel gets them.
func (s *Spec) Inputs(c Case) ([]TensorType, error) {
	inputs, _, err := s.passTensors(c)
	if err != nil {
		return nil, err
	}
	return s.types(inputs, c)
}

// Outputs returns the outputs of the case's pass, in the order a kernel gets them.
func (s *Spec) Outputs(c Case) ([]TensorType, error) {
	_, outputs, err := s.passTensors(c)
	if err != nil {
		return nil, err
	}
	return s.types(outputs, c)
}

// ForwardInputs returns the operator's own inputs, whatever the pass: what a row that recomputes needs in
// addition to the upstream gradients.
func (s *Spec) ForwardInputs(c Case) ([]TensorType, error) { return s.types(s.InputSpecs, c) }

// ForwardOutputs returns the operator's own outputs, whatever the pass: of these a backward takes saved ones.
func (s *Spec) ForwardOutputs(c Case) ([]TensorType, error) { return s.types(s.OutputSpecs, c) }

// Upstream returns the upstream gradients grad_<output>, one for each output the backward takes a gradient
// of.
func (s *Spec) Upstream(c Case) ([]TensorType, error) {
	if s.Backward == nil {
		return nil, nil
	}
	var specs []TensorSpec
	for _, name := range s.Backward.Inputs {
		of, ok := strings.CutPrefix(name, "grad_")
		if _, isOutput := s.Output(of); ok && isOutput {
			t, _ := s.backwardInput(name)
			specs = append(specs, t)
		}
	}
	return s.types(specs, c)
}

func (s *Spec) passTensors(c Case) (inputs, outputs []TensorSpec, err error) {
	if c.Pass == Backward && s.Backward == nil {
		return nil, nil, Usagef("%s has no backward pass", s.Name)
	}
	inputs, outputs = s.tensorSpecs(c.Pass)
	return inputs, outputs, nil
}

// types resolves tensors, and rejects sizes too large to hold.
func (s *Spec) types(specs []TensorSpec, c Case) ([]TensorType, error) {
	out := make([]TensorType, 0, len(specs))
	total := int64(0)
	for i := range specs {
		t, err := s.tensorType(&specs[i], c)
		if err != nil {
			return nil, err
		}
		n := int64(1) // of strides too, so an empty dim does not hide a large one
		for _, size := range t.Shape {
			if n, err = CheckedMul(n, max(size, 1)); err != nil || n > MaxElements {
				return nil, Usagef("%s: %s %v: want at most 2^40 elements", s.Name, t.Name, t.Shape)
			}
		}
		if total += n; total > MaxElements {
			words := make([]string, len(c.Dims))
			for i, d := range c.Dims {
				words[i] = fmt.Sprintf("%s=%d", d.Name, d.Value)
			}
			return nil, Usagef("%s %v, %s: want at most 2^40 elements in all its tensors", s.Name, c.Pass,
				strings.Join(words, " "))
		}
		out = append(out, t)
	}
	return out, nil
}

func (s *Spec) tensorType(t *TensorSpec, c Case) (TensorType, error) {
	d, err := tensorDType(t.DType, c)
	if err != nil {
		return TensorType{}, Usagef("%s: dtype of %s: %v", s.Name, t.Name, err)
	}
	sizesOf := t.shape.choices[c.Attrs.Text(t.shape.attribute)]
	shape, expressions := make([]int64, len(sizesOf)), make([]string, len(sizesOf))
	for i, e := range sizesOf {
		if shape[i], err = e.Int(s.sizes(c.Dims, c.Attrs)); err != nil {
			return TensorType{}, Usagef("%s: shape of %s: %v", s.Name, t.Name, err)
		}
		expressions[i] = e.String()
		if shape[i] < 0 {
			return TensorType{}, Usagef("%s: shape of %s: %s = %d: want no negative size", s.Name,
				t.Name, e, shape[i])
		}
	}
	return TensorType{
		Name: t.Name, DType: d, Shape: shape, Sizes: expressions, Optional: t.Optional,
		Given: t.Given, Differentiable: t.Differentiable,
		Strided: t.Differentiable || t.Strided, Fill: t.Fill,
	}, nil
}

func tensorDType(text string, c Case) (DType, error) {
	parts := strings.Split(c.DType, "_")
	switch {
	case text == "" || text == "$1":
		return ParseDType(parts[0])
	case text == "$2":
		return ParseDType(parts[len(parts)-1])
	}
	if name, ok := strings.CutPrefix(text, "$"); ok {
		return ParseDType(c.Attrs.Text(name))
	}
	return ParseDType(text)
}

// Cost returns the bytes and floating-point operations a case's pass needs at least, if its offsets or
// choices give elements to as many groups as they can.
func (s *Spec) Cost(c Case) (bytes, flops int64, err error) { return s.CostOfParts(c, -1) }

// CostOfParts returns the cost of a case in which so many groups have elements. If parts is negative, as
// many have as can.
func (s *Spec) CostOfParts(c Case, parts int64) (bytes, flops int64, err error) {
	inputs, outputs, err := s.passTensors(c)
	if err != nil {
		return 0, 0, err
	}
	types, err := s.types(slices.Concat(inputs, outputs), c)
	if err != nil {
		return 0, 0, err
	}
	element := map[string]int64{"size": types[0].DType.Size()}
	for _, t := range types {
		element["size_"+t.Name] = t.DType.Size()
		if t.Name == s.Costs.Parts {
			element["parts"] = t.Elements()
			if _, offsets := s.Input(t.Name); offsets {
				element["parts"] = max(t.Elements()-1, 0)
			}
		}
	}
	if parts >= 0 {
		element["parts"] = parts
	}
	look := func(name string) (int64, bool) {
		if v, ok := element[name]; ok {
			return v, true
		}
		return s.sizes(c.Dims, c.Attrs)(name)
	}
	cost := s.Costs.Forward
	if c.Pass == Backward {
		cost = s.Costs.Backward
	}
	if bytes, err = cost.bytes.Int(look); err != nil {
		return 0, 0, fmt.Errorf("cost of %s: %w", s.Name, err)
	}
	if flops, err = cost.flops.Int(look); err != nil {
		return 0, 0, fmt.Errorf("cost of %s: %w", s.Name, err)
	}
	return bytes, flops, nil
}

// Bound names one intermediate and limits its magnitude.
type Bound struct {
	Text  string
	Value float64
	Limit float64
}

// Bounds evaluates the limits of a case's pass, and those of the forward that a chained backward follows:
// magnitude returns the largest magnitude of a drawn tensor; stored is half the largest number of the case's
// first dtype.
func (s *Spec) Bounds(c Case, stored float64, magnitude func(tensor string) (float64, bool)) ([]Bound,
	error,
) {
	limits := s.Limits.Forward
	if c.Pass == Backward {
		limits = s.Limits.Backward
		if s.Backward.Chained {
			limits.fp32 = slices.Concat(s.Limits.Forward.fp32, limits.fp32)
			limits.stored = slices.Concat(s.Limits.Forward.stored, limits.stored)
		}
	}
	look := func(name string) (float64, bool) {
		if v, ok := magnitude(name); ok {
			return v, true
		}
		if v, ok := s.Size(c.Dims, name); ok {
			return float64(v), true
		}
		a, ok := c.Attrs.Lookup(name)
		return a.Number, ok
	}
	var bounds []Bound
	for _, list := range []struct {
		limit       float64
		expressions []Expression
	}{{0x1p126, limits.fp32}, {stored, limits.stored}} {
		for _, e := range list.expressions {
			v, err := evalFloat(e.root, look)
			if err != nil {
				return nil, fmt.Errorf("limit %s of %s: %w", e, s.Name, err)
			}
			bounds = append(bounds, Bound{e.text, v, list.limit})
		}
	}
	return bounds, nil
}
