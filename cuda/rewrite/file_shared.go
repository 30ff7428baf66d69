package rewrite

import (
	"fmt"
	"slices"
	"strings"
)

// fileShared is shared memory that is declared outside functions.
type fileShared struct {
	name, of string // of: the struct that it is a member of
	at, line int
}

// ofFile returns the struct of a static declaration outside functions. Each function for the device that
// names one of its variables gets a reference of that name, as the memory belongs to the running block. The
// reference has a scope of its own, so that the function may declare a variable of the name as well.
//
//	__shared__ int a[4];            ->  namespace { struct cuemu_sh_a { int a[4]; }; }
//	__global__ void k() { a[0]; }   ->  __global__ void k() { auto& a =
//	                                        ::cuemu::cuemu_shared<cuemu_sh_a>(__FILE__, 1).a; { a[0]; } }
func (d *declaration) ofFile() string {
	of := "cuemu_sh_" + d.declarators[0].name
	for _, x := range d.declarators {
		declared := fileShared{x.name, of, x.nameStart, d.file.line(x.nameStart)}
		known := func(s fileShared) bool { return s.name == x.name }
		if !slices.ContainsFunc(d.file.fileShared, known) { // declared twice, as under #if and #else
			d.file.fileShared = append(d.file.fileShared, declared)
		}
	}
	return "namespace { struct " + of + " { " + d.members() + "; }; }"
}

// bindShared writes the references into the functions for the device.
func (f *file) bindShared(code []byte) {
	if len(f.fileShared) == 0 {
		return
	}
	for _, body := range append(slices.Clone(f.kernels.bodies), deviceBodies(code)...) {
		var b strings.Builder
		for _, s := range f.fileShared {
			if s.at < body.from && names(code[body.from:body.to], s.name) {
				fmt.Fprintf(&b, " auto& %s = ::cuemu::cuemu_shared<%s>(__FILE__, %d).%s;", s.name, s.of,
					s.line, s.name)
			}
		}
		if b.Len() > 0 {
			f.edits = append(f.edits, edit{body.from, body.from + 1, "{" + b.String() + " {"},
				edit{body.to, body.to + 1, "} }"})
		}
	}
}

// names reports whether a text contains a word.
func names(text []byte, word string) bool {
	for i := range text {
		if wordStart(text, i) && string(text[i:wordEnd(text, i)]) == word {
			return true
		}
	}
	return false
}
