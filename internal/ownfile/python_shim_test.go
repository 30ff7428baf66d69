package ownfile

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/extents"
	"triad/internal/ownfile/shim"
)

// namedAsInSpec returns a Python function for each pass of an operator, with a parameter for each input and
// attribute.
func namedAsInSpec(spec *op.Spec) string {
	text := "import torch\n"
	for _, pass := range spec.Passes() {
		name := spec.Name
		var parameters, returned []string
		for _, t := range spec.InputSpecs {
			parameters = append(parameters, t.Name)
		}
		for _, t := range spec.OutputSpecs {
			returned = append(returned, t.Name)
		}
		if pass == op.Backward {
			name += "_backward"
			parameters, returned = slices.Clone(spec.Backward.Inputs), spec.Backward.Outputs
		}
		for _, a := range spec.Attributes {
			parameters = append(parameters, a.Name)
		}
		text += "\n\ndef " + name + "(" + strings.Join(parameters, ", ") + "):\n    return " +
			strings.Join(returned, ", ") + "\n"
	}
	return text
}

// Every size that generated Python code uses is read from a tensor or an attribute.
func TestPythonShimKnowsItsSizes(t *testing.T) {
	assigned, used := regexp.MustCompile(`(?m)^    (dim_\w+) = `), regexp.MustCompile(`\bdim_\w+`)
	for _, o := range catalog.All() {
		r := binding.Request{Path: "mine.py", Parse: parsed}
		bindings, err := Bind(Read(r, namedAsInSpec(o.Spec), nil), r, o.Spec, o.Spec.Passes(),
			binding.Options{})
		if err != nil {
			continue // some inputs are not passed this way
		}
		for _, function := range strings.Split(shim.PythonShim("mine.py", "mine", bindings), "\ndef ")[1:] {
			known := map[string]bool{}
			for line := range strings.Lines(function) {
				for _, name := range used.FindAllString(assigned.ReplaceAllString(line, ""), -1) {
					if !known[name] {
						t.Errorf("%s: %s is used before it is known: %s", o.Spec.Name, name, line)
					}
				}
				if m := assigned.FindStringSubmatch(line); m != nil {
					known[m[1]] = true
				}
			}
		}
	}
}

// The shape of a gradient that depends on an attribute follows the attribute's value in the call.
func TestPythonShapesFollowTheAttribute(t *testing.T) {
	seen := 0
	for _, o := range catalog.All() {
		r := binding.Request{Path: "mine.py", Parse: parsed}
		bindings, err := Bind(Read(r, namedAsInSpec(o.Spec), nil), r, o.Spec, o.Spec.Passes(),
			binding.Options{})
		if err != nil {
			continue
		}
		for _, b := range bindings {
			for _, output := range b.OutputSpecs {
				a, values := extents.ShapedBy(b, output)
				if values != nil && shim.IsReturned(b, output) && b.Named[a.Name] == "" {
					seen++
					want := "[attributes[\"" + a.Name + "\"]]"
					if text := extents.PythonShape(b, output, false); !strings.Contains(text, want) {
						t.Errorf("%s: the shape of %s is %s: want %s", o.Spec.Name, output.Name, text, want)
					}
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no operator has such an output")
	}
}
