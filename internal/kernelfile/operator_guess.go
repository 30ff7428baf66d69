package kernelfile

import (
	"path/filepath"
	"slices"
	"strings"

	"triad/internal/op"
)

// GuessOperators lists which of the given operators a file may implement: those whose name the file or one of
// its functions carries, else those whose parameters a function has. It is empty where nothing fits.
func GuessOperators(file *File, r Request, specs []*op.Spec) []string {
	names := []string{filepath.Base(r.Path), r.Function}
	for _, fn := range file.Functions {
		names = append(names, fn.Name)
	}
	var named, fitting []string
	for _, s := range specs {
		plain := func(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }
		carries := func(name string) bool { return strings.Contains(plain(name), plain(s.Name)) }
		if slices.ContainsFunc(names, carries) {
			named = append(named, s.Name)
		}
		if _, err := Bind(file, r, s, s.Passes(), Options{}); err == nil {
			fitting = append(fitting, s.Name)
		}
	}
	unfit := func(name string) bool { return !slices.Contains(fitting, name) }
	if both := slices.DeleteFunc(slices.Clone(named), unfit); len(both) > 0 {
		return both
	}
	if len(named) > 0 {
		return named
	}
	return fitting
}
