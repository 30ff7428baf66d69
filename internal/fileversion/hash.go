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

// WriteContents writes the contents of a file and of the files that it includes with quotes, wherever they
// lie, to a hash. A file that cannot be read is left out: it may be one of the compiler's, or be included
// behind an #if.
func WriteContents(hash io.Writer, path string) {
	writeOnce(hash, path, map[string]bool{})
}

func writeOnce(hash io.Writer, path string, seen map[string]bool) {
	if seen[path] {
		return
	}
	seen[path] = true
	text, err := os.ReadFile(path)
	if err != nil {
		return
	}
	fmt.Fprintf(hash, "%d:", len(text))
	_, _ = hash.Write(text)
	if filepath.Ext(path) == ".py" {
		return
	}
	for _, include := range rewrite.Includes(text) {
		if !filepath.IsAbs(include) {
			include = filepath.Join(filepath.Dir(path), include)
		}
		writeOnce(hash, include, seen)
	}
}

// Hash is the first 16 hexadecimal digits of a SHA-256 of the contents of files.
func Hash(paths ...string) string {
	hash := sha256.New()
	for _, path := range paths {
		WriteContents(hash, path)
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}
