package op

import (
	"go/ast"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Tensors lists the inputs and outputs of a pass as the spec declares them, in the order a kernel gets them.
func (s *Spec) Tensors(pass Pass) (inputs, outputs []TensorSpec) { return s.tensorSpecs(pass) }

// ShapeText returns the shape as formulas: "[rows, cols]", or by the values of an enumeration: "[1]
// (scaling=tensor), [m] (scaling=row)".
func (t TensorSpec) ShapeText() string {
	var all []string
	for _, value := range slices.Sorted(maps.Keys(t.shape.choices)) {
		var sizes []string
		for _, e := range t.shape.choices[value] {
			sizes = append(sizes, e.String())
		}
		text := "[" + strings.Join(sizes, ", ") + "]"
		if value != "" {
			text += " (" + t.shape.attribute + "=" + value + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// Sizes returns the shape as expressions: those of each value of the enumeration called attribute, or under
// "" where the shape depends on none.
func (t TensorSpec) Sizes() (attribute string, choices map[string][]Expression) {
	return t.shape.attribute, t.shape.choices
}

// Conditions returns the spec's requirements on dims and attributes.
func (s *Spec) Conditions() []Expression { return s.require }

// StepOf returns the number that a dim must be a multiple of: 16 where the spec requires "k % 16 == 0", 1
// where it says nothing.
func (s *Spec) StepOf(dim string) int64 {
	for _, condition := range s.require {
		text, isMultiple := strings.CutPrefix(condition.text, dim+" % ")
		text, isZero := strings.CutSuffix(text, " == 0")
		if n, err := strconv.ParseInt(text, 10, 64); isMultiple && isZero && err == nil && n > 0 {
			return n
		}
	}
	return 1
}

// Tree returns the syntax of the expression: literals, names, parentheses, operators and calls of ceildiv,
// min, max and sqrt.
func (e Expression) Tree() ast.Expr { return e.root }

// FormulaOf returns the formula of a pass: where the spec states none for the backward, the gradients of the
// forward's.
func (s *Spec) FormulaOf(pass Pass) string {
	switch {
	case pass != Backward || s.Backward == nil:
		return s.Formula
	case s.Backward.Formula == "":
		return "the gradients of " + s.Formula
	}
	return s.Backward.Formula
}
