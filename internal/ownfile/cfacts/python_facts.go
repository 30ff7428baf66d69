package cfacts

import "triad/internal/ownfile/pyfacts"

// Place is the destination of an argument of a Python function.
type Place uint8

// The places of arguments.
const (
	InCall   Place = iota
	InWeight       // a parameter of the module
	InInit         // an argument of its __init__
	InTile         // a constexpr of a kernel
	InStride       // a stride that a kernel takes
)

// Parsed returns the facts of a Python function; they are empty for any other function.
func (fn *Function) Parsed() *pyfacts.Function {
	if fn.Facts == nil {
		return &pyfacts.Function{}
	}
	return fn.Facts
}

// FactsOf returns what the lines of a function say of a parameter.
func (fn *Function) FactsOf(name string) pyfacts.Param {
	for _, p := range fn.Parsed().Params {
		if p.Name == name {
			return p
		}
	}
	return pyfacts.Param{}
}
