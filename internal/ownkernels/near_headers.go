package ownkernels

import (
	"os"
	"path/filepath"
	"slices"

	"triad/cuda"
	"triad/cuda/rewrite"
)

// headerFolders are what repositories call the folders of their headers.
var headerFolders = []string{"include", "inc", "includes", "common", "utils", "src", "csrc", "."}

// nearHeaders are flags for the folders of a repository in which headers lie that a CUDA file, or one that it
// includes, includes in quotes and that are not found otherwise: those beside the folders above it, up to
// that of the repository.
func nearHeaders(path string, text []byte, flags []string) []string {
	var found []string
	seen := map[string]bool{}
	var follow func(path string, text []byte)
	follow = func(path string, text []byte) {
		for _, include := range rewrite.Includes(text) {
			if !include.Quoted || filepath.IsAbs(include.Name) || seen[include.Name] {
				continue
			}
			seen[include.Name] = true
			known := cuda.HeaderFolders(slices.Concat(flags, found))
			at := firstWith(include.Name, append([]string{filepath.Dir(path)}, known...))
			if at == "" {
				if at = firstWith(include.Name, foldersAbove(path)); at != "" {
					found = append(found, "-I"+at)
				}
			}
			if header, err := os.ReadFile(filepath.Join(at, include.Name)); at != "" && err == nil {
				follow(filepath.Join(at, include.Name), header)
			}
		}
	}
	follow(path, text)
	return found
}

// firstWith is the first folder in which a file of that name lies; "" where none has one.
func firstWith(name string, folders []string) string {
	for _, folder := range folders {
		if info, err := os.Stat(filepath.Join(folder, name)); err == nil && info.Mode().IsRegular() {
			return folder
		}
	}
	return ""
}

// foldersAbove are the folders in which the headers of a file's repository may lie, the nearest first.
func foldersAbove(path string) (all []string) {
	folder := filepath.Dir(path)
	for range 4 {
		for _, name := range headerFolders {
			all = append(all, filepath.Join(folder, name))
		}
		if _, err := os.Stat(filepath.Join(folder, ".git")); err == nil || folder == filepath.Dir(folder) {
			return all
		}
		folder = filepath.Dir(folder)
	}
	return all
}
