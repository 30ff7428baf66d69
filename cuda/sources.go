package cuda

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"triad/cuda/rewrite"
	"triad/internal/userfile"
)

// sourceSet is a kernel file with all that it includes by quotes, each under its path in a build folder.
type sourceSet struct {
	main  string // the path of the kernel file in the build folder
	name  string // the kernel file as messages name it
	home  string // the folder of a kernel file on disk, "" for an embedded one
	files map[string]sourceFile
	// further files that are compiled separately, as paths in the build folder
	beside []string
	search []string // folders in which includes are looked for, below the build folder

	observed bool // what the program does is recorded
}

// kernelSearch lists the folders from which kernel files include triad's headers.
var kernelSearch = []string{"cuda", "cuda/include"}

// sourceFile is one file of a set: its text and the name that messages use.
type sourceFile struct {
	name string
	text []byte
}

// mostHeaderBytes is the size limit of a compiled file: some hold the data of a test.
const mostHeaderBytes = 64 << 20

// onDisk is the folder of a build folder under which files from outside the embedded tree keep their absolute
// paths, so that their relative includes still find each other.
const onDisk = "disk"

// gather reads the kernel file called name, from the embedded tree or (absolute or beginning with ".") from
// disk, with its includes.
func gather(embedded fs.FS, name string) (*sourceSet, error) {
	set := &sourceSet{name: name, files: map[string]sourceFile{}}
	set.main = path.Clean(name)
	if filepath.IsAbs(name) || strings.HasPrefix(name, ".") {
		abs, err := filepath.Abs(name)
		if err != nil {
			return nil, fmt.Errorf("resolve kernel file %s: %w", name, err)
		}
		set.main, set.home, set.name = path.Join(onDisk, filepath.ToSlash(abs)), filepath.Dir(abs), abs
	}
	text, err := set.read(embedded, set.main)
	if err != nil {
		return nil, fmt.Errorf("read kernel file %s: %w", name, err)
	}
	set.files[set.main] = sourceFile{set.name, text}
	flags, _ := set.flags() // the builder of the set reports their errors
	set.search = append(HeaderFolders(flags), kernelSearch...)
	return set, set.follow(embedded, set.main, text)
}

// follow adds the includes of a file. An unreadable file may lie behind an #if: the compiler will report it.
// A device or a pipe is refused with a *BuildError, since reading one may never end.
func (s *sourceSet) follow(embedded fs.FS, from string, text []byte) error {
	for _, include := range rewrite.Includes(text) {
		folders := s.search
		if include.Quoted {
			folders = append([]string{path.Dir(from)}, folders...)
		}
		for _, folder := range folders {
			at := path.Join(folder, include.Name)
			if onto, disk := strings.CutPrefix(folder+"/", onDisk+"/"); disk {
				at = path.Join(onDisk, path.Join("/", onto, include.Name)) // nothing lies above the root
			}
			if filepath.IsAbs(include.Name) {
				at = path.Join(onDisk, include.Name)
			}
			if !include.Quoted && !strings.HasPrefix(at, onDisk+"/") {
				continue // the compiler finds triad's headers
			}
			if strings.HasPrefix(at, "../") {
				continue
			}
			if _, known := s.files[at]; known {
				break
			}
			text, err := s.read(embedded, at)
			var endless *BuildError
			if errors.As(err, &endless) {
				return endless
			}
			if err != nil {
				continue
			}
			s.files[at] = sourceFile{strings.TrimPrefix(at, onDisk), text}
			if err := s.follow(embedded, at, text); err != nil {
				return err
			}
			break
		}
	}
	return nil
}

func (s *sourceSet) read(embedded fs.FS, at string) ([]byte, error) {
	if file, ok := strings.CutPrefix(at, onDisk+"/"); ok {
		text, err := userfile.ReadUpTo("/"+file, mostHeaderBytes)
		var refused *userfile.RefusedError
		if errors.As(err, &refused) {
			message := fmt.Sprintf("it includes /%s: %v", file, refused)
			return nil, &BuildError{File: s.name, Message: message, Log: message}
		}
		return text, err
	}
	if header, ok := specHeaderAt(at, s.home); ok {
		return header, nil
	}
	return fs.ReadFile(embedded, at)
}

