package kernelfile

import (
	"slices"
	"strings"
)

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
		fn.Launches = fn.Launches || fn.Kind == Host && !fn.launcher && f.handsKernelOn(fn)
	}
	f.templatesOfCallers()
}

// handsKernelOn reports whether a function passes a kernel of the file to a function that launches it, which
// may be defined in a header: "launch(kernel<128>, grid, block, x, y)". A function that queries or sets
// something of a kernel does not launch it.
func (f *File) handsKernelOn(fn *Function) bool {
	var callees []string // of the calls that are open
	for k, t := range fn.body {
		switch t.text {
		case "(":
			callee := ""
			if k > 0 && fn.body[k-1].isName() {
				callee = fn.body[k-1].text
			}
			callees = append(callees, callee)
		case ")":
			callees = callees[:max(len(callees)-1, 0)]
		default:
			argument := k > 0 && slices.Contains([]string{"(", ",", "&", ")"}, fn.body[k-1].text)
			if len(callees) == 0 || !argument {
				continue
			}
			callee := callees[len(callees)-1]
			launches := callee != "" && !strings.HasPrefix(callee, "cuda") && !f.isKernel(callee)
			if launches && f.isKernel(t.text) && !slices.ContainsFunc(fn.Params, func(p Param) bool {
				return p.Name == t.text
			}) {
				return true
			}
		}
	}
	return false
}

// isKernel reports whether a name is that of a kernel of the file.
func (f *File) isKernel(name string) bool {
	return slices.ContainsFunc(f.Functions, func(fn Function) bool {
		return fn.Kind == Kernel && fn.Name == name
	})
}

// templatesOfCallers leaves templates of numbers that launch a kernel to the host functions of the file that
// call them, name<128, 8>(a, b, c): these are what can be called, and they say the numbers.
func (f *File) templatesOfCallers() {
	numbers := func(fn *Function) bool {
		return fn.Kind == Host && fn.Launches && slices.ContainsFunc(fn.Template, func(t TemplateParam) bool {
			return !t.Type && t.Default == ""
		})
	}
	for i := range f.Functions {
		caller := &f.Functions[i]
		if caller.Kind != Host || len(caller.Template) > 0 || helps(caller.Name) || !slices.ContainsFunc(
			caller.Params, func(p Param) bool { return p.Pointer }) {
			continue
		}
		for k := 0; k+1 < len(caller.body); k++ {
			callee := f.named(caller.body[k].text)
			if caller.body[k+1].text == "<" && callee != nil && numbers(callee) {
				caller.Launches, callee.launcher = true, true
			}
		}
	}
}

// named returns the host function of a name, nil if the file has none.
func (f *File) named(name string) *Function {
	for i := range f.Functions {
		if fn := &f.Functions[i]; fn.Kind == Host && fn.Name == name {
			return fn
		}
	}
	return nil
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
