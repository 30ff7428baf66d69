package ownkernels

import (
	"iter"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"triad/internal/ownfile"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/pyfacts"
)

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

// mostLaunchers is the maximum number of files near a file of kernels that are examined.
const mostLaunchers = 200

// testsOthers matches the names of files that run the definitions of others and define nothing to call.
var testsOthers = regexp.MustCompile(`(?i)^(?:test|bench)|(?:test|bench\w*)\.py$|` +
	`^(?:__init__|setup|conftest)\.py$`)

// launcherOf returns the file near a Python file that imports its kernels and launches one, if the Python
// file has nothing but kernels and there is only one such file; else "".
func launcherOf(path string, content []byte, parse pyfacts.Parser) string {
	kernels := ownfile.KernelsAlone(ownfile.ReadPython(string(content), parse))
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
	return slices.ContainsFunc(f.Bindings,
		func(b *binding.Binding) bool { return ownfile.GuessesParameters(b) })
}

// throughLauncher reads the file that launches the kernels of a file in its place, if it can be judged. ok is
// false if it cannot.
func (r Interpretation) throughLauncher(request binding.Request, path string, content []byte) (
	f *File, ok bool,
) {
	if !request.IsPython() || request.Function != "" || r.launches != "" ||
		ownfile.Declares(request, string(content), nil, r.Spec.Name) {
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
