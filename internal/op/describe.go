package op

import (
	"maps"
	"slices"
	"strings"
)

// Tensors lists what a pass reads and writes as the spec declares it, in the order a kernel gets it.
func (s *Spec) Tensors(pass Pass) (inputs, outputs []TensorSpec) { return s.tensorSpecs(pass) }

// ShapeText is the shape as formulas: "[rows, cols]", or by the values of an enumeration: "[1]
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
