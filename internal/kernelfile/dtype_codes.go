package kernelfile

import (
	"slices"
	"strconv"
	"strings"

	"triad/internal/ownfile/cfacts"
)

// dtypeNames lists names, in lower case, of a number that selects the type of tensors.
var dtypeNames = []string{
	"dtype", "data_type", "datatype", "scalar_type", "elem_type", "element_type", "dtype_code", "dtype_id",
	"type_id", "type_code", "tensor_type",
}

// saysDType reports whether the name of a number says that it selects the type of untyped pointers.
func (b *Binding) saysDType(p cfacts.Param) bool {
	untyped := func(a Argument) bool { return a.Pointer && strings.TrimPrefix(a.Base, "const ") == "void" }
	return p.IsInteger() && slices.Contains(dtypeNames, snake(p.Name)) && slices.ContainsFunc(b.Args, untyped)
}

// checkDTypeCodes refuses one number for all dtypes if its name says that it selects the type of tensors.
func (b *Binding) checkDTypeCodes() error {
	for _, a := range b.Args {
		said := b.Options.Map[a.Name]
		_, err := strconv.Atoi(said)
		if b.Function.Kind == cfacts.Host && err == nil && b.saysDType(a.Param) &&
			len(b.Options.DTypes) != 1 {
			return b.errorf("--map %[1]s=%[2]s: it says of which type the tensors are: say also in which "+
				"dtype it is judged so, as in --dtype fp32", a.Name, said)
		}
	}
	return nil
}
