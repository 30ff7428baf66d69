package ownkernels

import "triad/internal/ownfile/cfacts"

// withSingles reads a CUDA file with some of its doubles as floats, if its interpretation requests that.
func (f *File) withSingles(content []byte, python bool) []byte {
	if values := f.interpretation.Options.Singles; len(values) > 0 && !python {
		f.inline = cfacts.WithSingles(string(content), values)
		return []byte(f.inline)
	}
	return content
}
