package kernelfile

import (
	"fmt"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
)

// switchOf returns the switch without which a tensor has no element, the bool among the factors of its sizes:
// add of residual["rows * add", "cols"], or "" if it has none.
func (b *Binding) switchOf(t op.TensorSpec) string {
	sizes, _ := t.Shape.([]any)
	for _, size := range sizes {
		for _, factor := range dimsOf(fmt.Sprint(size)) {
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
	}{{Input, b.inputs}, {Output, b.outputs}} {
		for _, t := range side.tensors {
			if b.switchOf(t) == name {
				decides, on = true, on || b.has(side.role, t.Name)
			}
		}
	}
	return decides, on
}

// leftOut reports whether a function may do without a tensor: it has no element under the switch that the
// function is judged with.
func (b *Binding) leftOut(t op.TensorSpec) bool {
	name := b.switchOf(t)
	if name == "" || b.has(Attribute, name) || b.Options.Attrs[name] == "true" {
		return false
	}
	i := slices.IndexFunc(b.Spec.Attributes, func(a op.AttributeSpec) bool { return a.Name == name })
	if b.setsSwitch(b.Spec.Attributes[i]) {
		return false
	}
	_, on := b.switched(name)
	return !on
}

// leaveOptional leaves optional parameters of a Python function for what a switch adds at their defaults if
// the function has no parameter for an output that the switch adds as well: a residual, but not its sum.
func (b *Binding) leaveOptional() {
	if b.Function.Kind != cfacts.Python || !b.fills() {
		return
	}
	for _, i := range b.unmatched(Output, b.outputs) {
		name := b.switchOf(b.outputs[i])
		of := func(a Argument) bool { return a.Role == Input && b.switchOf(b.inputs[a.Index]) == name }
		needed := func(a Argument) bool { return of(a) && !a.Optional }
		if name == "" || slices.ContainsFunc(b.Args, needed) {
			continue
		}
		for k := range b.Args {
			if of(b.Args[k]) && !b.stated(b.Args[k]) {
				b.Args[k].Role, b.Args[k].Target = Nothing, ""
			}
		}
	}
}

// leftOutInputs returns the positions of the inputs that are left out, as Python lists them.
func (b *Binding) leftOutInputs() string {
	var positions strings.Builder
	for i, t := range b.inputs {
		if b.leftOut(t) {
			fmt.Fprintf(&positions, "%d: None, ", i)
		}
	}
	return strings.TrimRight(positions.String(), " ")
}

// leftOutUpstream returns the positions of the upstream gradients of outputs that are left out; they follow
// the inputs of the forward.
func (b *Binding) leftOutUpstream() string {
	var positions strings.Builder
	at := len(b.inputs)
	inputs, _ := b.Spec.Tensors(op.Backward)
	for _, t := range inputs {
		of, found := strings.CutPrefix(t.Name, "grad_")
		if !found {
			continue
		}
		if output, ok := b.Spec.Output(of); ok && b.leftOut(output) {
			fmt.Fprintf(&positions, "%d: None, ", at)
		}
		at++
	}
	return strings.TrimRight(positions.String(), " ")
}

// leftOutReturns returns, by position, the outputs among those of a function that it does not return: those
// that are left out, and sums that triad makes.
func (b *Binding) leftOutReturns() string {
	var outputs strings.Builder
	for i, name := range b.givenNames() {
		for _, t := range b.outputs {
			if terms := b.sumOf(t); t.Name == name && len(terms) > 0 {
				fmt.Fprintf(&outputs, "%d: (in_%s + in_%s).reshape((%s)).contiguous(), ", i, terms[0],
					terms[1], b.pythonShape(t, false))
			} else if t.Name == name && b.leftOut(t) {
				fmt.Fprintf(&outputs, "%d: out_%s, ", i, name)
			}
		}
	}
	return strings.TrimRight(outputs.String(), " ")
}

// ofAngles reports whether a function computes cosines or sines of angles: __sinf, cospi.
func ofAngles(name string) bool {
	name = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(name, "__"), "f"), "pi")
	return name == "sin" || name == "cos" || name == "sincos"
}

// makesTables names the tables of an operator that a function has no parameter for and that its lines compute
// themselves, from positions and a base. Computed in 32 bits they differ from the operator's by more than the
// rounding of a rotation, increasingly so with the distance of a token from the first, so that they cannot be
// told from wrong ones.
func (b *Binding) makesTables() (tables []string) {
	for _, name := range b.Spec.Own.Wide {
		if b.has(Input, name) {
			return nil
		}
		tables = append(tables, name)
	}
	if len(tables) == 0 || !slices.ContainsFunc(b.namesCalled(), ofAngles) {
		return nil
	}
	return tables
}

// namesCalled returns the names that the function and the other functions of its file call.
func (b *Binding) namesCalled() (all []string) {
	for _, fn := range append([]cfacts.Function{b.Function}, b.others...) {
		if fn.Kind == cfacts.Python {
			all = slices.Concat(all, fn.Parsed().Calls, fn.Parsed().KernelCalls)
		}
		for i := 0; i+1 < len(fn.Body); i++ {
			if fn.Body[i+1].Text == "(" {
				all = append(all, fn.Body[i].Text)
			}
		}
	}
	return all
}

// refuseOwnTables returns the advice for a function that computes tables which the operator takes as inputs.
func (b *Binding) refuseOwnTables(tables []string) error {
	shape := shapeWords(b.shape(b.inputs[named(b.inputs, tables[0])]))
	return b.errorf("it makes %[1]s itself, and made in 32 bits they are others than those that %[2]s is "+
		"given: write a function beside it that takes %[1]s, %[3]s, and calls what rotates, and "+
		"judge that: --add FILE:FUNCTION", strings.Join(tables, " and "), b.Spec.Name, shape)
}
