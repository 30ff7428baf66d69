package ownkernels

import (
	"bytes"
	"os"

	"triad/internal/kernelfile"
)

// mostBytes is how large a file of the user's may be: what is read of it takes time for every byte.
const mostBytes = 4 << 20

// mostFunctions is how many functions of one file are judged, each by itself, where none is named.
const mostFunctions = 100

// mostDefinitions is how many functions a Python file may define where none is named: each is read for all
// that its lines say.
const mostDefinitions = 300

// definitions is how many functions the lines of a Python file define; 0 where one is named.
func definitions(request kernelfile.Request, content []byte) int {
	if !request.IsPython() || request.Function != "" {
		return 0
	}
	return bytes.Count(content, []byte("\ndef "))
}

// mostNearBytes is how large a file may be that is looked through though nobody named it.
const mostNearBytes = 1 << 18

// textOf is the text of a file near the user's; "" where it is too large or cannot be read.
func textOf(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > mostNearBytes {
		return ""
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}
