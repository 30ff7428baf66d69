package kernelfile

import "triad/internal/ownfile/cfacts"

// KernelsAlone returns the names of a file's Triton kernels if it has no function that could launch one.
func KernelsAlone(f *cfacts.File) (names []string) {
	for _, fn := range f.Functions {
		if fn.Form != kernelForm {
			return nil
		}
		names = append(names, fn.Name)
	}
	return names
}

// UsesNothingOfItsFile reports whether a Python function names nothing else that its file defines: it
// consists of library operations.
func (b *Binding) UsesNothingOfItsFile() bool {
	return b.Function.Kind == cfacts.Python && b.Function.Form == plainForm && !b.Function.Parsed().UsesFile
}

// GuessesParameters reports whether the names of some parameters do not say what they stand for.
func (b *Binding) GuessesParameters() bool {
	_, parameters := b.guessedParameters()
	return len(parameters) > 0
}
