package kernelfile

import (
	"regexp"
	"slices"
	"strings"
)

// ofAngles matches what makes cosines and sines of angles.
var ofAngles = regexp.MustCompile(`^(?:__)?(?:sin|cos|sincos)(?:pi)?f?$`)

// makesTables names the tables of an operator for which a function has no parameter and which its lines make
// themselves, from positions and a base. Made in 32 bits they differ from the operator's by more than a
// rotation rounds, the more the further a token lies from the first, so that nobody can tell them from wrong
// ones.
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

// namesCalled are the names that the function calls, and the other functions of its file do.
func (b *Binding) namesCalled() (all []string) {
	for _, fn := range append([]Function{b.Function}, b.others...) {
		if fn.Kind == Python {
			all = slices.Concat(all, fn.said().Calls, fn.said().KernelCalls)
		}
		for i := 0; i+1 < len(fn.body); i++ {
			if fn.body[i+1].text == "(" {
				all = append(all, fn.body[i].text)
			}
		}
	}
	return all
}

// refuseOwnTables says what to do with a function that makes tables itself which the operator is given.
func (b *Binding) refuseOwnTables(tables []string) error {
	shape := shapeWords(b.shape(b.inputs[named(b.inputs, tables[0])]))
	return b.errorf("it makes %[1]s itself, and made in 32 bits they are others than those that %[2]s is "+
		"given: write a function beside it that takes %[1]s, %[3]s, and calls what rotates, and "+
		"judge that: --add FILE:FUNCTION", strings.Join(tables, " and "), b.Spec.Name, shape)
}
