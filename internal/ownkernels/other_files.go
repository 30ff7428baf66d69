package ownkernels

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"triad/internal/advice"
	"triad/internal/backend"
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

// loadWithOthers builds a file. A function that it lacks, and that a file near it defines, comes with that
// file, if both compile together.
func (f *File) loadWithOthers(ctx context.Context, operator string) (
	first backend.LoadReply, hello backend.HelloReply, err error,
) {
	alone := File{
		adapter: f.adapter, inline: f.inline, inlineAt: f.inlineAt, shim: f.shim, Matched: f.Matched,
		interpretation: f.interpretation,
	}
	first, hello, err = f.adapter.Load(ctx, operator)
	reply, failure := first, err
	for range mostOthers {
		lacks := lacking(reply, failure)
		other := nearby.Defining(f.Path, lacks)
		if lacks == "" || other == "" || f.IsPython() {
			break
		}
		if failure = f.compileWith(other); failure != nil {
			break
		}
		f.Matched = append(f.Matched, filepath.Base(other)+" is compiled with it: it defines "+lacks)
		if reply, hello, failure = f.adapter.Load(ctx, operator); failure == nil && len(reply.Failed) == 0 {
			return reply, hello, alone.adapter.Close()
		}
	}
	if f.adapter != alone.adapter {
		err = errors.Join(err, f.adapter.Close())
		f.adapter, f.inline, f.inlineAt, f.shim = alone.adapter, alone.inline, alone.inlineAt, alone.shim
		f.Matched, f.interpretation = alone.Matched, alone.interpretation
	}
	return first, hello, err
}

// compileWith makes another file a part of the file.
func (f *File) compileWith(other string) error {
	near, err := filepath.Rel(filepath.Dir(f.Path), other)
	if err != nil {
		return fmt.Errorf("compile %s with %s: %w", f.Name, other, err)
	}
	include := "\n#include " + strconv.Quote(filepath.ToSlash(near)) + "\n"
	text := f.text([]byte(f.Text()))
	if strings.Contains(text, include) {
		return fmt.Errorf("compile %s with %s: it is compiled with it", f.Name, other)
	}
	f.takeText(text + include)
	return f.writeCUDA()
}

// mostOthers is the maximum number of files near a file that are compiled with it.
const mostOthers = 4

// lacking returns the function that a file which does not load lacks, or "".
func lacking(reply backend.LoadReply, err error) string {
	var broken *backend.BuildFailure
	if errors.As(err, &broken) {
		return advice.Lacking(broken.Sentence + "\n" + broken.Log)
	}
	if len(reply.Failed) > 0 {
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
