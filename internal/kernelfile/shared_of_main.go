package kernelfile

import (
	"fmt"

	"triad/internal/ownfile/cfacts"
)

// sharedOfMain returns the C++ with which main() allows the kernel that a function launches more than 48 KiB
// of shared memory, if the function does not do so itself.
func (b *Binding) sharedOfMain() string {
	if b.file == nil || b.Function.Kind != cfacts.Host ||
		cfacts.HasTexts(b.Function.Body, "cudaFuncSetAttribute") ||
		!b.file.Main || !asksShared(b.file) {
		return ""
	}
	run := b.file.Observed()
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
	for i, t := range b.Function.Body {
		if t.Text == "<<<" && cfacts.LaunchedName(b.Function.Body, i) == name {
			return true
		}
	}
	return false
}

// asksShared reports whether the file allows a kernel more shared memory than usual.
func asksShared(f *cfacts.File) bool { return cfacts.HasTexts(f.Tokens, "cudaFuncSetAttribute") }
