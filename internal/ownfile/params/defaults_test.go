package params

import (
	"testing"

	"triad/internal/ownfile/cfacts"
)

// The default of a parameter tells an axis that is counted from the end, and a mask, from other numbers.
func TestDefaultsOfParameters(t *testing.T) {
	for _, c := range []struct {
		name, text string
		axis, mask bool
	}{
		{"dim", "dim: int = -1", true, false},
		{"axis", "axis=- 2", true, false},
		{"n", "n = 1", false, false},
		{"eps", "eps=-1e-5", false, false},
		{"n", "n", false, false},
		{"attn_mask", "attn_mask: Optional[Tensor] = None", false, true},
		{"Mask", "Mask=None", false, true},
		{"mask", "mask=False", false, false},
		{"bias", "bias=None", false, false},
	} {
		p := cfacts.Param{Name: c.name, Text: c.text}
		if got := countsFromEnd(p); got != c.axis {
			t.Errorf("%q counts from the end: %v", c.text, got)
		}
		if got := isOptionalMask(p); got != c.mask {
			t.Errorf("%q is an optional mask: %v", c.text, got)
		}
	}
}

// A word of --map is a number where it is written as one.
func TestIsNumber(t *testing.T) {
	for word, want := range map[string]bool{
		"1": true, "-0.5": true, "1e-6": true, "3.": true, "": false, "x": false, "inf": false, "nan": false,
		"0x10": false, "1_000": false, "-": false, "e": false, "rows": false,
	} {
		if got := IsNumber(word); got != want {
			t.Errorf("%q is a number: %v", word, got)
		}
	}
}
