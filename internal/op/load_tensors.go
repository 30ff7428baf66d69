package op

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

func (s *Spec) compileTensors() error {
	if len(s.InputSpecs) == 0 || len(s.OutputSpecs) == 0 {
		return errors.New("inputs, outputs: want at least one of each")
	}
	taken := s.sizeNames()
	for i := range s.InputSpecs {
		t := &s.InputSpecs[i]
		if err := s.compileTensor("input", t, taken); err != nil {
			return err
		}
		if t.Optional || t.MayBeNegInf || t.MayBeInf || t.Given {
			return fmt.Errorf("input %s: optional, may_be_neg_inf, may_be_inf and given belong to outputs",
				t.Name)
		}
	}
	for i := range s.OutputSpecs {
		t := &s.OutputSpecs[i]
		if err := s.compileTensor("output", t, taken); err != nil {
			return err
		}
		if t.Differentiable || t.Strided || t.Fill != "" {
			return fmt.Errorf("output %s: differentiable, strided and fill belong to what is read", t.Name)
		}
	}
	return nil
}

// sizeNames returns the names of dims and attributes, which no tensor may have: formulas over both would be
// ambiguous.
func (s *Spec) sizeNames() map[string]bool {
	names := map[string]bool{}
	for _, d := range s.Dims {
		names[d.Name] = true
	}
	for _, a := range s.Attributes {
		names[a.Name] = true
	}
	return names
}

// compileTensor compiles name, dtype and shape of one tensor.
func (s *Spec) compileTensor(what string, t *TensorSpec, taken map[string]bool) (err error) {
	if err := checkName(what, t.Name, taken); err != nil {
		return err
	}
	if err := s.checkTensorDType(t.DType); err != nil {
		return fmt.Errorf("%s %s: %w", what, t.Name, err)
	}
	if t.shape, err = s.compileShape(t.Shape); err != nil {
		return fmt.Errorf("%s %s: shape: %w", what, t.Name, err)
	}
	fill, err := ParseFill(t.Fill)
	if err == nil {
		err = s.checkFill(t, fill)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, t.Name, err)
	}
	return nil
}

// checkFill returns an error unless the sizes and attributes that offsets, places, classes, lengths, choices
// and blocks are drawn from exist.
func (s *Spec) checkFill(t *TensorSpec, fill Fill) error {
	if !slices.Contains(strings.Fields("offsets places classes lengths choices blocks about"), fill.Kind) {
		return nil
	}
	isDim := slices.ContainsFunc(s.Dims, func(d DimSpec) bool { return d.Name == fill.Of })
	of, isAttribute := s.attribute(fill.Of)
	switch {
	case (fill.Kind == "about" || fill.Kind == "blocks") && (!isAttribute || of.Type != "int"):
		return fmt.Errorf("fill %q: %s is no attribute of type int", t.Fill, fill.Of)
	case fill.Kind == "blocks" && len(t.shape.choices[""]) != 4:
		return fmt.Errorf("fill %q: want a tensor of batch, tokens, heads and blocks", t.Fill)
	case isDim || fill.Kind == "about":
	case !slices.Contains([]string{"lengths", "choices", "blocks"}, fill.Kind):
		return fmt.Errorf("fill %q: %s is no dim", t.Fill, fill.Of)
	case !isAttribute || of.Type != "int":
		return fmt.Errorf("fill %q: %s is neither a dim nor an attribute of type int", t.Fill, fill.Of)
	}
	if d, err := ParseDType(t.DType); fill.Kind != "about" && (err != nil || d.IsFloat()) {
		return fmt.Errorf("fill %q: dtype %q: want one of integers", t.Fill, t.DType)
	}
	if fill.Least != "" && !s.isNumber(fill.Least) {
		return fmt.Errorf("fill %q: %s is neither a dim nor an attribute", t.Fill, fill.Least)
	}
	if a, ok := s.attribute(fill.Ignoring); fill.Kind == "classes" && (!ok || a.Type != "int") {
		return fmt.Errorf("fill %q: %s is no attribute of type int", t.Fill, fill.Ignoring)
	}
	return nil
}

func (s *Spec) checkTensorDType(text string) error {
	name, reference := strings.CutPrefix(text, "$")
	switch {
	case text == "" || text == "$1" || text == "$2":
		return nil
	case !reference:
		_, err := ParseDType(text)
		return err
	}
	a, ok := s.attribute(name)
	if !ok || a.Type != "enum" {
		return fmt.Errorf("dtype %q: want $1, $2 or an enumeration of dtypes", text)
	}
	for _, v := range a.Values {
		if _, err := ParseDType(v); err != nil {
			return fmt.Errorf("dtype %q: %w", text, err)
		}
	}
	return nil
}

func (s *Spec) attribute(name string) (*AttributeSpec, bool) {
	for i := range s.Attributes {
		if s.Attributes[i].Name == name {
			return &s.Attributes[i], true
		}
	}
	return nil, false
}

