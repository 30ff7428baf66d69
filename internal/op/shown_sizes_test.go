package op

import (
	"strings"
	"testing"
)

// TestFollowsFrom: a dim that no input shows follows from a size that it is a term or a factor of.
func TestFollowsFrom(t *testing.T) {
	for _, c := range []struct {
		shape, dim string
		want       Follows
		ok         bool
	}{
		{`["rows", "cols + 1"]`, "cols", Follows{Axis: 1, Less: 1}, true},
		{`["rows * cols", "rows"]`, "cols", Follows{Over: "rows"}, true},
		{`["cols * rows", "rows"]`, "cols", Follows{Over: "rows"}, true},
		{`["rows", "ceildiv(cols, 2)"]`, "cols", Follows{}, false},
	} {
		text := strings.Replace(scale, `shape = ["rows", "cols"]
differentiable`, "shape = "+c.shape+`
differentiable`, 1)
		s, err := Load("scale.toml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := FollowsFrom(c.dim, s.InputSpecs); got != c.want || ok != c.ok {
			t.Errorf("%s in %s: %+v, %t; want %+v, %t", c.dim, c.shape, got, ok, c.want, c.ok)
		}
	}
}

// TestShownBy: a dim is read from a size that equals it, even after one that it is a part of, and otherwise
// from the part.
func TestShownBy(t *testing.T) {
	text := strings.NewReplacer(`["1"], fp32 = ["rows"]`, `["1"], fp32 = ["groups / 2"]`,
		`shape = ["rows", "cols"]
differentiable`, `shape = ["rows", "cols / 4"]
differentiable`).Replace(scale)
	for _, c := range []struct {
		weights, dim string
		want         Shown
		ok           bool
	}{
		{`["groups / 2", "rows / 2"]`, "rows", Shown{Tensor: 0, Axis: 0, Times: 1}, true},
		{`["groups / 2"]`, "groups", Shown{Tensor: 1, Axis: 0, Times: 2}, true},
		{`["1", "groups / 2"]`, "groups", Shown{Tensor: 1, Axis: 1, Times: 2}, true},
		{`["groups / 2"]`, "cols", Shown{Output: true, Tensor: 0, Axis: 1, Times: 1}, true},
		{`["2 * groups"]`, "groups", Shown{}, false},
		{`["groups + 2"]`, "groups", Shown{}, false},
	} {
		one := strings.Replace(text, `{ mode = { fp16 = ["1"], fp32 = ["groups / 2"] } }`, c.weights, 1)
		s, err := Load("scale.toml", []byte(one))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := ShownBy(c.dim, s.InputSpecs, s.OutputSpecs); got != c.want || ok != c.ok {
			t.Errorf("w %s: %s is %+v, %t; want %+v, %t", c.weights, c.dim, got, ok, c.want, c.ok)
		}
	}
}

// TestDefaultsKnownBy: a default is known where inputs show its dims; attributes are known anyway.
func TestDefaultsKnownBy(t *testing.T) {
	for text, want := range map[string]bool{
		"2 * groups": false, "rows": true, "rows + flip": true, "groups + flip": false, "3": true, "1": false,
	} {
		s, err := Load("scale.toml", []byte(strings.Replace(scale, `default = "2 * groups"`,
			`default = "`+text+`"`, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if known := s.DefaultsKnownBy(s.InputSpecs); len(known) == 1 != want {
			t.Errorf("%s: %v; want that it is known: %t", text, known, want)
		}
	}
}
