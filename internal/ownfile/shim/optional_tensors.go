package shim

import (
	"fmt"
	"strings"

	"triad/internal/ownfile/binding"
)

// leftOutReturns returns, by position, the outputs among those of a function that are left out.
func leftOutReturns(b *binding.Binding) string {
	var outputs strings.Builder
	for i, name := range GivenNames(b) {
		for _, t := range b.OutputSpecs {
			if t.Name == name && b.LeftOut(t) {
				fmt.Fprintf(&outputs, "%d: out_%s, ", i, name)
			}
		}
	}
	return strings.TrimRight(outputs.String(), " ")
}
