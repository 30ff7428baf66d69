package op

import (
	"slices"
	"strings"
)

// NewCase completes a case: dims and attributes resolved, "" for layout, distribution and upstream taken as
// contiguous and normal. Whatever the spec does not allow is a *UsageError.
func (s *Spec) NewCase(c Case, dims map[string]int64, attributes map[string]string) (Case, error) {
	if !slices.Contains(s.Passes(), c.Pass) {
		return Case{}, Usagef("%s has no %s pass: want one of %v", s.Name, c.Pass, s.Passes())
	}
	if !slices.Contains(s.PassDTypes(c.Pass), c.DType) {
		return Case{}, Usagef("%s %s: unknown dtype %q: want one of %s", s.Name, c.Pass, c.DType,
			strings.Join(s.PassDTypes(c.Pass), ", "))
	}
	c.Op = s.Name
	if c.Layout == "" {
		c.Layout = "contiguous"
	}
	if c.Distribution == "" {
		c.Distribution = "normal"
	}
	saved := []string{""}
	upstreams := []string{""}
	if c.Pass == Backward {
		upstreams = Upstreams
		if s.Backward.Chained {
			saved = []string{"driver", "own"}
		}
		if c.Upstream == "" {
			c.Upstream = "normal"
		}
	}
	for _, word := range []struct {
		what, value string
		allowed     []string
	}{
		{"layout", c.Layout, Layouts},
		{"distribution", c.Distribution, s.Check.Distributions},
		{"upstream", c.Upstream, upstreams},
		{"saved", c.Saved, saved},
	} {
		if !slices.Contains(word.allowed, word.value) {
			return Case{}, Usagef("%s %s: unknown %s %q: want one of %s", s.Name, c.Pass, word.what,
				word.value, strings.Join(word.allowed, ", "))
		}
	}
	var err error
	if c.Dims, c.Attrs, err = s.Resolve(dims, attributes); err != nil {
		return Case{}, err
	}
	if _, _, err = s.Footprint(c); err != nil {
		return Case{}, err
	}
	return c, nil
}
