package rewrite

import (
	"bytes"
	"regexp"
)

// voidCast matches a cast that converts a kernel to the type that CUDA's C functions take.
var voidCast = regexp.MustCompile(
	`^(?:\(\s*(?:const\s+)?void\s*(?:const\s*)?\*+\s*\)|` +
		`reinterpret_cast\s*<\s*(?:const\s+)?void\s*\*\s*>)\s*`,
)

// byPointer restores the type of the first argument of cudaLaunchKernel and cudaLaunchCooperativeKernel, and
// adds its name. The arguments begin at open, the parenthesis:
//
//	((void *)k<256>, ...  ->  (::cuemu::cuemu_named("k<256>", k<256>), ...
func (f *file) byPointer(view []byte, open int) {
	if open >= len(view) || view[open] != '(' {
		return
	}
	start := skip(view, open+1)
	start += len(voidCast.Find(view[start:]))
	end := argumentEnd(view, start)
	if end <= start {
		return
	}
	name := quote(kernelName(view[start:end]))
	f.edits = append(f.edits,
		edit{open + 1, start, "::cuemu::cuemu_named(" + name + ", "}, edit{end, end, ")"})
}

// nodeFunction restores the type of the kernel of a graph's node, in a text that makes such nodes:
//
//	params.func = (void *)k;  ->  params.func = k;
func (f *file) nodeFunction(view []byte, equals int) {
	if equals >= len(view) || view[equals] != '=' || !bytes.Contains(f.text, []byte("cudaKernelNodeParams")) {
		return
	}
	start := skip(view, equals+1)
	if end := start + len(voidCast.Find(view[start:])); end > start {
		f.edits = append(f.edits, edit{start, end, ""})
	}
}

// argumentEnd returns the offset of the comma behind the argument that begins at from; from if there is none.
// It takes a < for the start of template arguments.
func argumentEnd(view []byte, from int) int {
	depth, angle := 0, 0
	for i := from; i < len(view); i++ {
		switch view[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth < 0 {
				return from
			}
		case '<':
			angle++
		case '>':
			angle--
		case ';':
			return from
		case ',':
			if depth == 0 && angle <= 0 {
				return i
			}
		}
	}
	return from
}
