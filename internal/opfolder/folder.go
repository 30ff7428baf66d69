// Package opfolder is an operator of the user's own in a folder: it reads the spec (NAME.toml) and finds the
// reference (NAME.py) and the kernels (NAME.cu), makes such a folder, and computes the truth by running the
// reference in fp64 through the backend that it is given. It builds and judges no implementation.
package opfolder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/truth"
	"triad/internal/userfile"
)

// Folder is an operator of the user's own: a folder with a spec, the fp64 reference in Python, and, where
// there are some, implementations.
type Folder struct {
	Dir    string // absolute
	Spec   *op.Spec
	TOML   string // absolute, as the other files
	Python string
	CUDA   string // "" where there is none
	// Registers: the .cu registers its kernels itself (TRIAD_KERNEL); otherwise its functions are matched by
	// their signatures. Rows is the same for the .py (IMPLEMENTATIONS); with Formula it has a
	// reference_backward.
	Registers, Rows, Formula bool
	Findings                 []op.Finding // of the operator that it copies
	Problem                  string       // the plan of an imported problem, ProblemFile; "" elsewhere
}

// ProblemFile is the name of the file in an imported problem's folder that says how the problem and its
// submissions are called.
const ProblemFile = "problem.json"

// IsFolder reports whether a word of the command line means a folder and not an operator of the catalog.
func IsFolder(word string) bool {
	return strings.ContainsRune(word, filepath.Separator) || word == "." || word == ".." ||
		strings.HasSuffix(word, ".toml")
}

// Holds reports whether a file belongs to an operator's folder: the spec of its name lies beside it.
func Holds(path string) bool {
	return userfile.IsRegular(strings.TrimSuffix(path, filepath.Ext(path)) + ".toml")
}

// Open reads the operator in a folder: NAME.toml, NAME.py and NAME.cu. The error is a *op.UsageError.
func Open(path string) (*Folder, error) {
	refuse := func(format string, a ...any) (*Folder, error) {
		return nil, &op.UsageError{Message: fmt.Sprintf("operator %s: ", path) + fmt.Sprintf(format, a...)}
	}
	dir, err := filepath.Abs(path)
	if err != nil {
		return refuse("%v", err)
	}
	if strings.HasSuffix(dir, ".toml") {
		dir = filepath.Dir(dir)
	}
	specs, err := filepath.Glob(filepath.Join(dir, "*.toml"))
	switch _, statErr := os.Stat(dir); {
	case !isDirectory(dir) && statErr == nil:
		return refuse("it is a file: want the folder of an operator, which triad new makes, or for a .cu " +
			"or .py of your own triad compare OP --add FILE")
	case !isDirectory(dir):
		return refuse("there is no such folder: triad new %s makes one", filepath.Base(dir))
	case err != nil || len(specs) == 0:
		return refuse("the folder holds no .toml: triad new NAME makes a working operator to start from")
	case len(specs) > 1:
		return refuse("the folder holds %d .toml files: want one, the spec", len(specs))
	}
	f := &Folder{Dir: dir, TOML: specs[0]}
	text, err := userfile.Read(f.TOML)
	if err != nil {
		return refuse("cannot read %s: %v", f.TOML, errors.Unwrap(err))
	}
	if f.Spec, err = op.LoadOwn(shown(f.TOML), text); err != nil {
		return nil, &op.UsageError{Message: err.Error()}
	}
	if err := f.check(); err != nil {
		return refuse("%v", err)
	}
	if like := f.Spec.Findings; like != "" {
		if _, err := catalog.Get(like); err != nil {
			return refuse("findings = %q: %v", like, err)
		}
		if f.Findings, err = catalog.FindingsOf(like, f.Spec); err != nil {
			return refuse("findings = %q: those of %s do not fit this spec: %v", like, like, err)
		}
	}
	return f, nil
}

