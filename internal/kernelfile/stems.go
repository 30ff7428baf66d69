package kernelfile

import (
	"path/filepath"
	"slices"
	"strings"

	"triad/internal/harmless"
)

// Stems returns for each path the last part of the name under which its file is judged: the file's name.
// Files of the same name get as many of the folders above them as are needed to distinguish them. The
// extension belongs to the name, so that k.cu and k.py differ, even if one is judged after the other. Blanks,
// commas, quotes and characters that cannot be displayed become underscores.
func Stems(paths []string) []string {
	names := make([][]string, len(paths)) // each part of a path
	for i, path := range paths {
		names[i] = strings.Split(strings.TrimPrefix(filepath.ToSlash(filepath.Clean(path)), "/"), "/")
	}
	stems, folders := make([]string, len(paths)), make([]int, len(paths))
	for {
		alike := map[string][]int{}
		for i, parts := range names {
			stem := strings.Join(parts[max(len(parts)-1-folders[i], 0):], "/")
			stems[i] = harmless.Name(stem, " \t\"\\,")
			alike[stems[i]] = append(alike[stems[i]], i)
		}
		longer := false
		for _, group := range alike {
			if !slices.ContainsFunc(group, func(i int) bool { return paths[i] != paths[group[0]] }) {
				continue
			}
			for _, i := range group {
				if folders[i]+1 < len(names[i]) {
					folders[i]++
					longer = true
				}
			}
		}
		if !longer {
			return stems
		}
	}
}
