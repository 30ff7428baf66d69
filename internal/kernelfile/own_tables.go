package kernelfile

import (
	"regexp"
	"slices"
	"strings"

	"triad/internal/ownfile/cfacts"
)

// ofAngles matches functions that compute cosines and sines of angles.
var ofAngles = regexp.MustCompile(`^(?:__)?(?:sin|cos|sincos)(?:pi)?f?$`)

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
	if len(tables) == 0 || !slices.ContainsFunc(b.namesCalled(), ofAngles.MatchString) {
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
