package shim

import (
	"fmt"
	"strings"

	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/extents"
	"triad/internal/ownfile/pyfacts"
)

// TakeUse distinguishes pointers, strides, tiles and numbers of a kernel by how it uses them.
func TakeUse(p *cfacts.Param, fact pyfacts.Param) {
	p.Untyped, p.Pointer, p.Base = false, false, "int"
	switch {
	case strings.Contains(p.Text, "constexpr"):
		p.Optional, p.Place = true, cfacts.InTile
		if binding.NamesReal.MatchString(p.Name) {
			p.Base = "float"
		}
	case strings.Contains(strings.ToLower(p.Name), "stride"):
		p.Place = cfacts.InStride
	case fact.Tensor:
		p.Base, p.Pointer, p.Const = "void", true, !fact.Written
	case binding.NamesReal.MatchString(p.Name):
		p.Base = "float"
	}
}

// tritonCall returns the launch of a kernel.
func tritonCall(b *binding.Binding) string {
	var grid, words []string
	for _, g := range b.Triton.Grid {
		grid = append(grid, extents.PythonExpression(g))
	}
	for _, a := range b.Args {
		value := extents.PythonValue(b, a)
		switch {
		case a.Place == cfacts.InStride:
			value, _ = extents.StrideOfTensor(b, a) // proposeTriton has refused what it cannot be
		case value == "":
			value = b.Triton.Tiles[a.Name]
		}
		if value != "" {
			words = append(words, a.Name+"="+value)
		}
	}
	return fmt.Sprintf("_MODULE.%s[(%s,)](%s)", b.Function.Call, strings.Join(grid, ", "),
		strings.Join(words, ", "))
}
