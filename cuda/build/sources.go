package build

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

// SourceSet is a kernel file with all that it includes by quotes, each under its path in a build folder.
type SourceSet struct {
	Main  string // the path of the kernel file in the build folder
	Name  string // the kernel file as messages name it
	Home  string // the folder of a kernel file on disk, "" for an embedded one
	Files map[string]SourceFile
	// further files that are compiled separately, as paths in the build folder
	OtherUnits []string
	Search     []string // folders in which includes are looked for, below the build folder
	newer      bool     // it is not C++17, the default, but C++20
}

// CallsUserFile reports whether the code begins with the header for calls of a user's file.
func (s *SourceSet) CallsUserFile() bool {
	_, begins := s.Files[ownCall]
	return begins
}

// kernelSearch lists the folders from which kernel files include triad's headers.
var kernelSearch = []string{"cuda", "cuda/include"}

// SourceFile is one file of a set: its text and the name that messages use.
type SourceFile struct {
	Name string
	Text []byte
}

// mostHeaderBytes is the size limit of a compiled file: some hold the data of a test.
const mostHeaderBytes = 64 << 20

// OnDisk is the folder of a build folder under which files from outside the embedded tree keep their absolute
// paths, so that their relative includes still find each other.
const OnDisk = "disk"

// Gather reads the kernel file called name, from the embedded tree or (absolute or beginning with ".") from
// disk, with its includes.
func Gather(embedded fs.FS, name string) (*SourceSet, error) {
	set := &SourceSet{Name: name, Files: map[string]SourceFile{}}
	set.Main = path.Clean(name)
	if filepath.IsAbs(name) || strings.HasPrefix(name, ".") {
		abs, err := filepath.Abs(name)
		if err != nil {
			return nil, fmt.Errorf("resolve kernel file %s: %w", name, err)
		}
		set.Main, set.Home, set.Name = path.Join(OnDisk, filepath.ToSlash(abs)), filepath.Dir(abs), abs
	}
	text, err := set.read(embedded, set.Main)
	if err != nil {
		return nil, fmt.Errorf("read kernel file %s: %w", name, err)
	}
	set.Files[set.Main] = SourceFile{set.Name, text}
	flags, _ := set.Flags() // the builder of the set reports their errors
	set.Search = append(HeaderFolders(flags), kernelSearch...)
	return set, set.Follow(embedded, set.Main, text)
}

// Follow adds the includes of a file. An unreadable file may lie behind an #if: the compiler will report it.
// A device or a pipe is refused with a *Error, since reading one may never end.
func (s *SourceSet) Follow(embedded fs.FS, from string, text []byte) error {
	for _, include := range rewrite.Includes(text) {
		folders := s.Search
		if include.Quoted {
			folders = append([]string{path.Dir(from)}, folders...)
		}
		for _, folder := range folders {
			at := path.Join(folder, include.Name)
			if onto, disk := strings.CutPrefix(folder+"/", OnDisk+"/"); disk {
				at = path.Join(OnDisk, path.Join("/", onto, include.Name)) // nothing lies above the root
			}
			if filepath.IsAbs(include.Name) {
				at = path.Join(OnDisk, include.Name)
			}
			if !include.Quoted && !strings.HasPrefix(at, OnDisk+"/") {
				continue // the compiler finds triad's headers
			}
			if strings.HasPrefix(at, "../") {
				continue
			}
			if _, known := s.Files[at]; known {
				break
			}
			text, err := s.read(embedded, at)
			var endless *Error
			if errors.As(err, &endless) {
				return endless
			}
			if err != nil {
				continue
			}
			s.Files[at] = SourceFile{strings.TrimPrefix(at, OnDisk), text}
			if err := s.Follow(embedded, at, text); err != nil {
				return err
			}
			break
		}
	}
	return nil
}

func (s *SourceSet) read(embedded fs.FS, at string) ([]byte, error) {
	if file, ok := strings.CutPrefix(at, OnDisk+"/"); ok {
		text, err := userfile.ReadUpTo("/"+file, mostHeaderBytes)
		var refused *userfile.RefusedError
		if errors.As(err, &refused) {
			message := fmt.Sprintf("it includes /%s: %v", file, refused)
			return nil, &Error{File: s.Name, Message: message, Log: message}
		}
		return text, err
	}
	if header, ok := specHeaderAt(at, s.Home); ok {
		return header, nil
	}
	return fs.ReadFile(embedded, at)
}

// Rewritten returns the set as the emulator's compiler gets it. The error is a *Error.
func (s *SourceSet) Rewritten() (map[string][]byte, []rewrite.Note, error) {
	out := map[string][]byte{}
	var notes []rewrite.Note
	for _, at := range s.Paths() {
		result, err := rewrite.Source(s.Files[at].Name, s.Files[at].Text)
		if err != nil {
			var place *rewrite.Error
			if errors.As(err, &place) {
				return nil, nil, &Error{
					File: place.File, Line: place.Line, Message: place.Text,
					Log: err.Error(),
				}
			}
			return nil, nil, &Error{File: s.Files[at].Name, Message: err.Error(), Log: err.Error()}
		}
		out[at] = result.Text
		if at == s.Main {
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
func (s *SourceSet) asynchronous() bool {
	for at, file := range s.Files {
		if slices.Contains(asynchronousHeaders, at) {
			return true
		}
		for _, include := range rewrite.Includes(file.Text) {
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
func (s *SourceSet) takesSeveral() bool {
	if _, own := s.Files[ownCall]; !own {
		return false
	}
	for at, file := range s.Files {
		if (at == s.Main || !strings.HasPrefix(at, "cuda/")) && several.Match(file.Text) {
			return true
		}
	}
	return false
}

// plain returns the set as nvcc gets it.
func (s *SourceSet) plain() map[string][]byte {
	out := map[string][]byte{}
	for at, file := range s.Files {
		out[at] = file.Text
	}
	return out
}

// Paths lists the paths, sorted.
func (s *SourceSet) Paths() []string {
	all := make([]string, 0, len(s.Files))
	for at := range s.Files {
		all = append(all, at)
	}
	slices.Sort(all)
	return all
}

// hash hashes the contents of a kernel file, its includes and the flags it is compiled with. The places of
// the files do not count.
func (s *SourceSet) hash(flags []string) string {
	h := sha256.New()
	write := func(part []byte) { fmt.Fprintf(h, "%d:", len(part)); h.Write(part) }
	write(s.Files[s.Main].Text)
	for _, at := range s.Paths() {
		if at != s.Main {
			write([]byte(path.Base(at)))
			write(s.Files[at].Text)
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
