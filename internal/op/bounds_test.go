package op

import (
	"strings"
	"testing"
)

// TestBounds: a value outside of an attribute's bounds is rejected, for a float as fp32 has it.
func TestBounds(t *testing.T) {
	zero, one := 0.0, 1.0
	p := AttributeSpec{Name: "p", Type: "float", Least: &zero, Below: &one}
	seed := AttributeSpec{Name: "seed", Type: "int", Least: &zero}
	for _, c := range []struct {
		attribute AttributeSpec
		text      string
		refused   string
	}{
		{p, "0", ""},
		{p, "0.5", ""},
		{p, "0.9999999", ""},
		{seed, "0", ""},
		{seed, "9007199254740992", ""},
		{p, "1", "want a number of at least 0 and below 1"},
		{p, "0.99999999", "below 1"}, // 1 in fp32
		{p, "-0.1", "at least 0"},
		{seed, "-1", "want an integer of at least 0"},
	} {
		_, err := c.attribute.parse(c.text)
		switch {
		case c.refused == "" && err != nil:
			t.Errorf("%s = %s: %v, want none", c.attribute.Name, c.text, err)
		case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
			t.Errorf("%s = %s: %v, want %q", c.attribute.Name, c.text, err, c.refused)
		}
	}
}
