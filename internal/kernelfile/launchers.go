package kernelfile

import "slices"

// passLaunchesOn finds the functions that launch a kernel which they take as an argument, as a template does
// that takes the kernel's type. The callers of such a function can be judged.
func (f *File) passLaunchesOn() {
	var launchers []string
	for i := range f.Functions {
		fn := &f.Functions[i]
		if fn.launcher = fn.Kind == Host && fn.launchesParameter(); fn.launcher {
			launchers = append(launchers, fn.Name)
		}
	}
	for i := range f.Functions {
		fn := &f.Functions[i]
		for k := 0; k+1 < len(fn.body); k++ {
			calls := fn.body[k+1].text == "(" || fn.body[k+1].text == "<"
			if calls && slices.Contains(launchers, fn.body[k].text) {
				fn.Launches = true
			}
		}
	}
}

// launchesParameter reports whether the lines launch one of the function's own parameters: "kernel<<<".
func (fn *Function) launchesParameter() bool {
	for k := 0; k+1 < len(fn.body); k++ {
		if fn.body[k+1].text == "<<<" && slices.ContainsFunc(fn.Params, func(p Param) bool {
			return p.Name == fn.body[k].text && !p.Pointer
		}) {
			return true
		}
	}
	return false
}
