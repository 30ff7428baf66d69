package kernelfile

import (
	"fmt"
	"slices"
)

// takeHostArrays finds the tensors that a function takes as pointers to host memory, to read and write.
func (b *Binding) takeHostArrays() {
	if b.extension || b.each {
		return
	}
	names := b.file.HostArrays(b.Function)
	for i := range b.Args {
		a := &b.Args[i]
		tensor := a.Role == Input || a.Role == Output
		if tensor && a.Pointer && !a.tensor && slices.Contains(names, a.Name) {
			a.host = true
		}
	}
}

// HostArrays returns the parameters of a function of the file that point to host memory: if it copies one of
// its pointers to or from the device itself, all do except those that it passes to a kernel.
func (f *File) HostArrays(fn Function) []string {
	if fn.Kind != Host || !f.copiesParameter(&fn, copiesDepth) {
		return nil
	}
	var names []string
	for _, p := range fn.Params {
		if p.Pointer && !fn.handsToKernel(p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// copiesDepth limits the functions of a file through which a pointer is followed.
const copiesDepth = 2

// copiesParameter reports whether a function copies from a parameter to the device, or to one from the
// device, or passes one to a function that does.
func (f *File) copiesParameter(fn *Function, depth int) bool {
	isParam := func(name string) bool {
		return slices.ContainsFunc(fn.Params, func(p Param) bool { return p.Pointer && p.Name == name })
	}
	for i := 0; i+1 < len(fn.body); i++ {
		callee, open := f.called(fn, i)
		if callee != nil && callee.Kind == Host && depth > 0 && f.copiesParameter(callee, depth-1) &&
			slices.ContainsFunc(split(inside(fn.body, open)), func(argument []token) bool {
				return isParam(lone(argument))
			}) {
			return true
		}
		if isParam(lone(copiedHost(fn.body, i))) {
			return true
		}
	}
	return false
}

// copiedHost returns the argument of a cudaMemcpy that lies on the host; nil if there is none.
func copiedHost(body []token, at int) []token {
	if body[at].text != "cudaMemcpy" || at+1 == len(body) || body[at+1].text != "(" {
		return nil
	}
	if parts := split(inside(body, at+1)); len(parts) > 3 {
		sides := map[string][]token{"cudaMemcpyHostToDevice": parts[1], "cudaMemcpyDeviceToHost": parts[0]}
		return sides[lone(parts[3])]
	}
	return nil
}

// handsToKernel reports whether a name is an argument of a launch.
func (fn *Function) handsToKernel(name string) bool {
	for i := 0; i+1 < len(fn.body); i++ {
		if fn.body[i].text != ">>>" || fn.body[i+1].text != "(" {
			continue
		}
		if slices.ContainsFunc(split(inside(fn.body, i+1)), func(argument []token) bool {
			return lone(argument) == name
		}) {
			return true
		}
	}
	return false
}

// hostName returns the variable of the shim that points to the host's copy of the argument at a place.
func hostName(at int) string { return fmt.Sprintf("triad_own_host_%d", at) }

// hostBefore gives a function of host arrays copies of its inputs, and of its outputs as they are.
func (b *Binding) hostBefore(args []Argument) string {
	code := ""
	for i, a := range args {
		if a.host {
			code += fmt.Sprintf("\tvoid *%[1]s = triad_own::to_host(%[2]s, %[3]s);\n"+
				"\tif (%[1]s == nullptr) return 2;\n", hostName(i), b.placeCode("void", a, i), b.roomCode(a))
		}
	}
	return code
}

// hostAfter copies back what the function wrote.
func (b *Binding) hostAfter(args []Argument) string {
	code := ""
	for i, a := range args {
		if a.host {
			code += checked(fmt.Sprintf("triad_own::from_host(%s, %s, %s, %t)", hostName(i),
				b.placeCode("void", a, i), b.roomCode(a), a.Role == Output))
		}
	}
	return code
}
