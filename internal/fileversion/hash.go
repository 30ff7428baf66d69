// Package fileversion tells which version of a user's file was run: a hash of its contents and of what it
// includes, and the commit of the git repository that it lies in.
package fileversion

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"triad/cuda/rewrite"
)

// WriteContents writes the contents of a file, and of the files that it includes, to a hash. A file that
// cannot be read is left out. folders are those in which headers are looked for too.
func WriteContents(hash io.Writer, path string, folders ...string) {
	for _, name := range append([]string{path}, Included(path, folders)...) {
		if text, err := os.ReadFile(name); err == nil {
			fmt.Fprintf(hash, "%d:", len(text))
			_, _ = hash.Write(text)
		}
	}
}

// Included lists the files that a CUDA file includes, each once, where the compiler meets them: in quotes
// wherever they lie, in <> in one of the folders. What cannot be read is left out: it may be one of the
// compiler's, or be included behind an #if.
func Included(path string, folders []string) []string {
	var all []string
	seen := map[string]bool{path: true}
	var follow func(path string)
	follow = func(path string) {
		text, err := os.ReadFile(path)
		if err != nil || filepath.Ext(path) == ".py" {
			return
		}
		for _, include := range rewrite.Includes(text) {
			if at, ok := find(include, filepath.Dir(path), folders); ok && !seen[at] {
				seen[at] = true
				all = append(all, at)
				follow(at)
			}
		}
	}
	follow(path)
	return all
}

// find is where the compiler finds what a file of a folder includes.
func find(include rewrite.Include, folder string, folders []string) (path string, ok bool) {
	if include.Quoted {
		folders = append([]string{folder}, folders...)
	}
	for _, f := range folders {
		at := include.Name
		if !filepath.IsAbs(at) {
			at = filepath.Join(f, at)
		}
		if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() {
			return at, true
		}
	}
	return "", false
}

// Hash is the first 32 hexadecimal digits of a SHA-256 of the contents of files and of what they include.
// folders are those in which headers are looked for too.
func Hash(folders []string, paths ...string) string {
	hash := sha256.New()
	for _, path := range paths {
		WriteContents(hash, path, folders...)
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}
