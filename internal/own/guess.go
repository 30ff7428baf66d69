package own

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"triad/internal/catalog"
	"triad/internal/op"
)

// IsFile says whether a word of the command line means a file of functions, FILE.cu or FILE.py with or without :function and @pass, and not an
// operator.
func IsFile(word string) bool {
	r, err := ParseRequest(word)
	return err == nil && !isDirectory(r.Path)
}

// FileForOperator is the error of a file where an operator is wanted: a *op.UsageError with the command that judges the file. beside are the operators
// that were named with it.
func FileForOperator(word string, beside ...string) error {
	r, err := ParseRequest(word)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(r.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &op.UsageError{Message: fmt.Sprintf("there is no file %s; one of your own is judged with triad compare OP --add FILE, where OP is one of %s", r.Path,
			strings.Join(catalog.Names(), ", "))}
	case err != nil:
		return &op.UsageError{Message: fmt.Sprintf("cannot read the file %s: %v", r.Path, errors.Unwrap(err))}
	}
	file := ReadCUDA(string(text))
	if filepath.Ext(r.Path) == ".py" {
		file = ReadPython(string(text))
	}
	operators := beside
	if len(beside) == 0 {
		operators = operatorsOf(file, r)
	}
	if len(operators) == 1 {
		return &op.UsageError{Message: fmt.Sprintf("%s is a file, not an operator: triad compare %s --add %s", word, operators[0], word)}
	}
	if len(operators) == 0 {
		operators = catalog.Names()
	}
	return &op.UsageError{Message: fmt.Sprintf("%s is a file, not an operator: triad compare OP --add %s, where OP is what it implements, one of %s", word, word,
		strings.Join(operators, ", "))}
}

// operatorsOf lists the operators that a file may implement: those whose name it or a function of it carries, else those whose parameters a function
// has.
func operatorsOf(file *File, r Request) []string {
	names := []string{filepath.Base(r.Path), r.Function}
	for _, fn := range file.Functions {
		names = append(names, fn.Name)
	}
	var named, fitting []string
	for _, o := range catalog.All() {
		plain := func(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }
		if slices.ContainsFunc(names, func(name string) bool { return strings.Contains(plain(name), plain(o.Spec.Name)) }) {
			named = append(named, o.Spec.Name)
		}
		if _, err := Bind(file, r, o.Spec, o.Spec.Passes(), Options{}); err == nil {
			fitting = append(fitting, o.Spec.Name)
		}
	}
	if both := slices.DeleteFunc(slices.Clone(named), func(name string) bool { return !slices.Contains(fitting, name) }); len(both) > 0 {
		return both
	}
	if len(named) > 0 {
		return named
	}
	return fitting
}
