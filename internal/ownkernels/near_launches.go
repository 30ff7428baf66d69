package ownkernels

import (
	"regexp"
	"slices"
	"strings"
)

// sourcesOfCUDA lists the extensions of files that may launch a kernel.
var sourcesOfCUDA = []string{".cu", ".cuh", ".cpp", ".cc", ".h", ".hpp"}

// nearLaunches returns the files near a CUDA file that launch one of some of its kernels in a main() and
// define none of them.
func nearLaunches(path string, kernels []string) (files []string) {
	if len(kernels) == 0 {
		return nil
	}
	for i, name := range kernels {
		kernels[i] = regexp.QuoteMeta(name[strings.LastIndex(name, ":")+1:])
	}
	any := strings.Join(kernels, "|")
	launches := regexp.MustCompile(`\b(?:` + any + `)\s*(?:<[^<>;]*>)?\s*<<<`)
	defines := regexp.MustCompile(`__global__[^;{}()]*\b(?:` + any + `)\s*\([^;{}]*\)\s*\{`)
	looked := 0
	for name := range filesNear(path, sourcesOfCUDA...) {
		if name == path {
			continue
		}
		if looked++; looked > mostLaunchers {
			return files // the nearest were examined
		}
		if text := textOf(name); launches.MatchString(text) && !defines.MatchString(text) &&
			mainHead.MatchString(text) && !slices.Contains(files, name) {
			files = append(files, name)
		}
	}
	return files
}
