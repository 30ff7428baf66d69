package ownkernels

import (
	"triad/internal/backend"
	"triad/internal/kernelfile"
)

// withSingles reads a CUDA file with some of its doubles as floats, if its reading requests that.
func (f *File) withSingles(content []byte, python bool) []byte {
	if values := f.reading.Options.Singles; len(values) > 0 && !python {
		f.inline = kernelfile.WithSingles(string(content), values)
		return []byte(f.inline)
	}
	return content
}

// withFewer matches the functions of a file with smaller numbers for the constants that are its sizes. What
// is wrong with these may be right with the file's own.
func (f *File) withFewer(
	request kernelfile.Request, content []byte, large *kernelfile.TooManyError,
) ([]*kernelfile.Binding, error) {
	text, now, ok := large.Smaller(string(content))
	if !ok {
		return nil, large
	}
	if f.inline == "" { // its copy lies elsewhere
		f.reading.Options.Flags = withFolderOf(f.Path, f.reading.Options.Flags)
	}
	f.inline, f.reading.Options.Made = text, true
	f.Matched = append(f.Matched,
		"its sizes are constants with which each case takes too long: it is judged with "+now)
	for _, pass := range f.reading.Passes {
		f.Doubt(pass, backend.Doubt{Why: "its constants were made smaller, " + now + ", and its lines may " +
			"need the larger ones: write smaller ones, or parameters, to have it judged so"})
	}
	return f.reading.bind(request, f.Path, []byte(text))
}
