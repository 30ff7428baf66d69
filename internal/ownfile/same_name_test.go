package ownfile

import (
	"testing"

	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
)

// Python runs the last definition of a name; of C++ overloads the first one is judged.
func TestOneOfEachName(t *testing.T) {
	for kind, want := range map[cfacts.Kind]int{cfacts.Python: 9, cfacts.Host: 3} {
		var fit []*binding.Binding
		for _, line := range []int{3, 9, 5} {
			fit = append(fit, &binding.Binding{Function: cfacts.Function{Name: "f", Kind: kind, Line: line}})
		}
		left := oneOfEachName(fit)
		if len(left) != 1 || left[0].Function.Line != want || len(left[0].Notes)+len(fit[1].Notes) == 0 {
			t.Errorf("kind %v: %d left, the first of line %d, want line %d", kind, len(left),
				left[0].Function.Line, want)
		}
	}
}