// check finds the other files and rejects what the spec of a user's own operator may not contain.
func (f *Folder) check() error {
	name := f.Spec.Name
	stem := strings.TrimSuffix(filepath.Base(f.TOML), ".toml")
	if name != stem {
		return fmt.Errorf("%s says name = %q: want %q, the stem of the file", shown(f.TOML), name, stem)
	}
	if _, err := catalog.Get(name); err == nil {
		return fmt.Errorf("%s is an operator that triad has: results of both could not be told apart, "+
			"choose another name (the .toml, .py and .cu carry it)", name)
	}
	for _, contract := range append(f.contracts(), f.Spec.Contract.Permits...) {
		if !slices.Contains(truth.ComposedContracts, contract) {
			return fmt.Errorf("%s: contract %q belongs to operators whose error bound is written by hand: "+
				"want of %s", shown(f.TOML), contract,
				strings.Join(truth.ComposedContracts, ", "))
		}
	}
	f.Python = filepath.Join(f.Dir, name+".py")
	text, err := userfile.Read(f.Python)
	if err != nil {
		return fmt.Errorf("there is no %s.py, which holds the truth: def reference(%s) in torch", name,
			f.parameters())
	}
	if !defines(text, "reference") {
		return fmt.Errorf("%s has no function reference: want def reference(%s), the truth in torch",
			shown(f.Python), f.parameters())
	}
	if plan := filepath.Join(f.Dir, ProblemFile); userfile.IsRegular(plan) {
		f.Problem = plan
	}
	f.Formula, f.Rows = defines(text, "reference_backward"), rowsOfPython.Match(text)
	if f.Spec.Backward != nil && !f.Formula && !f.chains() {
		return fmt.Errorf("%s: backward.inputs leaves out an input of %s, and autograd of the reference "+
			"needs all of them: add it, or write reference_backward in %s.py",
			shown(f.TOML), f.parameters(), name)
	}
	f.CUDA = filepath.Join(f.Dir, name+".cu")
	text, err = userfile.Read(f.CUDA)
	if errors.Is(err, fs.ErrNotExist) {
		f.CUDA = ""
		return nil
	}
	if err != nil {
		return err
	}
	f.Registers = registersKernels.Match(text)
	return nil
}

// chains reports whether a backward can start from the operator's inputs, through autograd of the reference.
func (f *Folder) chains() bool {
	b := f.Spec.Backward
	if b == nil || b.Chained {
		return b != nil
	}
	return !slices.ContainsFunc(f.Spec.InputSpecs,
		func(in op.TensorSpec) bool { return !slices.Contains(b.Inputs, in.Name) })
}

var (
	rowsOfPython     = regexp.MustCompile(`(?m)^IMPLEMENTATIONS\s*[:=]`)
	registersKernels = regexp.MustCompile(`(?m)^\s*TRIAD_KERNEL\s*\(`)
)

func defines(python []byte, function string) bool {
	return regexp.MustCompile(`(?m)^(def\s+` + function + `\s*\(|` + function + `\s*=)`).Match(python)
}

func (f *Folder) contracts() []string {
	var all []string
	for _, d := range f.Spec.DTypes {
		all = append(all, f.Spec.DefaultContract(d))
	}
	return all
}

// parameters returns the parameters of the reference: inputs by position, attributes by keyword.
func (f *Folder) parameters() string {
	var words []string
	for _, in := range f.Spec.InputSpecs {
		words = append(words, in.Name)
	}
	if len(f.Spec.Attributes) > 0 {
		words = append(words, "*")
	}
	for _, a := range f.Spec.Attributes {
		words = append(words, a.Name)
	}
	return strings.Join(words, ", ")
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// shown returns a path relative to the working directory where it lies below it.
func shown(path string) string {
	dir, err := os.Getwd()
	if err != nil {
		return path
	}
	if relative, err := filepath.Rel(dir, path); err == nil && !strings.HasPrefix(relative, "..") {
		return relative
	}
	return path
}
