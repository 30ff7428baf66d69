package kernelfile

import "fmt"

// sharedOfMain returns the C++ with which main() allows the kernel that a function launches more than 48 KiB
// of shared memory, if the function does not do so itself.
func (b *Binding) sharedOfMain() string {
	if b.file == nil || b.Function.Kind != Host || hasTexts(b.Function.body, "cudaFuncSetAttribute") ||
		!b.file.Main || !b.file.asksShared() {
		return ""
	}
	run := b.file.observed()
	if run == nil || run.Shared() == 0 {
		return ""
	}
	code := ""
	for _, e := range run.Events {
		if l := e.Launch; l != nil && b.launchesKernel(l.Name()) && code == "" {
			code = fmt.Sprintf("\tcudaFuncSetAttribute(%s, cudaFuncAttributeMaxDynamicSharedMemorySize, "+
				"%d);\n", l.Kernel, run.Shared())
		}
	}
	return code
}

// launchesKernel reports whether the lines of the function launch a kernel.
func (b *Binding) launchesKernel(name string) bool {
	for i, t := range b.Function.body {
		if t.text == "<<<" && launched(b.Function.body, i) == name {
			return true
		}
	}
	return false
}

// asksShared reports whether the file allows a kernel more shared memory than usual.
func (f *File) asksShared() bool { return hasTexts(f.tokens, "cudaFuncSetAttribute") }
