package main

import (
	"maps"
	"slices"

	"triad/internal/op"
)

// freeAttributes are the switches and words that a file is judged with since nothing else was said, with their other values.
func freeAttributes(spec *op.Spec, pins, asked map[string]string) map[string][]string {
	free := map[string][]string{}
	for _, a := range spec.Attributes {
		value, pinned := pins[a.Name]
		if _, said := asked[a.Name]; said || !pinned || value == "" {
			continue
		}
		values := a.Values
		if a.Type == "bool" {
			values = []string{"true", "false"}
		}
		for _, v := range values {
			if v != value {
				free[a.Name] = append(free[a.Name], v)
			}
		}
	}
	return free
}

// coverage is what files can be judged on: passes, dtypes, sizes that they take as one, and attributes that they have no parameter for.
type coverage struct {
	passes []op.Pass
	dtypes []string
	equal  [][]string
	pins   map[string]string // "" where two of them differ
}

func (c *coverage) add(pass op.Pass, dtypes []string, pins map[string]string, equal [][]string) {
	for _, group := range equal { // shapes of unequal sizes are given up for the file that has no parameters for them
		if !slices.ContainsFunc(c.equal, func(g []string) bool { return slices.Equal(g, group) }) {
			c.equal = append(c.equal, group)
		}
	}
	if !slices.Contains(c.passes, pass) {
		c.passes = append(c.passes, pass)
	}
	for _, d := range dtypes {
		if !slices.Contains(c.dtypes, d) {
			c.dtypes = append(c.dtypes, d)
		}
	}
	if c.pins == nil {
		c.pins = maps.Clone(pins)
		return
	}
	for name, value := range pins {
		if c.pins[name] != value {
			c.pins[name] = ""
		}
	}
	for name := range c.pins {
		if pins[name] != c.pins[name] {
			c.pins[name] = ""
		}
	}
}

// narrow asks for the cases that some added file can be judged on, where the user left that open: what no file takes says nothing about them.
func (o *ownFiles) narrow(options *op.Options) {
	var all coverage
	for _, f := range o.files {
		for _, pass := range f.covers.passes {
			all.add(pass, f.covers.dtypes, f.covers.pins, f.covers.equal)
		}
	}
	if len(options.Passes) == 0 {
		options.Passes = all.passes
	}
	if len(options.DTypes) == 0 {
		options.DTypes = all.dtypes
	}
	attributes := maps.Clone(options.Attributes)
	if attributes == nil {
		attributes = map[string]string{}
	}
	for name, value := range all.pins {
		if _, asked := attributes[name]; !asked && value != "" {
			attributes[name] = value
		}
	}
	options.Attributes, options.Equal = attributes, all.equal
}
