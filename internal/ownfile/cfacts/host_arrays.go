package cfacts

import "slices"

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
	for i := 0; i+1 < len(fn.Body); i++ {
		callee, open := f.Called(fn, i)
		if callee != nil && callee.Kind == Host && depth > 0 && f.copiesParameter(callee, depth-1) &&
			slices.ContainsFunc(SplitAtCommas(Inside(fn.Body, open)), func(argument []Token) bool {
				return isParam(OnlyName(argument))
			}) {
			return true
		}
		if isParam(OnlyName(copiedHost(fn.Body, i))) {
			return true
		}
	}
	return false
}

// copiedHost returns the argument of a cudaMemcpy that lies on the host; nil if there is none.
func copiedHost(body []Token, at int) []Token {
	if body[at].Text != "cudaMemcpy" || at+1 == len(body) || body[at+1].Text != "(" {
		return nil
	}
	if parts := SplitAtCommas(Inside(body, at+1)); len(parts) > 3 {
		sides := map[string][]Token{"cudaMemcpyHostToDevice": parts[1], "cudaMemcpyDeviceToHost": parts[0]}
		return sides[OnlyName(parts[3])]
	}
	return nil
}

// handsToKernel reports whether a name is an argument of a launch.
func (fn *Function) handsToKernel(name string) bool {
	for i := 0; i+1 < len(fn.Body); i++ {
		if fn.Body[i].Text != ">>>" || fn.Body[i+1].Text != "(" {
			continue
		}
		if slices.ContainsFunc(SplitAtCommas(Inside(fn.Body, i+1)), func(argument []Token) bool {
			return OnlyName(argument) == name
		}) {
			return true
		}
	}
	return false
}
