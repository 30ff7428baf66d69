package op

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// compileCheck reads the distributions and the marked shapes.
func (s *Spec) compileCheck() error {
	c := &s.Check
	if len(c.Distributions) == 0 || c.Distributions[0] != "normal" {
		return errors.New("check.distributions: want normal first")
	}
	if err := each("check.distributions", c.Distributions, Distributions); err != nil {
		return err
	}
	if err := each("check.quick", c.Quick, c.Distributions[1:]); err != nil {
		return err
	}
	if err := c.checkMeanings(); err != nil {
		return err
	}
	for _, name := range c.Logits {
		if _, ok := s.Input(name); !ok {
			return fmt.Errorf("check.logits: there is no input %q", name)
		}
	}
	for name, pins := range c.Pins {
		if !slices.Contains(c.Distributions, name) {
			return fmt.Errorf("check.pins: %q is none of check.distributions", name)
		}
		if _, err := s.pinned(pins); err != nil {
			return fmt.Errorf("check.pins.%s: %w", name, err)
		}
	}
	if err := c.Trivial.compile(s); err != nil {
		return err
	}
	if n := len(c.Shapes); n == 0 || n > maxShapes {
		return fmt.Errorf("check.shapes: %d shapes: want 1 to %d", n, maxShapes)
	}
	marked, quick := 0, 0
	for i, entry := range c.Shapes {
		shape, err := s.compileCheckShape(entry)
		if err != nil {
			return fmt.Errorf("check.shapes, entry %d: %w", i+1, err)
		}
		s.shapes = append(s.shapes, shape)
		marked += int(truth(shape.all))
		quick += int(truth(shape.quick))
	}
	if marked < 1 || marked > maxAllMarks {
		return fmt.Errorf("check.shapes: %d are marked all: want 1 to %d", marked, maxAllMarks)
	}
	if n := quick + len(c.Quick) + 1; quick < 1 || n > maxQuick {
		return fmt.Errorf("check: %d quick shapes and %d quick distributions: want at least one shape, and "+
			"at most %d in all", quick, len(c.Quick), maxQuick-1)
	}
	return nil
}

// checkMeanings reads the entries that define what a distribution means for the operator.
func (c *CheckSpec) checkMeanings() error {
	if c.Row < 0 {
		return fmt.Errorf("check.row = %d: want at least 1, or nothing for tensors of one dim as one row",
			c.Row)
	}
	kinds := []string{"one_hot", "halves", "midpoints", "wide", "total", "apart", "order"}
	if c.Integers != "" && !slices.Contains(kinds, c.Integers) {
		return fmt.Errorf("check.integers = %q: want one of %s, or nothing for small integers", c.Integers,
			strings.Join(kinds, ", "))
	}
	if !slices.Contains([]string{"", "each", "rows", "products"}, c.NonFinite) {
		return fmt.Errorf("check.non_finite = %q: want each, rows, products, or nothing for one number in "+
			"a tensor", c.NonFinite)
	}
	for _, name := range c.NoUpstreams {
		if !slices.Contains(Upstreams[1:], name) {
			return fmt.Errorf("check.no_upstreams: %q is none of %v", name, Upstreams[1:])
		}
	}
	if n := len(c.Logits); n != 0 && n != 2 {
		return fmt.Errorf("check.logits: %v: want the two inputs whose product makes the logits, or nothing",
			c.Logits)
	}
	return nil
}

// each accepts a list iff every entry is allowed and occurs once.
func each(what string, list, allowed []string) error {
	for i, name := range list {
		if !slices.Contains(allowed, name) {
			return fmt.Errorf("%s: %q: want of %s", what, name, strings.Join(allowed, ", "))
		}
		if slices.Contains(list[:i], name) {
			return fmt.Errorf("%s: %q occurs twice", what, name)
		}
	}
	return nil
}

