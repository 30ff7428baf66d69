package ownkernels

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"triad/cuda/build"
	"triad/cuda/rewrite"
	"triad/internal/ownfile/binding"
	"triad/internal/userfile"
)

// sourcesOfCUDA lists the extensions of files that may launch a kernel.
var sourcesOfCUDA = []string{".cu", ".cuh", ".cpp", ".cc", ".h", ".hpp"}

// nearLaunches returns the files near a CUDA file that launch one of some of its kernels in a main() and
// define none of them.
func nearLaunches(path string, kernels []string) (files []string) {
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
		if text := textOf(name); launches.MatchString(text) && !defines.MatchString(text) &&
			mainHead.MatchString(text) && !slices.Contains(files, name) {
			files = append(files, name)
		}
	}
	return files
}

// mostFunctions is the maximum number of functions of one file that are judged, each by itself, if none is
// named.
const mostFunctions = 100

// mostDefinitions is the maximum number of functions of a Python file, or kernels of a CUDA file, if none is
// named: each is read in full.
const mostDefinitions = 300

// definitions returns the number of functions that a Python file defines, or of kernels in a CUDA file; 0 if
// one is named.
func definitions(request binding.Request, content []byte) int {
	if request.Function != "" {
		return 0
	}
	if !request.IsPython() {
		return bytes.Count(content, []byte("__global__"))
	}
	return bytes.Count(content, []byte("\ndef "))
}

// mostNearBytes is the maximum size of a file that is searched although nobody named it.
const mostNearBytes = 1 << 18

// textOf returns the text of a file near the user's, or "" if it is too large or cannot be read.
func textOf(path string) string {
	text, _ := userfile.ReadUpTo(path, mostNearBytes)
	return string(text)
}

// headerFolders lists common names of header folders, in lower case. One of them may hold another:
// Common/include.
var headerFolders = []string{"include", "inc", "includes", "lib", "common", "utils", "src", "csrc", "."}

// otherHeader matches names between < and > that are no headers of a repository: those of the compiler, of
// the system, or of CUDA and its libraries.
var otherHeader = regexp.MustCompile(`^[\w/]+$|^(?:assert|complex|ctype|errno|fenv|float|inttypes|iso646|` +
	`limits|locale|malloc|math|memory|omp|pthread|sched|setjmp|signal|stdarg|stdbool|stddef|stdint|stdio|` +
	`stdlib|string|strings|tgmath|time|unistd|wchar|wctype|mma|nccl|cu\w*|cooperative_groups|device_\w+|` +
	`driver_types|helper_\w+|library_types|math_\w+|nv\w*|sm_\w+|surface_\w+|texture_\w+|vector_\w+)\.h$|` +
	`^(?:ATen|c10|cooperative_groups|cub|cuda|cute|cutlass|nvtx3|sys|thrust|torch|x86)/`)

// nearHeaders returns flags for the folders of a repository with headers that a CUDA file includes, directly
// or through others, and that are not found otherwise. It searches next to the file's folder and the folders
// above it, up to the root of the repository.
func nearHeaders(path string, text []byte, flags []string) []string {
	var found []string
	seen := map[string]bool{}
	tree := userfile.Tree(path)
	var follow func(path string, text []byte)
	follow = func(path string, text []byte) {
		for _, include := range rewrite.Includes(text) {
			if filepath.IsAbs(include.Name) || seen[include.Name] ||
				!include.Quoted && otherHeader.MatchString(include.Name) {
				continue
			}
			seen[include.Name] = true
			known := build.HeaderFolders(slices.Concat(flags, found))
			if include.Quoted {
				known = append([]string{filepath.Dir(path)}, known...)
			}
			at := firstWith(include.Name, known)
			if at == "" {
				if at = firstWith(include.Name, foldersAbove(path)); at != "" {
					found = append(found, "-I"+at)
				}
			}
			if at == "" {
				continue
			}
			readable := userfile.Within(append(known, tree, at)...)
			if header, err := readable.Read(filepath.Join(at, include.Name)); err == nil {
				follow(filepath.Join(at, include.Name), header)
			}
		}
	}
	follow(path, text)
	return found
}

// firstWith returns the first folder that contains a file of that name, or "" if none does.
func firstWith(name string, folders []string) string {
	for _, folder := range folders {
		if userfile.IsRegular(filepath.Join(folder, name)) {
			return folder
		}
	}
	return ""
}

// foldersAbove returns the folders that may hold the headers of a file's repository, the nearest first.
func foldersAbove(path string) (all []string) {
	folder := filepath.Dir(path)
	for range 4 {
		all = append(all, headersIn(folder)...)
		if _, err := os.Stat(filepath.Join(folder, ".git")); err == nil || folder == filepath.Dir(folder) {
			return all
		}
		folder = filepath.Dir(folder)
	}
	return all
}

// headersIn returns the likely header folders in a folder, which may itself be one, the likeliest first.
func headersIn(folder string) (all []string) {
	entries, _ := os.ReadDir(folder) // an unreadable folder counts as empty
	for _, name := range headerFolders {
		if name == "." {
			all = append(all, folder)
		}
		for _, e := range entries {
			if e.IsDir() && strings.ToLower(e.Name()) == name {
				at := filepath.Join(folder, e.Name())
				all = append(all, at, filepath.Join(at, "include"))
				if name == "include" { // which may be split by language: include/cpp
					all = append(all, foldersOf(at)...)
				}
			}
		}
	}
	return all
}

// foldersOf returns the subfolders of a folder, sorted by name.
func foldersOf(folder string) (all []string) {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if e.IsDir() {
			all = append(all, filepath.Join(folder, e.Name()))
		}
	}
	return all
}
