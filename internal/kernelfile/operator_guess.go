package kernelfile

import (
	"path/filepath"
	"slices"
	"strings"

	"triad/internal/op"
)

// GuessOperators lists which of the given operators a file may implement: those that its lines name; else
// those whose name the file or one of its functions carries; else those whose parameters a function has, and
// of these the ones with the most tensors named as in the function. It is empty if nothing fits.
func GuessOperators(file *File, r Request, specs []*op.Spec) []string {
	names := append([]string{filepath.Base(r.Path), r.Function}, functionNames(file.Functions)...)
	var named, fitting, declared []string
	tensorsNamed := map[string]int{} // of the operators that fit
	for _, s := range specs {
		if file.Declares(s.Name) {
			declared = append(declared, s.Name)
		}
		plain := func(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }
		carries := func(name string) bool {
			words := "_" + strings.ToLower(strings.TrimSuffix(name, filepath.Ext(name))) + "_"
			isWord := func(other string) bool { return strings.Contains(words, "_"+other+"_") }
			return strings.Contains(plain(name), plain(s.Name)) || slices.ContainsFunc(s.AlsoCalled, isWord)
		}
		if slices.ContainsFunc(names, carries) {
			named = append(named, s.Name)
		}
		if bound, err := Bind(file, r, s, s.Passes(), Options{}); err == nil {
			fitting = append(fitting, s.Name)
			for _, b := range bound {
				tensorsNamed[s.Name] += b.tensorsNamed()
			}
		}
	}
	if len(declared) > 0 {
		return declared
	}
	unfit := func(name string) bool { return !slices.Contains(fitting, name) }
	if both := slices.DeleteFunc(slices.Clone(named), unfit); len(both) > 0 {
		return both
	}
	if len(named) > 0 {
		return named
	}
	most := 0
	for _, n := range tensorsNamed {
		most = max(most, n)
	}
	return slices.DeleteFunc(fitting, func(name string) bool { return tensorsNamed[name] < most })
}

// tensorsNamed counts the tensors whose parameter has the spec's name or one without another meaning.
func (b *Binding) tensorsNamed() int {
	count := 0
	for _, a := range b.Args {
		if (a.Role == Input || a.Role == Output) && score(b.Spec, b.Pass, a.Name, a.Target) > scoreWeak {
			count++
		}
	}
	return count
}
