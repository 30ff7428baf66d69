package kernelfile

import "strings"

// KernelsNotLaunched are the names of the kernels of a CUDA file that none of its lines launches.
func (f *File) KernelsNotLaunched() (names []string) {
	launches := map[string]bool{}
	for _, of := range append([]*File{f}, f.launchers...) {
		for i, t := range of.tokens {
			if t.text == "<<<" {
				launches[launched(of.tokens, i)] = true
			}
		}
	}
	for _, fn := range f.Functions {
		if fn.Kind == Kernel && !launches[fn.Name[strings.LastIndex(fn.Name, ":")+1:]] {
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
