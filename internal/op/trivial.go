package op

import (
	"fmt"
	"slices"
	"strings"
)

// TrivialSpec names the cases whose answer is trivial by design: everything is 0, or one value, so that a
// wrong output may pass too. They are judged like all others; the share of cases that can tell right from
// wrong leaves them out.
type TrivialSpec struct {
	Distributions []string `toml:"distributions"`
	Upstreams     []string `toml:"upstreams"`
	Shapes        []string `toml:"shapes"` // conditions over dims and attributes: one column, an empty sum

	conditions []Expression
}

// compile proves the names and conditions of a spec.
func (t *TrivialSpec) compile(s *Spec) error {
	if err := each("check.trivial.distributions", t.Distributions, s.Check.Distributions); err != nil {
		return err
	}
	if err := each("check.trivial.upstreams", t.Upstreams, Upstreams); err != nil {
		return err
	}
	for _, text := range t.Shapes {
		e, err := ParseExpression(text, s.isNumber, false)
		if err != nil {
			return fmt.Errorf("check.trivial.shapes: %w", err)
		}
		t.conditions = append(t.conditions, e)
	}
	return nil
}

// Trivial returns why a case's answer is trivial by design: "zeros", "upstream ones", "cols <= 1"; "" where
// it is not.
func (s *Spec) Trivial(c Case) string {
	t := &s.Check.Trivial
	switch {
	case slices.Contains(t.Distributions, c.Distribution):
		return c.Distribution
	case c.Upstream != "" && slices.Contains(t.Upstreams, c.Upstream):
		return "upstream " + c.Upstream
	case c.Upstream == "expanded" && slices.Contains(t.Upstreams, "ones"): // it holds one number, too
		return "upstream expanded"
	}
	for _, condition := range t.conditions {
		if v, err := condition.Int(s.sizes(c.Dims, c.Attrs)); err == nil && v != 0 {
			return condition.String()
		}
	}
	return ""
}

// String lists the trivial cases: "zeros, constant; upstream zeros; cols <= 1".
func (t TrivialSpec) String() string {
	var parts []string
	if len(t.Distributions) > 0 {
		parts = append(parts, strings.Join(t.Distributions, ", "))
	}
	if len(t.Upstreams) > 0 {
		parts = append(parts, "upstream "+strings.Join(t.Upstreams, ", "))
	}
	if len(t.Shapes) > 0 {
		parts = append(parts, strings.Join(t.Shapes, ", "))
	}
	return strings.Join(parts, "; ")
}
