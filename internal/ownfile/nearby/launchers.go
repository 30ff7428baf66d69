// Package nearby finds files next to a user's file that say how it is called or compiled: those that launch
// its kernels, and the folders of its headers.
package nearby

import (
	"iter"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"triad/internal/ownfile"
	"triad/internal/ownfile/pyfacts"
	"triad/internal/userfile"
)

// MainHead matches the head of a main() in CUDA without comments.
var MainHead = regexp.MustCompile(`\bmain[ \t]*\([^(){};]*\)\s*\{`)

// sourcesOfCUDA lists the extensions of files that may launch a kernel.
var sourcesOfCUDA = []string{".cu", ".cuh", ".cpp", ".cc", ".h", ".hpp"}

// Launches returns the files near a CUDA file that launch one of some of its kernels in a main() and
// define none of them.
func Launches(path string, kernels []string) (files []string) {
	if len(kernels) == 0 {
		return nil
	}
	for i, name := range kernels {
		kernels[i] = regexp.QuoteMeta(name[strings.LastIndex(name, ":")+1:])
	}
	any := strings.Join(kernels, "|")
	launches := regexp.MustCompile(`\b(?:` + any + `)\s*(?:<[^<>;]*>)?\s*<<<`)
	defines := regexp.MustCompile(`__global__[^;{}()]*\b(?:` + any + `)\s*\([^;{}]*\)\s*\{`)
	looked := 0
	for name := range filesNear(path, sourcesOfCUDA...) {
		if name == path {
			continue
		}
		if looked++; looked > mostLaunchers {
			return files // the nearest were examined
		}
		if text := Text(name); launches.MatchString(text) && !defines.MatchString(text) &&
			MainHead.MatchString(text) && !slices.Contains(files, name) {
			files = append(files, name)
		}
	}
	return files
}

// Defining returns the file near a CUDA file that defines a function and has no main(), or "".
func Defining(path, function string) string {
	name := function[strings.LastIndex(function, ":")+1:]
	defines := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `[ \t]*\([^(){};]*\)\s*(?:noexcept\s*)?\{`)
	looked := 0
	for other := range filesNear(path, ".cu", ".cpp", ".cc") {
		if looked++; looked > mostLaunchers || name == "" {
			break
		}
		if text := Text(other); other != path && defines.MatchString(text) && !MainHead.MatchString(text) {
			return other
		}
	}
	return ""
}

// mostNearBytes is the maximum size of a file that is searched although nobody named it.
const mostNearBytes = 1 << 18

// Text returns the text of a file near the user's, or "" if it is too large or cannot be read.
func Text(path string) string {
	text, _ := userfile.ReadUpTo(path, mostNearBytes)
	return string(text)
}

// mostLaunchers is the maximum number of files near a file of kernels that are examined.
const mostLaunchers = 200

// testsOthers matches the names of files that run the definitions of others and define nothing to call.
var testsOthers = regexp.MustCompile(`(?i)^(?:test|bench)|(?:test|bench\w*)\.py$|` +
	`^(?:__init__|setup|conftest)\.py$`)

// Launcher returns the file near a Python file that imports its kernels and launches one, if the Python
// file has nothing but kernels and there is only one such file; else "".
func Launcher(path string, content []byte, parse pyfacts.Parser) string {
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
		text := Text(name)
		if !imports.MatchString(text) || !launches.MatchString(text) || !hasFunction(text) {
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

// quoted returns a path as a glob pattern that matches only that path.
func quoted(path string) string {
	return strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`).Replace(path)
}

// hasFunction reports whether a Python file defines a function.
func hasFunction(text string) bool {
	return slices.ContainsFunc(strings.Split(text, "\n"),
		func(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " \t"), "def ") })
}