// rewritten returns the set as the emulator's compiler gets it. The error is a *BuildError.
func (s *sourceSet) rewritten() (map[string][]byte, []rewrite.Note, error) {
	out := map[string][]byte{}
	var notes []rewrite.Note
	for _, at := range s.order() {
		result, err := rewrite.Source(s.files[at].name, s.files[at].text)
		if err != nil {
			var place *rewrite.Error
			if errors.As(err, &place) {
				return nil, nil, &BuildError{
					File: place.File, Line: place.Line, Message: place.Text,
					Log: err.Error(),
				}
			}
			return nil, nil, &BuildError{File: s.files[at].name, Message: err.Error(), Log: err.Error()}
		}
		out[at] = result.Text
		if at == s.main {
			notes = result.Notes
		}
	}
	return out, notes, nil
}

// asynchronousHeaders and asynchronousCUDA list triad's and CUDA's headers of instructions that run
// asynchronously to their thread.
var (
	asynchronousHeaders = []string{
		"cuda/include/hopper/async_copy.cuh", "cuda/include/hopper/barrier.cuh",
		"cuda/include/hopper/wgmma.cuh",
	}
	asynchronousCUDA = []string{
		"cuda/barrier", "cuda/pipeline", "cuda_awbarrier.h", "cuda_pipeline.h", "cuda_pipeline_primitives.h",
		"cooperative_groups/memcpy_async.h",
	}
)

// asynchronous reports whether the set includes instructions that run asynchronously to their thread.
func (s *sourceSet) asynchronous() bool {
	for at, file := range s.files {
		if slices.Contains(asynchronousHeaders, at) {
			return true
		}
		for _, include := range rewrite.Includes(file.text) {
			if slices.Contains(asynchronousCUDA, include.Name) {
				return true
			}
		}
	}
	return false
}

// several matches types that hold several elements, and casts and alignments that suggest such accesses.
var several = regexp.MustCompile(
	`\b\w*(?:char|short|int|long|float|double|half|bfloat16)[234]\b|` +
		`\balignas\b|__align__|\baligned\(|\breinterpret_cast\b`)

// takesSeveral reports whether a user's file may access several elements at once.
func (s *sourceSet) takesSeveral() bool {
	if _, own := s.files[ownCall]; !own {
		return false
	}
	for at, file := range s.files {
		if (at == s.main || !strings.HasPrefix(at, "cuda/")) && several.Match(file.text) {
			return true
		}
	}
	return false
}

// plain returns the set as nvcc gets it.
func (s *sourceSet) plain() map[string][]byte {
	out := map[string][]byte{}
	for at, file := range s.files {
		out[at] = file.text
	}
	return out
}

// order lists the paths, sorted.
func (s *sourceSet) order() []string {
	all := make([]string, 0, len(s.files))
	for at := range s.files {
		all = append(all, at)
	}
	slices.Sort(all)
	return all
}

// hash hashes the contents of a kernel file, its includes and the flags it is compiled with. The places of
// the files do not count.
func (s *sourceSet) hash(flags []string) string {
	h := sha256.New()
	write := func(part []byte) { fmt.Fprintf(h, "%d:", len(part)); h.Write(part) }
	write(s.files[s.main].text)
	for _, at := range s.order() {
		if at != s.main {
			write([]byte(path.Base(at)))
			write(s.files[at].text)
		}
	}
	for _, flag := range flags {
		write([]byte(flag))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// tree reads all files of the embedded tree under a folder whose names end in one of the endings.
func tree(embedded fs.FS, folder string, endings ...string) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(embedded, folder, func(at string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !slices.Contains(endings, path.Ext(at)) {
			return err
		}
		text, err := fs.ReadFile(embedded, at)
		files[at] = text
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the sources in %s: %w", folder, err)
	}
	return files, nil
}

// sortedKeys lists the paths of files, sorted.
func sortedKeys(files map[string][]byte) []string {
	all := make([]string, 0, len(files))
	for at := range files {
		all = append(all, at)
	}
	slices.Sort(all)
	return all
}
