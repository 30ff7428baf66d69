package ownkernels

import (
	"bytes"

	"triad/internal/kernelfile"
	"triad/internal/userfile"
)

// mostFunctions is how many functions of one file are judged, each by itself, where none is named.
const mostFunctions = 100

// mostDefinitions is how many functions a Python file, and kernels a CUDA file, may define where none is
// named: each is read for all that its lines say.
const mostDefinitions = 300

// definitions is how many functions the lines of a Python file define, or kernels those of a CUDA file; 0
// where one is named.
func definitions(request kernelfile.Request, content []byte) int {
	if request.Function != "" {
		return 0
	}
	if !request.IsPython() {
		return bytes.Count(content, []byte("__global__"))
	}
	return bytes.Count(content, []byte("\ndef "))
}

// mostNearBytes is how large a file may be that is looked through though nobody named it.
const mostNearBytes = 1 << 18

// textOf is the text of a file near the user's; "" where it is too large or cannot be read.
func textOf(path string) string {
	text, _ := userfile.ReadUpTo(path, mostNearBytes)
	return string(text)
}
