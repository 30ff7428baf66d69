package ownkernels

import (
	"regexp"
	"slices"
	"strings"
)

// sourcesOfCUDA lists the extensions of files that may launch a kernel.
var sourcesOfCUDA = []string{".cu", ".cuh", ".cpp", ".cc", ".h", ".hpp"}

// nearLaunches returns the texts of the files near a CUDA file that launch one of some of its kernels and
// define none of them: they may hold its main().
func nearLaunches(path string, kernels []string) (texts []string) {
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
			return texts // the nearest were examined
		}
		if text := textOf(name); launches.MatchString(text) && !defines.MatchString(text) &&
			!slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}
