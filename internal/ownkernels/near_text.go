package ownkernels

import (
	"bytes"

	"triad/internal/kernelfile"
	"triad/internal/userfile"
)

// mostFunctions is the maximum number of functions of one file that are judged, each by itself, if none is
// named.
const mostFunctions = 100

// mostDefinitions is the maximum number of functions of a Python file, or kernels of a CUDA file, if none is
// named: each is read in full.
const mostDefinitions = 300

// definitions returns the number of functions that a Python file defines, or of kernels in a CUDA file; 0 if
// one is named.
func definitions(request kernelfile.Request, content []byte) int {
	if request.Function != "" {
		return 0
	}
	if !request.IsPython() {
		return bytes.Count(content, []byte("__global__"))
	}
	return bytes.Count(content, []byte("\ndef "))
}

// mostNearBytes is the maximum size of a file that is searched although nobody named it.
const mostNearBytes = 1 << 18

// textOf returns the text of a file near the user's, or "" if it is too large or cannot be read.
func textOf(path string) string {
	text, _ := userfile.ReadUpTo(path, mostNearBytes)
	return string(text)
}
