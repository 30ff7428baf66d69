package ownkernels

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"triad/cuda/build"
	"triad/internal/backend"
	"triad/internal/fileversion"
	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
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
