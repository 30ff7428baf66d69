package rewrite

import (
	"bytes"
	"regexp"
)

// emulatedArchitecture is the value of __CUDA_ARCH__ in code for the device.
const emulatedArchitecture = "800"

var (
	architectureWord = regexp.MustCompile(`\b(?:defined\s*(?:\(\s*__CUDA_ARCH__\s*\)|__CUDA_ARCH__\b)|` +
		`__CUDA_ARCH__\b)`)
	compared = regexp.MustCompile(`__CUDA_ARCH__\s*\)*\s*(?:[<>]=?|==)|` +
		`(?:[<>]=?|==)\s*\(*\s*__CUDA_ARCH__`)
	notDefined = regexp.MustCompile(`!\s*\(?\s*defined\s*\(?\s*__CUDA_ARCH__`)
)

// architecture gives __CUDA_ARCH__ its value in conditions that compare it, outside of functions and in those
// that run only on the device. The word itself stays undefined: a function for host and device is compiled
// once here, and as the host's it runs anywhere.
func (f *file) architecture(code []byte, inFunction func(int) bool) {
	masked := maskLiterals(f.text)
	var device []span
	for _, d := range directives(masked) {
		line := masked[d.start:d.end]
		word := bytes.TrimLeft(line[1:], " \t")
		if !bytes.HasPrefix(word, []byte("if")) && !bytes.HasPrefix(word, []byte("elif")) ||
			!compared.Match(line) || notDefined.Match(line) {
			continue
		}
		if device == nil {
			device = append(f.kernels.bodies, deviceBodies(code)...)
		}
		if inFunction(d.start) && !within(device, d.start) {
			continue
		}
		for _, m := range architectureWord.FindAllIndex(line, -1) {
			value := emulatedArchitecture
			if line[m[0]] == 'd' {
				value = "1"
			}
			f.edits = append(f.edits, edit{d.start + m[0], d.start + m[1], value})
		}
	}
}

// deviceBodies returns the bodies of functions with the word __device__ and without __host__.
func deviceBodies(code []byte) []span {
	var all []span
	word := []byte("__device__")
	for at := 0; ; {
		next := bytes.Index(code[at:], word)
		if next < 0 {
			return all
		}
		begin := at + next
		at = begin + len(word)
		open, closing := parametersAfter(code, at)
		if closing == 0 {
			continue
		}
		head := bytes.LastIndexAny(code[:begin], ";{}") + 1
		if bytes.Contains(code[head:open], []byte("__host__")) {
			continue
		}
		if body := bytes.IndexAny(code[closing:], ";{"); body >= 0 && code[closing+body] == '{' {
			all = append(all, span{closing + body, bodyEnd(code, closing+body)})
		}
	}
}

// within reports whether an offset lies in one of the spans.
func within(spans []span, at int) bool {
	for _, s := range spans {
		if at > s.from && at < s.to {
			return true
		}
	}
	return false
}
