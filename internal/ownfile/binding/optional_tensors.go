package binding

import (
	"fmt"
	"slices"
	"strings"

	"triad/internal/op"
)

// SwitchOf returns the switch without which a tensor has no element, the bool among the factors of its sizes:
// add of residual["rows * add", "cols"], or "" if it has none.
func (b *Binding) SwitchOf(t op.TensorSpec) string {
	sizes, _ := t.Shape.([]any)
	for _, size := range sizes {
		for _, factor := range DimsOf(fmt.Sprint(size)) {
			for _, a := range b.Spec.Attributes {
				if a.Type == "bool" && a.Name == factor {
					return a.Name
				}
			}
		}
	}
	return ""
}

// switched reports whether a switch decides which tensors have elements, and whether the function has a
// parameter for one of them, in which case it is judged with the switch on.
func (b *Binding) switched(name string) (decides, on bool) {
	for _, side := range []struct {
		role    Role
		tensors []op.TensorSpec
	}{{Input, b.InputSpecs}, {Output, b.OutputSpecs}} {
		for _, t := range side.tensors {
			if b.SwitchOf(t) == name {
				decides, on = true, on || b.Has(side.role, t.Name)
			}
		}
	}
	return decides, on
}

// LeftOut reports whether a function may do without a tensor: it has no element under the switch that the
// function is judged with.
func (b *Binding) LeftOut(t op.TensorSpec) bool {
	name := b.SwitchOf(t)
	if name == "" || b.Has(Attribute, name) || b.Options.Attrs[name] == "true" {
		return false
	}
	i := slices.IndexFunc(b.Spec.Attributes, func(a op.AttributeSpec) bool { return a.Name == name })
	if b.setsSwitch(b.Spec.Attributes[i]) {
		return false
	}
	_, on := b.switched(name)
	return !on
}

// LeftOutInputs returns the positions of the inputs that are left out, as Python lists them.
func (b *Binding) LeftOutInputs() string {
	var positions strings.Builder
	for i, t := range b.InputSpecs {
		if b.LeftOut(t) {
			fmt.Fprintf(&positions, "%d: None, ", i)
		}
	}
	return strings.TrimRight(positions.String(), " ")
}

// LeftOutUpstream returns the positions of the upstream gradients of outputs that are left out; they follow
// the inputs of the forward.
func (b *Binding) LeftOutUpstream() string {
	var positions strings.Builder
	at := len(b.InputSpecs)
	inputs, _ := b.Spec.Tensors(op.Backward)
	for _, t := range inputs {
		of, found := strings.CutPrefix(t.Name, "grad_")
		if !found {
			continue
		}
		if output, ok := b.Spec.Output(of); ok && b.LeftOut(output) {
			fmt.Fprintf(&positions, "%d: None, ", at)
		}
		at++
	}
	return strings.TrimRight(positions.String(), " ")
}
