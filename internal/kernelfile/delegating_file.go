package kernelfile

import (
	"fmt"
	"path/filepath"
	"regexp"
)

var (
	loadsSource  = regexp.MustCompile(`\bsources\s*=\s*\[?\s*(?:os\.path\.join\([^"']*)?["']([^"']+\.cu)["']`)
	importsSolve = regexp.MustCompile(`(?m)^from[ \t]+\.?(\w+)[ \t]+import[ \t]+` +
		`(\w*(?:solve|kernel|forward)\w*)`)
)

// elsewhere returns a sentence that names the file with the code that a Python file without a function of its
// own runs; "" where its lines do not name one.
func (f *File) elsewhere() string {
	text := pythonComment.ReplaceAllString(f.text, "")
	if m := loadsSource.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("it has torch compile %s: judge that, with --add %[1]s", filepath.Clean(m[1]))
	}
	if m := importsSolve.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("it takes %s from %s.py: judge that, with --add %[2]s.py", m[2], m[1])
	}
	return ""
}

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
	return b.Function.Kind == Python && b.Function.form == plainForm && !b.Function.said().UsesFile
}

// GuessesParameters reports whether the names of some parameters do not say what they stand for.
func (b *Binding) GuessesParameters() bool {
	_, parameters := b.guessedParameters()
	return len(parameters) > 0
}
