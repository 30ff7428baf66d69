package ownkernels

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"

	"triad/internal/advice"
	"triad/internal/backend"
	"triad/internal/ownfile"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/nearby"
	"triad/internal/ownfile/params"
)

// text returns the text that is built of a file with these contents.
func (f *File) text(content []byte) string {
	if f.inline != "" {
		return f.inline
	}
	return string(content)
}

// loadWithOthers builds a file. A function that it lacks, and that a file near it defines, comes with that
// file, if both compile together.
func (f *File) loadWithOthers(ctx context.Context, operator string) (
	backend.LoadReply, backend.HelloReply, error,
) {
	reply, hello, err := f.adapter.Load(ctx, operator)
	changed, lacks := f.interpretation, lacking(reply, err)
	other := nearby.Defining(f.Path, lacks)
	if f.IsPython() || other == "" || slices.Contains(changed.beside, other) {
		return reply, hello, err
	}
	changed.beside = append(slices.Clone(changed.beside), other)
	with, failure := changed.Read()
	if failure != nil {
		return reply, hello, err
	}
	again, greeting, failure := with.loadWithOthers(ctx, operator)
	if failure != nil || len(again.Failed) > 0 {
		return reply, hello, errors.Join(err, with.Close())
	}
	f.adapter, with.adapter, f.shim, f.inlineAt = with.adapter, f.adapter, with.shim, with.inlineAt
	f.interpretation = with.interpretation
	f.Matched = append(f.Matched, filepath.Base(other)+" is compiled with it: it defines "+lacks)
	return again, greeting, with.Close()
}

// lacking returns the function that a file which does not load lacks, or "".
func lacking(reply backend.LoadReply, err error) string {
	var broken *backend.BuildFailure
	switch {
	case errors.As(err, &broken):
		return advice.Lacking(broken.Sentence + "\n" + broken.Log)
	case len(reply.Failed) > 0:
		return advice.Lacking(reply.Failed[0].Message + "\n" + reply.Failed[0].Log)
	}
	return ""
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
	f.Matched = slices.Insert(f.Matched, 0, "it has kernels alone, which "+filepath.Base(launcher)+
		" launches: that is judged")
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
