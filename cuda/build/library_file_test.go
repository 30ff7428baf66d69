package build

import (
	"archive/tar"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"triad/internal/backend"
)

const libraryKey = "softmax-0123456789abcdef0123456789abcdef"

// builtLibrary returns a library of a finished build, in its folder.
func builtLibrary(t *testing.T) Library {
	t.Helper()
	folder := filepath.Join(t.TempDir(), libraryKey)
	for name, text := range map[string]string{
		recordName: `{"compiler": "g++ 12", "seconds": 1}`, "libsoftmax.so": "\x7fELF",
	} {
		if err := writeTree(folder, map[string][]byte{name: []byte(text)}); err != nil {
			t.Fatal(err)
		}
	}
	return Library{Path: filepath.Join(folder, "libsoftmax.so")}
}

// handed returns the driver's and the worker's end of a memory file.
func handed(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := NewLibraryFile()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close() })
	fd, err := unix.Dup(int(ours.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return ours, os.NewFile(uintptr(fd), "library")
}

// A built library arrives in the cache unchanged, and whoever still has the memory file cannot change it. A
// library from the cache is not handed over, nor is one that could not be built.
func TestLibraryFile(t *testing.T) {
	cached := builtLibrary(t)
	cached.Facts = backend.BuildFacts{Cached: true}
	for _, c := range []struct {
		name    string
		library Library
		built   bool
		key     string
	}{
		{"built", builtLibrary(t), true, libraryKey},
		{"of the cache", cached, true, ""},
		{"not built", Library{}, false, ""},
	} {
		ours, theirs := handed(t)
		if err := WriteLibrary(theirs, c.library, c.built); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if _, err := ours.WriteAt([]byte("x"), 0); err == nil {
			t.Errorf("%s: the memory file can be written", c.name)
		}
		folder := t.TempDir()
		key, err := ReadLibrary(t.Context(), ours, folder)
		if err != nil || key != c.key {
			t.Errorf("%s: %q (%v), want %q", c.name, key, err, c.key)
		}
		if c.key == "" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, key, "libsoftmax.so"))
		if err != nil || string(text) != "\x7fELF" || !Finished(folder, key) {
			t.Errorf("%s: the library is %q (%v)", c.name, text, err)
		}
	}
}

// archived writes entries and seals the memory file.
func archived(t *testing.T, theirs *os.File, entries ...tar.Header) {
	t.Helper()
	w := tar.NewWriter(theirs)
	for _, e := range entries {
		e.Size = 0
		if err := w.WriteHeader(&e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(theirs.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		t.Fatal(err)
	}
}

// Only the files of one folder of the cache are taken.
func TestForeignLibraryFiles(t *testing.T) {
	folder := tar.Header{Typeflag: tar.TypeDir, Name: libraryKey}
	file := func(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name} }
	var many []tar.Header
	for i := range mostLibraryFiles + 1 {
		many = append(many, file(strings.Repeat("a", i+1)))
	}
	for says, entries := range map[string][]tar.Header{
		"not one of the cache (<nil>)": {{Typeflag: tar.TypeDir, Name: "../" + libraryKey}},
		"not one of the cache":         {file("libsoftmax.so")},
		`"../libsoftmax.so" is more`:   {folder, file("../libsoftmax.so")},
		`"/etc/passwd" is more`:        {folder, file("/etc/passwd")},
		`".." is more`:                 {folder, file("..")},
		`"link" is more`:               {folder, {Typeflag: tar.TypeSymlink, Name: "link", Linkname: "/"}},
		"more than the files of one":   append([]tar.Header{folder}, many...),
		"read its record":              {folder, file("libsoftmax.so")},
	} {
		ours, theirs := handed(t)
		archived(t, theirs, entries...)
		theirs.Close()
		into := t.TempDir()
		_, err := ReadLibrary(t.Context(), ours, into)
		left, _ := os.ReadDir(into)
		if err == nil || !strings.Contains(err.Error(), says) || len(left) != 0 {
			t.Errorf("%v, want %q; %v was written", err, says, left)
		}
	}
}

// An unsealed memory file is not taken: what runs in the worker could have written it.
func TestUnsealedLibraryFile(t *testing.T) {
	ours, theirs := handed(t)
	if err := packFolder(theirs, filepath.Dir(builtLibrary(t).Path)); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	folder := t.TempDir()
	if key, err := ReadLibrary(t.Context(), ours, folder); key != "" || err != nil {
		t.Errorf("%q (%v), want nothing", key, err)
	}
	if left, _ := os.ReadDir(folder); len(left) != 0 {
		t.Errorf("%v was written", left)
	}
}
