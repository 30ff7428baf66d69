package ownkernels

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"triad/cuda/build"
	"triad/internal/backend"
	"triad/internal/fileversion"
	"triad/internal/kernelfile"
	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/pyfacts"
)

// sourceFolders lists common names of folders of kernels, in lower case.
var sourceFolders = []string{"src", "source", "csrc", "kernels", "kernel", "cuda", "lib"}

// mostFiles is the maximum number of files that are searched for a function.
const mostFiles = 200

// otherFile is another file of the program, with its definitions.
type otherFile struct {
	path    string
	defines []string
}

// withOtherFiles adds to the text of a CUDA file the files that define what it declares and calls: those that
// its program is linked from.
func (f *File) withOtherFiles(content []byte) {
	found := linkedWith(f.Path, content, build.HeaderFolders(f.interpretation.Options.Flags))
	if len(found) == 0 {
		return // if something is missing, the linker reports it
	}
	text, folder := f.text(content), filepath.Dir(f.Path)
	var names []string
	for _, path := range found {
		at, err := filepath.Rel(folder, path)
		if err != nil {
			return
		}
		names = append(names, at)
		text += fmt.Sprintf("\n#define main triad_main_of_another_file\n#include \"%s\"\n#undef main\n",
			filepath.ToSlash(at))
	}
	f.others = found
	f.Matched = append(f.Matched, "built together with "+strings.Join(names, " and ")+
		", which it calls functions of")
	f.takeText(text)
}

// linkedWith returns the files that define everything that a CUDA file and its includes declare and call. It
// returns none if something is missing or a name would be defined twice.
func linkedWith(path string, content []byte, headers []string) (paths []string) {
	included := ""
	for _, header := range fileversion.Included(path, headers) {
		if len(header.Text) <= mostNearBytes {
			included += "\n" + string(header.Text)
		}
	}
	own := cfacts.ReadCUDA(string(content) + included)
	missing := own.Undefined()
	if len(missing) == 0 {
		return nil
	}
	here := own.Defined()
	for _, other := range otherFiles(path, missing) {
		clashes := slices.ContainsFunc(other.defines, func(n string) bool { return slices.Contains(here, n) })
		if left := without(missing, other.defines); !clashes && len(left) < len(missing) {
			paths, missing, here = append(paths, other.path), left, slices.Concat(here, other.defines)
		}
	}
	if len(missing) > 0 {
		return nil
	}
	return paths
}

// takeText builds a changed text in place of the file's. It lies elsewhere, so the file's folder becomes an
// include path.
func (f *File) takeText(text string) {
	f.inline = text
	f.interpretation.Options.Flags = withFolderOf(f.Path, f.interpretation.Options.Flags)
}

// text returns the text that is built of a file with these contents.
func (f *File) text(content []byte) string {
	if f.inline != "" {
		return f.inline
	}
	return string(content)
}

// without returns the words that do not occur in others.
func without(words, others []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return slices.Contains(others, w) })
}

// otherFiles returns the files that define a function of these names, the nearest first: those in the folder
// of a CUDA file, and in source folders in that folder and the ones above it.
func otherFiles(path string, names []string) (all []otherFile) {
	folders, folder := []string{filepath.Dir(path)}, filepath.Dir(path)
	for range 3 {
		entries, _ := os.ReadDir(folder) // an unreadable folder counts as empty
		for _, e := range entries {
			at := filepath.Join(folder, e.Name())
			if e.IsDir() && slices.Contains(sourceFolders, strings.ToLower(e.Name())) &&
				!slices.Contains(folders, at) {
				folders = append(folders, at)
			}
		}
		if _, err := os.Stat(filepath.Join(folder, ".git")); err == nil || folder == filepath.Dir(folder) {
			break
		}
		folder = filepath.Dir(folder)
	}
	looked := 0
	for _, folder := range folders {
		for _, at := range sourcesIn(folder) {
			if looked++; looked > mostFiles {
				return all
			}
			text := textOf(at)
			mentions := func(name string) bool { return strings.Contains(text, name) }
			if at == path || !slices.ContainsFunc(names, mentions) {
				continue
			}
			defines := cfacts.ReadCUDA(text).Defined()
			if len(without(names, defines)) < len(names) {
				all = append(all, otherFile{at, defines})
			}
		}
	}
	return all
}

// sourcesIn returns the C++ and CUDA files in a folder.
func sourcesIn(folder string) (all []string) {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if e.Type().IsRegular() && slices.Contains([]string{".cu", ".cpp", ".cc"}, filepath.Ext(e.Name())) {
			all = append(all, filepath.Join(folder, e.Name()))
		}
	}
	return all
}

