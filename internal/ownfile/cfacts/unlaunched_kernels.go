package cfacts

import (
	"slices"

	"triad/internal/ownfile/observed"
)

// KernelsNotLaunched returns the names of the kernels of a CUDA file that none of its lines launches.
func (f *File) KernelsNotLaunched() (names []string) {
	for _, fn := range f.Functions {
		launches := func(c Call) bool { return c.File.Tokens[c.At].Text == "<<<" }
		if fn.Kind == Kernel && !slices.ContainsFunc(f.CallsOf(fn.Name), launches) {
			names = append(names, fn.Name)
		}
	}
	return names
}

// Observe takes what the main() of a CUDA file does, which is asked for where something depends on it.
func (f *File) Observe(run func() *observed.Run) { f.run = run }

// Observed returns what main() does, or nil if that is not known.
func (f *File) Observed() *observed.Run {
	if f.run == nil {
		return nil
	}
	return f.run()
}
