package ownkernels

import (
	"bytes"
	"path/filepath"
	"slices"

	"triad/internal/ownfile"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/nearby"
	"triad/internal/ownfile/params"
)

// takeText builds a changed text in place of the file's. It lies elsewhere, so the file's folder becomes an
// include path.
func (f *File) takeText(text string) {
	f.inline = text
	f.interpretation.Options.Flags = withFolderOf(f.Path, f.interpretation.Options.Flags)
}

// text returns the text that is built of a file with these contents.
func (f *File) text(content []byte) string {
	if f.inline != "" {
		return f.inline
	}
	return string(content)
}

// throughLauncher reads the file that launches the kernels of a file in its place, if it can be judged. ok is
// false if it cannot.
func (r Interpretation) throughLauncher(request binding.Request, path string, content []byte) (
	f *File, ok bool,
) {
	if !request.IsPython() || request.Function != "" || r.launches != "" ||
		ownfile.Declares(request, string(content), nil, r.Spec.Name) {
		return nil, false
	}
	launcher := nearby.Launcher(path, content, r.Workers.Parse)
	if launcher == "" {
		return nil, false
	}
	itself := r
	r.launches, itself.launches = launcher, path
	f, err := r.Read()
	if err != nil {
		return nil, false
	}
	if slices.ContainsFunc(f.Bindings, params.Unclear) { // its kernels may be clearer
		if alone, err := itself.Read(); err == nil {
			return alone, true
		}
	}
	name := launcher
	if near, err := filepath.Rel(filepath.Dir(path), launcher); err == nil {
		name = near
	}
	f.Matched = slices.Insert(f.Matched, 0, "it has kernels alone, which "+name+" launches: that is judged")
	return f, true
}

// mostFunctions is the maximum number of functions of one file that are judged, each by itself, if none is
// named.
const mostFunctions = 100

// mostDefinitions is the maximum number of functions of a Python file, or kernels of a CUDA file, if none is
// named: each is read in full.
const mostDefinitions = 300

// definitions returns the number of functions that a Python file defines, or of kernels in a CUDA file; 0 if
// one is named.
func definitions(request binding.Request, content []byte) int {
	if request.Function != "" {
		return 0
	}
	if !request.IsPython() {
		return bytes.Count(content, []byte("__global__"))
	}
	return bytes.Count(content, []byte("\ndef "))
}
