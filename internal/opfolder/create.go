package opfolder

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"triad/internal/catalog"
	"triad/internal/exercise"
	"triad/internal/op"
)

//go:embed starter
var starter embed.FS

// kernels holds a learner's kernel of most operators, OPERATOR.cu. The first line of a file says what its
// parameters mean.
//
//go:embed kernels
var kernels embed.FS

// Create makes the folder of a new operator: a small working one, or one that computes what the catalog's
// operator from does, whose files are given by sources (laid out as the repository). The last part of folder
// is its name. The error is a *op.UsageError where the user is to blame.
func Create(folder, from string, sources fs.FS) error {
	return create(folder, func(name string) (map[string]string, error) {
		return contentsOf(name, from, sources)
	})
}

// create makes the folder of a new operator with the files that contents gives by their names.
func create(folder string, contents func(name string) (map[string]string, error)) error {
	name := filepath.Base(filepath.Clean(folder))
	refuse := func(format string, a ...any) error {
		return &op.UsageError{Message: fmt.Sprintf("new %s: ", folder) + fmt.Sprintf(format, a...)}
	}
	if err := op.CheckOperatorName(name); err != nil {
		return refuse("%v, such as my_norm", err)
	}
	if _, err := catalog.Get(name); err == nil {
		return refuse("%s is an operator that triad has: choose another name, and start from it with "+
			"--from %s", name, name)
	}
	files, err := contents(name)
	if err != nil {
		return refuse("%v", err)
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return refuse("it is there already: nothing was changed")
		}
		return refuse("cannot make the folder: %v", errors.Unwrap(err))
	}
	for file, text := range files {
		file = filepath.Join(folder, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return fmt.Errorf("new %s: %w", folder, err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return fmt.Errorf("new %s: %w", folder, err)
		}
	}
	return nil
}

// contentsOf returns the contents of the new files by their names.
func contentsOf(name, from string, sources fs.FS) (map[string]string, error) {
	files := map[string]string{}
	if from == "" {
		for _, ending := range []string{".toml", ".cu", ".py"} {
			text, err := starter.ReadFile("starter/starter" + ending)
			if err != nil {
				return nil, err
			}
			files[name+ending] = strings.ReplaceAll(string(text), "OPERATOR", name)
		}
		return files, nil
	}
	o, err := catalog.Find(from)
	if err != nil {
		return nil, err
	}
	from = o.Spec.Name
	spec, err := catalog.Source(from)
	if err != nil {
		return nil, err
	}
	nameLine := regexp.MustCompile(`(?m)^name = "` + from + `"$`)
	toml := contractsOfOwn(nameLine.ReplaceAllString(string(spec), `name = "`+name+`"`))
	toml = otherNames.ReplaceAllString(toml, "")
	// in fp32 the error of an outlier's logits may exceed 1: no composition bounds an exponential of them
	if len(o.Spec.Check.Logits) > 0 {
		toml = strings.ReplaceAll(toml, `"outlier", `, "")
	}
	if len(o.Findings) > 0 { // the reference calls the same operations of torch
		toml = strings.Replace(toml, "\nformula = ", "\nfindings = \""+from+"\" # whose documented "+
			"faults of torch's kernels count here too: triad ops findings\nformula = ", 1)
	}
	files[name+".toml"] = toml
	if plain, err := plainFiles(name, from, sources); err != nil || plain != nil {
		maps.Copy(files, plain)
		return files, err
	}
	for ending, file := range map[string]string{
		".cu": "cuda/kernels/" + from + ".cu", ".py": "triton/" + from + ".py",
	} {
		text, err := fs.ReadFile(sources, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		registration := regexp.MustCompile(`TRIAD_KERNEL\((\s*)` + from + `,`)
		copied := registration.ReplaceAllString(string(text), "TRIAD_KERNEL(${1}"+name+",")
		copied = strings.ReplaceAll(copied, `"spec/`+from+`.cuh"`, `"spec/`+name+`.cuh"`)
		files[name+ending] = contractsOfOwn(copied)
	}
	return files, nil
}

// otherNames matches the lines of a spec with the names by which the catalog's operator is found.
var otherNames = regexp.MustCompile(`(?m)^(?:also_called|nearest_to) = .*\n`)

// plainFiles returns a kernel as a learner writes it, and the part of the Python file that needs torch alone.
// nil: there is no such kernel, or the reference needs more.
func plainFiles(name, from string, sources fs.FS) (map[string]string, error) {
	kernel, err := plainKernel(name, from)
	if err != nil || kernel == "" {
		return nil, err
	}
	text, err := fs.ReadFile(sources, "triton/"+from+".py")
	if err != nil {
		return nil, nil // the operator's own files are copied instead
	}
	python, ok := torchPart(contractsOfOwn(string(text)))
	if !ok {
		return nil, nil
	}
	_, kernel, _ = strings.Cut(kernel, "\n") // its first line names the exercise, or what parameters mean
	return map[string]string{
		name + ".cu": fmt.Sprintf("// %s: the kernels. triad watch ./%[1]s judges them on every save.\n%s",
			name, kernel),
		name + ".py": fmt.Sprintf(`"""%s: the truth

triad runs reference() in fp64, on exactly the inputs that a kernel gets, and follows every
operation to know how far fp32 arithmetic may move each element. IMPLEMENTATIONS lists further
functions to judge.
"""

%s`, name, python),
	}, nil
}

// plainKernel returns the solution of the operator's first exercise, else its file of kernels; "" if it has
// neither.
func plainKernel(name, from string) (string, error) {
	exercises, err := exercise.All()
	if err != nil {
		return "", err
	}
	for _, e := range exercises {
		if e.Op == from && e.Pass == op.Forward && path.Ext(e.File) == ".cu" {
			const declares = "// triad: "
			return strings.ReplaceAll(e.Solution, declares+from+"(", declares+name+"("), nil
		}
	}
	text, err := kernels.ReadFile("kernels/" + from + ".cu")
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}

// contractsOfOwn replaces the contracts whose error bound is written by hand by contracts whose error bound
// follows from the operations of the reference: rounding some intermediates becomes rounding where the
// reference rounds, sums of tensor cores become sums in fp32.
func contractsOfOwn(text string) string {
	for _, c := range []struct{ from, to string }{
		{"p16", "stored"},
		{"product16", "eager"},
		{"promoted", "fp32"},
		{"fast", "fp32"},
	} {
		text = strings.ReplaceAll(text, `"`+c.from+`"`, `"`+c.to+`"`)
	}
	return text
}