func (s *Spec) compileCheckShape(entry map[string]any) (checkShape, error) {
	shape := checkShape{dims: map[string]int64{}}
	pins := map[string]any{}
	for key, v := range entry {
		var ok bool
		switch {
		case key == "all":
			shape.all, ok = v.(bool)
		case key == "quick":
			shape.quick, ok = v.(bool)
		case key == "device":
			shape.device, ok = v.(string)
			ok = ok && shape.device == "gpu"
		case s.isDim(key):
			shape.dims[key], ok = v.(int64)
		default:
			pins[key], ok = v, true
		}
		if !ok {
			return shape, fmt.Errorf("%s = %v: want an integer for a dim, true or false for all and quick, "+
				"\"gpu\" for device", key, v)
		}
	}
	var err error
	shape.attributes, err = s.pinned(pins)
	return shape, err
}

// pinned reads attribute values from a file.
func (s *Spec) pinned(pins map[string]any) (map[string]string, error) {
	out := map[string]string{}
	for name, v := range pins {
		a, ok := s.attribute(name)
		if !ok {
			return nil, fmt.Errorf("unknown key %q: want a dim, an attribute, all, quick or device", name)
		}
		value, err := a.parse(wordOf(v))
		if err != nil {
			return nil, err
		}
		out[name] = value.Text
	}
	return out, nil
}

// proveShapes resolves every shape of [check] and [[bench]] with every combination of attributes, dtype and
// pass, including costs, so that no spec can fail later.
func (s *Spec) proveShapes() error {
	for i, shape := range s.shapes {
		if err := s.prove(shape.dims, shape.attributes, nil); err != nil {
			return fmt.Errorf("check.shapes, entry %d: %w", i+1, err)
		}
	}
	for i, dims := range slices.Concat([]map[string]int64{s.Check.Truth.Sampled}, s.Check.Truth.ByRows) {
		if dims == nil {
			continue
		}
		if err := s.prove(dims, nil, nil); err != nil {
			return fmt.Errorf("check.truth, shape %d: %w", i+1, err)
		}
	}
	for _, b := range s.Bench {
		pins, err := s.pinned(b.Attributes)
		if err == nil && b.Name == "" {
			err = errors.New("want a name")
		}
		if err == nil {
			err = each("dtypes", b.DTypes, s.DTypes)
		}
		if err == nil {
			err = s.prove(b.Dims, pins, b.DTypes)
		}
		if err != nil {
			return fmt.Errorf("bench %q: %w", b.Name, err)
		}
	}
	return nil
}

func (s *Spec) prove(dims map[string]int64, pins map[string]string, dtypes []string) error {
	for _, pass := range s.Passes() {
		for _, dtype := range s.PassDTypes(pass) {
			if len(dtypes) > 0 && !slices.Contains(dtypes, dtype) {
				continue
			}
			for _, attributes := range s.combinations(pins) {
				d, a, err := s.Resolve(dims, attributes)
				if err != nil {
					return err
				}
				c := Case{Op: s.Name, Pass: pass, DType: dtype, Dims: d, Attrs: a}
				if _, _, err := s.Cost(c); err != nil {
					return err
				}
				if _, err := s.ForwardInputs(c); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// combinations lists every combination of the booleans and enumerations that pins leaves free, the last
// varying fastest.
func (s *Spec) combinations(pins map[string]string) []map[string]string {
	all := []map[string]string{{}}
	for _, a := range s.Attributes {
		values := a.Values
		if a.Type == "bool" {
			values = []string{"false", "true"}
		}
		if pin, ok := pins[a.Name]; ok {
			values = []string{pin}
		}
		if len(values) == 0 {
			continue
		}
		grown := make([]map[string]string, 0, len(all)*len(values))
		for _, c := range all {
			for _, v := range values {
				next := map[string]string{a.Name: v}
				for k, x := range c {
					next[k] = x
				}
				grown = append(grown, next)
			}
		}
		all = grown
	}
	return all
}
