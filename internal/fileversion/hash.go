// Package fileversion identifies the version of a user's file that was run: a hash of its contents and of
// what it includes, and the commit of the git repository that it lies in.
package fileversion

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"triad/cuda/rewrite"
	"triad/internal/userfile"
)

// State returns a hash of a file and of what it includes, by which a change shows; "" if it cannot be read.
func State(path string) string {
	full, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	if _, err := os.Stat(full); err != nil {
		return ""
	}
	hash := sha256.New()
	WriteContents(hash, full)
	return string(hash.Sum(nil))
}

// WriteContents writes the contents of a file, and of the files that it includes, to a hash. Unreadable files
// are left out. Headers are also searched in folders.
func WriteContents(hash io.Writer, path string, folders ...string) {
	write := func(text []byte) {
		fmt.Fprintf(hash, "%d:", len(text))
		_, _ = hash.Write(text)
	}
	text, err := userfile.Read(path)
	if err != nil {
		return
	}
	write(text)
	for _, header := range Included(path, folders) {
		write(header.Text)
	}
}

// Header is a file that another one includes.
type Header struct {
	Path string
	Text []byte
}

// mostTogether caps the total bytes of the files that one file includes; a file that would exceed it is left
// out.
const mostTogether = 64 << 20

// Included lists the files that a CUDA file includes, each once, where the compiler meets them: in quotes in
// the file's project or in one of the folders, in <> in one of the folders. Unreadable ones are left out:
// they may be the compiler's, or be included behind an #if.
func Included(path string, folders []string) []Header {
	if filepath.Ext(path) == ".py" {
		return nil
	}
	text, err := userfile.Read(path)
	if err != nil {
		return nil
	}
	var all []Header
	seen, bytes := map[string]bool{path: true}, 0
	readable := userfile.Within(append([]string{userfile.Tree(path)}, folders...)...)
	var follow func(path string, text []byte)
	follow = func(path string, text []byte) {
		for _, include := range rewrite.Includes(text) {
			at, ok := find(include, filepath.Dir(path), folders)
			if !ok || seen[at] {
				continue
			}
			seen[at] = true
			if text, err := readable.Read(at); err == nil && bytes+len(text) <= mostTogether {
				bytes += len(text)
				all = append(all, Header{at, text})
				follow(at, text)
			}
		}
	}
	follow(path, text)
	return all
}

// find returns the path at which the compiler finds an include of a file in a folder.
func find(include rewrite.Include, folder string, folders []string) (path string, ok bool) {
	if include.Quoted {
		folders = append([]string{folder}, folders...)
	}
	for _, f := range folders {
		at := include.Name
		if !filepath.IsAbs(at) {
			at = filepath.Join(f, at)
		}
		if userfile.IsRegular(at) {
			return at, true
		}
	}
	return "", false
}

// Hash returns the first 32 hexadecimal digits of a SHA-256 of the contents of files and of what they
// include. Headers are also searched in folders.
func Hash(folders []string, paths ...string) string {
	hash := sha256.New()
	for _, path := range paths {
		WriteContents(hash, path, folders...)
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}
