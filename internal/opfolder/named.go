package opfolder

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/operatorguess"
	"triad/internal/ownfile"
	"triad/internal/ownfile/pyparser"
	"triad/internal/truth"
	"triad/internal/userfile"
)

// Named returns the operator of the catalog with this name, or the one in the folder with this path.
// If a folder of the name is here, the error says how to name it, and for a file how to judge it.
func Named(name string) (*truth.Operator, error) {
	if IsFile(name) {
		return nil, FileForOperator(name)
	}
	if IsFolder(name) {
		f, err := Open(name)
		if err != nil {
			return nil, err
		}
		return &truth.Operator{Spec: f.Spec, Reference: &Reference{Folder: f}, Findings: f.Findings}, nil
	}
	o, err := truth.Find(name)
	var u *op.UsageError
	if errors.As(err, &u) {
		if info, statErr := os.Stat(name); statErr == nil && info.IsDir() {
			return nil, op.Usagef("%v; the folder of that name is ./%s", err, name)
		}
	}
	return o, err
}

// IsFile reports whether a word means a file of functions, FILE.cu or FILE.py with or without :function
// and @pass, and not an operator.
func IsFile(word string) bool {
	r, err := ownfile.ParseRequest(word)
	if err != nil {
		return false
	}
	info, err := os.Stat(r.Path)
	return err != nil || !info.IsDir()
}

// FileForOperator returns the error for a file in the place of an operator, with the command that judges the
// file. others holds the operators that were named with it.
func FileForOperator(word string, others ...string) error {
	r, err := ownfile.ParseRequest(word)
	if err != nil {
		return err
	}
	text, err := userfile.Read(r.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return op.Usagef(
			"there is no file %s; one of your own is judged with triad compare OP --add FILE, "+
				"where OP is one of %s",
			r.Path, strings.Join(catalog.Names(), ", "))
	case err != nil:
		return op.Usagef("cannot read the file %s: %v", r.Path, errors.Unwrap(err))
	}
	operators := others
	if len(others) == 0 {
		var specs []*op.Spec
		for _, o := range catalog.All() {
			specs = append(specs, o.Spec)
		}
		r.Parse = pyparser.New(pyparser.OfPATH)
		operators = operatorguess.Named(
			operatorguess.Of(ownfile.Read(r, string(text), nil), r, string(text), specs))
	}
	if len(operators) == 1 {
		return op.Usagef("%s is a file, not an operator: triad compare %s --add %s", word, operators[0],
			word)
	}
	if len(operators) == 0 {
		operators = catalog.Names()
	}
	return op.Usagef("%s is a file, not an operator: triad compare OP --add %s, where "+
		"OP is what it implements, one of %s",
		word, word, strings.Join(operators, ", "))
}

// Of returns the folder of the first operator that has one; nil if all are of the catalog.
func Of(operators []*truth.Operator) *Folder {
	for _, o := range operators {
		if r, ok := o.Reference.(*Reference); ok {
			return r.Folder
		}
	}
	return nil
}
