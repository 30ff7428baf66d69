package kernelfile

import (
	"regexp"
	"slices"
	"strings"
)

// markTensors takes what a function of Python hands to a kernel of Triton, which loads or stores there, for
// tensors: def solution(A, B, C, N, K) says no types. It notes what the kernels call the parameters.
func (fn *Function) markTensors(kernels []pythonKernel) {
	text := pythonComment.ReplaceAllString(fn.text, "")
	for _, k := range kernels {
		for _, at := range k.launched.FindAllStringIndex(text, -1) {
			for _, h := range handedTo(text[at[1]-1:], k.text) {
				i := slices.IndexFunc(fn.Params, func(p Param) bool { return p.Name == h.variable })
				if i < 0 {
					continue
				}
				p := &fn.Params[i]
				p.called = append(p.called, h.to.Name)
				if h.to.Pointer && p.Untyped && !p.Optional && p.place == inCall {
					p.Untyped, p.Pointer, p.Base = false, true, "void"
				}
			}
		}
	}
}

// handed is a variable that a launch hands to a parameter of its kernel.
type handed struct {
	variable string
	to       Param
}

var handedOn = regexp.MustCompile(`^\s*(?:(\w+)\s*=\s*)?(\w+)\s*$`)

// handedTo are the variables that a launch, which begins at the bracket of its grid, hands to a kernel.
func handedTo(launch, kernel string) (all []handed) {
	head := definition.FindStringIndex(kernel)
	rest := launch[1+closingBracket(launch[1:]):]
	if head == nil || !strings.HasPrefix(rest, "](") {
		return nil
	}
	params := kernelParams(pythonParams(argumentList(kernel[head[1]:])), kernel)
	for i, argument := range argumentList(rest[2:]) {
		m := handedOn.FindStringSubmatch(argument)
		if m == nil {
			continue
		}
		at := i
		if m[1] != "" {
			at = slices.IndexFunc(params, func(p Param) bool { return p.Name == m[1] })
		}
		if at >= 0 && at < len(params) {
			all = append(all, handed{m[2], params[at]})
		}
	}
	return all
}

// closingBracket is where the bracket closes in which a text begins; its length where none does.
func closingBracket(text string) int {
	depth := 0
	for i := range len(text) {
		switch {
		case strings.IndexByte("([{", text[i]) >= 0:
			depth++
		case strings.IndexByte(")]}", text[i]) >= 0 && depth == 0:
			return i
		case strings.IndexByte(")]}", text[i]) >= 0:
			depth--
		}
	}
	return len(text)
}
