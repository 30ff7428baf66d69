package op

import (
	"slices"
	"testing"
)

// TestGrouped: two sizes are grouped if one must be a multiple of the other; a multiple of a number is not.
func TestGrouped(t *testing.T) {
	s := &Spec{Dims: []DimSpec{{Name: "a"}, {Name: "b"}}}
	for condition, want := range map[string][]string{
		"a % b == 0": {"a", "b"}, "a%b==0": {"a", "b"},
		"a % 2 == 0": nil, "a % c == 0": nil, "a % b != 0": nil,
	} {
		if s.Require = []string{condition}; !slices.Equal(s.Grouped(), want) {
			t.Errorf("%s: %v, want %v", condition, s.Grouped(), want)
		}
	}
}
