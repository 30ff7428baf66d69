package op

import (
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Shown is a size that determines a dim: the dim is Times size Axis of tensor Tensor of a pass's inputs or
// outputs.
type Shown struct {
	Output       bool
	Tensor, Axis int
	Times        int64
}

// ShownBy finds the first size that is a dim; where there is none, the first that is a part of it, as "k / 2"
// is of k. An optional output shows nothing.
func ShownBy(dim string, inputs, outputs []TensorSpec) (Shown, bool) {
	var part Shown
	for k, list := range [][]TensorSpec{inputs, outputs} {
		for i, t := range list {
			if t.Optional {
				continue
			}
			for axis, e := range t.shape.choices[""] {
				shown := Shown{Output: k == 1, Tensor: i, Axis: axis, Times: 1}
				if e.text == dim {
					return shown, true
				}
				text, isPart := strings.CutPrefix(e.text, dim+" / ")
				if n, err := strconv.ParseInt(text, 10, 64); isPart && part.Times == 0 && err == nil {
					part, part.Times = shown, n
				}
			}
		}
	}
	return part, part.Times > 0
}

// Follows is an input's size from which a dim follows: the dim is (size Axis of tensor Tensor - Less) / Over,
// an attribute or another dim, "" for nothing.
type Follows struct {
	Tensor, Axis int
	Less         int64
	Over         string
}

// FollowsFrom finds a dim that no input shows: in "segments + 1", or in "heads_kv * groups".
func FollowsFrom(dim string, inputs []TensorSpec) (Follows, bool) {
	for i, t := range inputs {
		if t.Optional {
			continue
		}
		for axis, e := range t.shape.choices[""] {
			at := Follows{Tensor: i, Axis: axis}
			if text, more := strings.CutPrefix(e.text, dim+" + "); more {
				n, err := strconv.ParseInt(text, 10, 64)
				if at.Less = n; err == nil {
					return at, true
				}
			}
			first, second, isProduct := strings.Cut(e.text, " * ")
			if first == dim {
				first, second = second, first
			}
			if isProduct && second == dim && token.IsIdentifier(first) {
				at.Over = first
				return at, true
			}
		}
	}
	return Follows{}, false
}

// Holds returns the dim that an attribute of an operator equals by default, or the attribute's own name.
func (a AttributeSpec) Holds() string {
	if text, isText := a.Default.(string); isText && a.Type == "int" && isName.MatchString(text) {
		return text
	}
	return a.Name
}

// Choices returns the values of an attribute that has a few: an enum's, a bool's, nothing for numbers.
func (a AttributeSpec) Choices() []string {
	if a.Type == "bool" {
		return []string{"true", "false"}
	}
	return a.Values
}

// Stored returns its name and that of the dim that it holds, if any, as a caller writes them.
func (a AttributeSpec) Stored(written func(string) string) []string {
	return slices.Compact([]string{written(a.Name), written(a.Holds())})
}

var isName = regexp.MustCompile(`^[a-z]\w*$`)

// HoldsSize reports whether an attribute equals a dim by default, so that giving the attribute gives the
// size.
func (s *Spec) HoldsSize(dim string) bool {
	return slices.ContainsFunc(s.Attributes, func(a AttributeSpec) bool { return a.Holds() == dim })
}

// DefaultsKnownBy lists the dims that inputs show, and whose defaults, other than 1, follow from what these
// show and from attributes.
func (s *Spec) DefaultsKnownBy(inputs []TensorSpec) []DimSpec {
	unknown := func(name string) bool {
		_, shown := ShownBy(name, inputs, nil)
		_, follows := FollowsFrom(name, inputs)
		return s.isDim(name) && !shown && !follows
	}
	return slices.DeleteFunc(slices.Clone(s.Dims), func(d DimSpec) bool {
		_, shown := ShownBy(d.Name, inputs, nil)
		return d.Default == "" || d.Default == "1" || !shown ||
			slices.ContainsFunc(d.value.names, unknown)
	})
}
