package extents

import (
	"regexp"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/layout"
)

// ReadExtents keeps, of the enumerations without a parameter that decide whether a tensor has one element,
// the value that the lines show by how they index it: "scale[row]" has more than one, "scale[0]" one.
func ReadExtents(b *binding.Binding) {
	for _, a := range b.Spec.Attributes {
		if a.Type != "enum" || b.Has(binding.Attribute, a.Name) || b.Options.Attrs[a.Name] != "" {
			continue
		}
		if value := valueOfMany(b, a); value != "" && b.Function.Kind == cfacts.Python && givesMany(b, a) {
			b.Named[a.Name] = value
		}
		if len(a.Values) != 2 {
			continue
		}
		if b.Function.Kind == cfacts.Python {
			extentInPython(b, a)
			continue
		}
		for _, arg := range b.Args {
			if arg.Role != binding.Output || arg.Adapter != layout.AsItLies || len(b.Places[arg.Name]) == 0 {
				continue
			}
			if one, decides := oneElement(b, b.OutputSpecs[arg.Index], a.Name); decides {
				value := one
				if indexed(b, arg.Name) {
					value = 1 - one
				}
				b.Named[a.Name] = a.Values[value]
			}
		}
	}
}

// lastSize matches the arguments of an extreme that is taken over a row.
var lastSize = regexp.MustCompile(
	`^(?:(?:dim|axis)\s*=\s*)?-?1(?:\s*,\s*(?:keepdim\s*=\s*)?(?:True|False))?$`)

// extentInPython keeps the value of an enumeration that the lines of a Python function show: each extreme is
// taken over a row, x.abs().amax(dim=-1), or each over the whole tensor, x.abs().max(). A function that takes
// others as well, or makes its output with another number of elements, shows nothing.
func extentInPython(b *binding.Binding, a op.AttributeSpec) {
	at := slices.IndexFunc(b.OutputSpecs, func(t op.TensorSpec) bool {
		_, decides := oneElement(b, t, a.Name)
		return decides && !t.Optional
	})
	if at < 0 {
		return
	}
	one, _ := oneElement(b, b.OutputSpecs[at], a.Name)
	ofRows, ofAll, others := 0, 0, 0
	for _, arguments := range b.Function.Parsed().Extremes {
		switch {
		case lastSize.MatchString(arguments):
			ofRows++
		case arguments == "":
			ofAll++
		case strings.Contains(arguments, "dim") || strings.Contains(arguments, "axis"):
			others++
		}
	}
	switch made := madeExtent(b, b.OutputSpecs[at]); {
	case others > 0 || ofRows > 0 && ofAll > 0:
	case ofAll > 0 && made == extentMany || ofRows > 0 && made == extentOne:
	case ofRows > 0, made == extentMany:
		b.Named[a.Name] = a.Values[1-one]
	case ofAll > 0, made == extentOne:
		b.Named[a.Name] = a.Values[one]
	}
}

// What the lines say about the number of elements that a tensor is made with.
const (
	extentUnstated = iota
	extentOne
	extentMany
)

// madeExtent returns the extent of an output that is returned by its name: many for torch.empty((M, 1)), one
// for torch.empty(1).
func madeExtent(b *binding.Binding, t op.TensorSpec) int {
	names := b.ReturnedNames()
	place := ReturnedAs(b, t, names)
	if place < 0 {
		return extentUnstated
	}
	return extentOf(b, names[place])
}

// extentOf returns the extent of the tensor that the lines make under a name.
func extentOf(b *binding.Binding, name string) int {
	switch made := b.Function.Parsed().Made[name]; {
	case made.Many:
		return extentMany
	case made.One:
		return extentOne
	}
	return extentUnstated
}

// valueOfMany returns the only value of an enumeration under which the output that depends on it has more
// than one element: reduction=none; "" if none or several are such.
func valueOfMany(b *binding.Binding, a op.AttributeSpec) (many string) {
	for _, t := range dependingOn(b, a) {
		by, _ := t.Shape.(map[string]any)
		values, _ := by[a.Name].(map[string]any)
		for _, value := range a.Values {
			list, _ := values[value].([]any)
			if len(list) == 1 && list[0] != any("1") {
				if many != "" && many != value {
					return ""
				}
				many = value
			}
		}
	}
	return many
}

// dependingOn returns the tensors of the pass whose sizes an enumeration chooses.
func dependingOn(b *binding.Binding, a op.AttributeSpec) (all []op.TensorSpec) {
	for _, t := range slices.Concat(b.InputSpecs, b.OutputSpecs) {
		if by, _ := t.Shape.(map[string]any); by[a.Name] != nil {
			all = append(all, t)
		}
	}
	return all
}

// givesMany reports whether the lines of a Python function show that the tensor which depends on an
// enumeration has an element for each row: a kernel addresses it by its program id alone, "loss_ptr + row",
// or it is made so, "loss = torch.empty(rows)", and returned unchanged.
func givesMany(b *binding.Binding, a op.AttributeSpec) bool {
	for _, t := range dependingOn(b, a) {
		if b.Function.Form == binding.KernelForm {
			at := slices.IndexFunc(b.Args, func(a binding.Argument) bool {
				return (a.Role == binding.Input || a.Role == binding.Output) && a.Target == t.Name
			})
			if at >= 0 && b.Function.FactsOf(b.Args[at].Name).ByProgram {
				return true
			}
			continue
		}
		name := b.Function.Parsed().Result
		if name == "" || b.Function.Parsed().Returns != 1 ||
			!slices.ContainsFunc(b.OutputSpecs, func(o op.TensorSpec) bool { return o.Name == t.Name }) {
			continue
		}
		many := extentOf(b, name) == extentMany || madeLikeRows(b, name)
		if many && b.Function.Parsed().Made[name].Times < 2 {
			return true
		}
	}
	return false
}

// madeLikeRows reports whether the lines make a tensor like an input that has one dimension, longer than 1:
// "losses = torch.empty_like(target)".
func madeLikeRows(b *binding.Binding, name string) bool {
	return slices.ContainsFunc(b.Args, func(a binding.Argument) bool {
		if a.Role != binding.Input || a.Name != b.Function.Parsed().Made[name].Like {
			return false
		}
		shape := Shape(b, b.InputSpecs[a.Index])
		return len(shape) == 1 && shape[0] != any("1")
	})
}

// indexed reports whether a place of a tensor is used that is not its first.
func indexed(b *binding.Binding, name string) bool {
	for _, place := range b.Places[name] {
		if _, index, _ := strings.Cut(place, ": "); index != "0" {
			return true
		}
	}
	return false
}

// oneElement returns the index of the value of an enumeration under which a tensor has one element, if it has
// more under the other.
func oneElement(b *binding.Binding, t op.TensorSpec, attribute string) (value int, decides bool) {
	list := Shape(b, t)
	if len(list) != 1 {
		return 0, false
	}
	text, _ := list[0].(string)
	e, err := op.ParseExpression(text, func(string) bool { return true }, false)
	if err != nil || !strings.Contains(text, attribute) {
		return 0, false
	}
	var extents [2]int64
	for value := range extents {
		extents[value], err = e.Int(func(name string) (int64, bool) {
			switch {
			case name == attribute:
				return int64(value), true
			case b.IsDim(name):
				return 7, true
			}
			return 0, true
		})
		if err != nil {
			return 0, false
		}
	}
	switch {
	case extents[0] == 1 && extents[1] > 1:
		return 0, true
	case extents[1] == 1 && extents[0] > 1:
		return 1, true
	}
	return 0, false
}
