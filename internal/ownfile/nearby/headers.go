package nearby

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"triad/cuda/build"
	"triad/cuda/rewrite"
	"triad/internal/userfile"
)

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

// Headers returns flags for the folders of a repository with headers that a CUDA file includes, directly
// or through others, and that are not found otherwise. It searches next to the file's folder and the folders
// above it, up to the root of the repository.
func Headers(path string, text []byte, flags []string) []string {
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
