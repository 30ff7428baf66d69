package kernelfile

import "slices"

// KernelsNotLaunched returns the names of the kernels of a CUDA file that none of its lines launches.
func (f *File) KernelsNotLaunched() (names []string) {
	for _, fn := range f.Functions {
		launches := func(c callOf) bool { return c.file.tokens[c.at].text == "<<<" }
		if fn.Kind == Kernel && !slices.ContainsFunc(f.callsOf(fn.Name), launches) {
			names = append(names, fn.Name)
		}
	}
	return names
}

// LaunchedNear takes the texts of files near it that launch its kernels: how they do so is read as if the
// file did.
func (f *File) LaunchedNear(texts []string) {
	for _, text := range texts {
		f.launchers = append(f.launchers, ReadCUDA(text))
	}
}