// limitOfOthers makes a failed build neutral if the file was built together with others, since that
// combination is a guess.
func (f *File) limitOfOthers(failed *backend.LoadFailure) {
	if len(f.others) > 0 && failed.Status == op.StatusBuildFail {
		failed.Status = op.StatusUnavailable
		failed.Message = fmt.Sprintf("it calls functions that another file defines, and is not built "+
			"together with %s: %s. Include that file, or judge the function without what needs it",
			strings.Join(f.others, " and "), failed.Message)
	}
}

// mostLaunchers is the maximum number of files near a file of kernels that are examined.
const mostLaunchers = 200

// testsOthers matches the names of files that run the definitions of others and define nothing to call.
var testsOthers = regexp.MustCompile(`(?i)^(?:test|bench)|(?:test|bench\w*)\.py$|` +
	`^(?:__init__|setup|conftest)\.py$`)

// launcherOf returns the file near a Python file that imports its kernels and launches one, if the Python
// file has nothing but kernels and there is only one such file; else "".
func launcherOf(path string, content []byte, parse pyfacts.Parser) string {
	kernels := kernelfile.KernelsAlone(kernelfile.ReadPython(string(content), parse))
	if len(kernels) == 0 {
		return ""
	}
	stem := regexp.QuoteMeta(strings.TrimSuffix(filepath.Base(path), ".py"))
	imports := regexp.MustCompile(`(?m)^[ \t]*(?:from[ \t]+[\w.]*\b` + stem + `[ \t]+import\b|` +
		`(?:from[ \t]+[\w.]+[ \t]+)?import[ \t].*\b` + stem + `\b)`)
	launches := regexp.MustCompile(`\b(?:` + strings.Join(kernels, "|") + `)\[`)
	found, looked := "", 0
	for name := range filesNear(path, ".py") {
		if looked++; looked > mostLaunchers {
			return ""
		}
		if name == path || name == found || testsOthers.MatchString(filepath.Base(name)) {
			continue
		}
		text := textOf(name)
		if !imports.MatchString(text) || !launches.MatchString(text) || !hasFunction.MatchString(text) {
			continue
		}
		if found != "" {
			return ""
		}
		found = name
	}
	return found
}

// filesNear yields the files with some extensions in the folder of a file, in its parent and in the
// subfolders of both, the nearest first. Some files occur twice, and the file itself is included.
func filesNear(path string, endings ...string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, pattern := range []string{"*", "../*", "*/*", "../*/*"} {
			files, err := filepath.Glob(filepath.Join(quoted(filepath.Dir(path)), pattern))
			if err != nil {
				return
			}
			for _, name := range files {
				if slices.Contains(endings, filepath.Ext(name)) && !yield(name) {
					return
				}
			}
		}
	}
}

// patternSign matches the special characters of a glob pattern.
var patternSign = regexp.MustCompile(`[*?\[\\]`)

// quoted returns a path as a glob pattern that matches only that path.
func quoted(path string) string { return patternSign.ReplaceAllString(path, `\$0`) }

// hasFunction matches a function at the top level of a file or in a class.
var hasFunction = regexp.MustCompile(`(?m)^[ \t]*def \w+\(`)

// assumesSomething reports whether a file leaves open what a parameter of a function stands for.
func assumesSomething(f *File) bool {
	return slices.ContainsFunc(f.Bindings, func(b *kernelfile.Binding) bool { return b.GuessesParameters() })
}

// throughLauncher reads the file that launches the kernels of a file in its place, if it can be judged. ok is
// false if it cannot.
func (r Interpretation) throughLauncher(request kernelfile.Request, path string, content []byte) (
	f *File, ok bool,
) {
	if !request.IsPython() || request.Function != "" || r.launches != "" ||
		request.Declares(string(content), nil, r.Spec.Name) {
		return nil, false
	}
	launcher := launcherOf(path, content, r.Workers.Parse)
	if launcher == "" {
		return nil, false
	}
	itself := r
	r.launches, itself.launches = launcher, path
	f, err := r.Read()
	if err != nil {
		return nil, false
	}
	if assumesSomething(f) { // its kernels may be clearer
		if alone, err := itself.Read(); err == nil {
			return alone, true
		}
	}
	name := launcher
	if near, err := filepath.Rel(filepath.Dir(path), launcher); err == nil {
		name = near
	}
	f.Matched = slices.Insert(f.Matched, 0, "it has kernels alone, which "+name+" launches: that is judged")
	return f, true
}
