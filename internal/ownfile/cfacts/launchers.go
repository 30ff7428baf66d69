package cfacts

import "slices"

// passLaunchesOn finds the functions that launch a kernel which they take as an argument, as a template does
// that takes the kernel's type. The callers of such a function can be judged.
func (f *File) passLaunchesOn() {
	var launchers []string
	for i := range f.Functions {
		fn := &f.Functions[i]
		if fn.Launcher = fn.Kind == Host && fn.launchesParameter(); fn.Launcher {
			launchers = append(launchers, fn.Name)
		}
	}
	for i := range f.Functions {
		fn := &f.Functions[i]
		for k := 0; k+1 < len(fn.Body); k++ {
			calls := fn.Body[k+1].Text == "(" || fn.Body[k+1].Text == "<"
			if calls && slices.Contains(launchers, fn.Body[k].Text) {
				fn.Launches = true
			}
		}
	}
}

// launchesParameter reports whether the lines launch one of the function's own parameters: "kernel<<<".
func (fn *Function) launchesParameter() bool {
	for k := 0; k+1 < len(fn.Body); k++ {
		if fn.Body[k+1].Text == "<<<" && slices.ContainsFunc(fn.Params, func(p Param) bool {
			return p.Name == fn.Body[k].Text && !p.Pointer
		}) {
			return true
		}
	}
	return false
}
