package kernelfile

// KernelsAlone returns the names of a file's Triton kernels if it has no function that could launch one.
func (f *File) KernelsAlone() (names []string) {
	for _, fn := range f.Functions {
		if fn.form != kernelForm {
			return nil
		}
		names = append(names, fn.Name)
	}
	return names
}

// UsesNothingOfItsFile reports whether a Python function names nothing else that its file defines: it
// consists of library operations.
func (b *Binding) UsesNothingOfItsFile() bool {
	return b.Function.Kind == Python && b.Function.form == plainForm && !b.Function.parsed().UsesFile
}

// GuessesParameters reports whether the names of some parameters do not say what they stand for.
func (b *Binding) GuessesParameters() bool {
	_, parameters := b.guessedParameters()
	return len(parameters) > 0
}