// compileShape reads a list of expressions, or a table of such lists by the values of one enumeration.
func (s *Spec) compileShape(shape any) (shapeSpec, error) {
	if list, ok := shape.([]any); ok {
		sizes, err := s.compileSizes(list)
		return shapeSpec{choices: map[string][]Expression{"": sizes}}, err
	}
	table, _ := shape.(map[string]any)
	if len(table) != 1 {
		return shapeSpec{},
			errors.New("want a list of expressions, or a table of them by the values of one enumeration")
	}
	name := slices.Collect(maps.Keys(table))[0]
	a, _ := s.attribute(name)
	choices, _ := table[name].(map[string]any)
	if a == nil || a.Type != "enum" || len(choices) != len(a.Values) {
		return shapeSpec{}, fmt.Errorf("%q: want an enumeration and a shape for each of its values", name)
	}
	compiled := shapeSpec{attribute: name, choices: map[string][]Expression{}}
	for _, value := range a.Values {
		list, ok := choices[value].([]any)
		if !ok {
			return shapeSpec{}, fmt.Errorf("%s = %s has no shape: want a list of expressions", name, value)
		}
		sizes, err := s.compileSizes(list)
		if err != nil {
			return shapeSpec{}, err
		}
		compiled.choices[value] = sizes
	}
	return compiled, nil
}

// maxRank is the highest rank the kernel ABI carries.
const maxRank = 6

func (s *Spec) compileSizes(list []any) ([]Expression, error) {
	if len(list) > maxRank {
		return nil, fmt.Errorf("rank %d: want at most %d", len(list), maxRank)
	}
	sizes := make([]Expression, 0, len(list))
	for _, v := range list {
		text, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("size %v: want an expression in quotes", v)
		}
		e, err := ParseExpression(text, s.isNumber, false)
		if err != nil {
			return nil, err
		}
		sizes = append(sizes, e)
	}
	return sizes, nil
}

// compileBackward compiles the declared tensors and finds every name of the two lists.
func (s *Spec) compileBackward() error {
	b := s.Backward
	if b == nil {
		return nil
	}
	if len(b.Inputs) == 0 || len(b.Outputs) == 0 {
		return errors.New("backward.inputs, backward.outputs: want at least one of each")
	}
	taken := s.sizeNames()
	for i := range b.Tensors {
		if err := s.compileTensor("backward tensor", &b.Tensors[i], taken); err != nil {
			return err
		}
	}
	for _, list := range [][]string{b.Inputs, b.Outputs} {
		seen := map[string]bool{}
		for _, name := range list {
			if seen[name] {
				return fmt.Errorf("backward: %q occurs twice", name)
			}
			seen[name] = true
		}
	}
	for _, name := range b.Inputs {
		if _, err := s.backwardInput(name); err != nil {
			return err
		}
	}
	for _, in := range s.InputSpecs {
		if in.Differentiable && !slices.Contains(b.Outputs, "grad_"+in.Name) {
			return fmt.Errorf("backward.outputs: input %s is differentiable, so grad_%s is wanted",
				in.Name, in.Name)
		}
	}
	for _, name := range b.Outputs {
		if _, err := s.backwardOutput(name); err != nil {
			return err
		}
	}
	saves := slices.ContainsFunc(b.Inputs, func(name string) bool { _, ok := s.Output(name); return ok })
	if saves != b.Chained {
		return fmt.Errorf("backward.chained = %t: want %t, because its inputs hold %s saved output",
			b.Chained, saves, map[bool]string{true: "a", false: "no"}[saves])
	}
	return nil
}

// backwardInput resolves a name in backward.inputs: a declared tensor, an input, a saved output or an
// upstream gradient.
func (s *Spec) backwardInput(name string) (TensorSpec, error) {
	if t, ok := tensorNamed(s.Backward.Tensors, name); ok {
		return t, nil
	}
	if t, ok := s.Input(name); ok {
		return t, nil
	}
	if t, ok := s.Output(name); ok {
		return t, nil
	}
	if of, ok := strings.CutPrefix(name, "grad_"); ok {
		if t, ok := s.Output(of); ok {
			// an upstream gradient follows the case's layout
			t.Name, t.Optional, t.MayBeNegInf, t.MayBeInf = name, false, false, false
			t.Given, t.Differentiable = false, true
			return t, nil
		}
	}
	return TensorSpec{},
		fmt.Errorf("backward.inputs: %q is no input, output, grad_<output> or [[backward.tensors]]", name)
}

// backwardOutput resolves the gradient of a name in backward.outputs.
func (s *Spec) backwardOutput(name string) (TensorSpec, error) {
	of, _ := strings.CutPrefix(name, "grad_")
	in, ok := s.Input(of)
	if !ok || name == of || !in.Differentiable {
		return TensorSpec{}, fmt.Errorf("backward.outputs: %q: want grad_<input> of a differentiable input",
			name)
	}
	if t, ok := tensorNamed(s.Backward.Tensors, name); ok {
		return t, nil
	}
	in.Name, in.Fill, in.Differentiable = name, "", false
	return in, nil
}

// tensorSpecs lists the inputs and outputs of a pass.
func (s *Spec) tensorSpecs(pass Pass) (inputs, outputs []TensorSpec) {
	if pass != Backward {
		return s.InputSpecs, s.OutputSpecs
	}
	if s.Backward == nil {
		return nil, nil
	}
	for _, name := range s.Backward.Inputs {
		t, _ := s.backwardInput(name)
		inputs = append(inputs, t)
	}
	for _, name := range s.Backward.Outputs {
		t, _ := s.backwardOutput(name)
		outputs = append(outputs, t)
	}
	return inputs, outputs
}
