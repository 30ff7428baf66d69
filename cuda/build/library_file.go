package build

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"golang.org/x/sys/unix"
)

// A worker in a sandbox has an empty cache that ends with it. To spare the next run the same build, it passes
// a library that it built to the driver, in a memory file, before it loads the library: no code of the file's
// author has run by then. It seals the memory file, so that nothing that runs later can change it.

// LibraryFileName is the environment variable with the descriptor of the memory file, for a worker that
// writes its library there.
const LibraryFileName = "TRIAD_LIBRARY_FILE"

// Limits of a library in a memory file.
const (
	mostLibraryBytes = 256 << 20 // all files together
	mostLibraryFiles = 16
)

const seals = unix.F_SEAL_WRITE | unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL

// libraryFolder matches the name of a folder of the cache, as Builder.build and its counterpart for nvcc make
// them.
var libraryFolder = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,199}-[0-9a-f]{32}$`)

// NewLibraryFile makes the memory file for a worker.
func NewLibraryFile() (*os.File, error) {
	fd, err := unix.MemfdCreate("library", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("create the memory file of a library: %w", err)
	}
	return os.NewFile(uintptr(fd), "library"), nil
}

// LibraryFileOf returns the memory file that this process was given; nil if there is none.
func LibraryFileOf(getenv func(string) string) *os.File {
	fd, err := strconv.Atoi(getenv(LibraryFileName))
	if err != nil || fd < 3 {
		return nil
	}
	unix.CloseOnExec(fd) // the compiler does not need it
	return os.NewFile(uintptr(fd), "library")
}

// WriteLibrary writes the folder of a built library into the memory file, seals and closes it. It is called
// once, with or without a library: nothing that runs later may be able to write. A library from the cache is
// not written.
func WriteLibrary(to *os.File, l Library, built bool) error {
	defer to.Close()
	var err error
	if built && !l.Facts.Cached {
		err = packFolder(to, filepath.Dir(l.Path))
	}
	if err != nil { // the driver finds no end of archive, and keeps nothing
		err = errors.Join(err, to.Truncate(0))
	}
	if _, sealed := unix.FcntlInt(to.Fd(), unix.F_ADD_SEALS, seals); sealed != nil {
		err = errors.Join(err, sealed)
	}
	if err != nil {
		return fmt.Errorf("pass a library to the driver: %w", err)
	}
	return nil
}

// packFolder writes the files of a folder of the cache, the first entry being its name.
func packFolder(to io.Writer, folder string) error {
	w := tar.NewWriter(to)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: filepath.Base(folder)}); err != nil {
		return err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return err
		}
		header := tar.Header{Typeflag: tar.TypeReg, Name: e.Name(), Size: int64(len(text)), Mode: 0o644}
		if err := w.WriteHeader(&header); err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return w.Close()
}

// ReadLibrary puts a library of a memory file into the cache, and returns the name of its folder there:
// "" if nothing was handed over. An unsealed memory file is not taken.
func ReadLibrary(ctx context.Context, from *os.File, folder string) (key string, err error) {
	has, err := unix.FcntlInt(from.Fd(), unix.F_GET_SEALS, 0)
	if err != nil {
		return "", fmt.Errorf("take a library over: %w", err)
	}
	info, err := from.Stat()
	if err != nil || has&seals != seals || info.Size() == 0 {
		return "", err
	}
	if info.Size() > mostLibraryBytes {
		return "", fmt.Errorf("take a library over: %d bytes are more than %d", info.Size(), mostLibraryBytes)
	}
	r := tar.NewReader(io.NewSectionReader(from, 0, info.Size()))
	first, err := r.Next()
	if err != nil || first.Typeflag != tar.TypeDir || !libraryFolder.MatchString(first.Name) {
		return "", fmt.Errorf("take a library over: the name of its folder is not one of the cache (%v)", err)
	}
	files, err := unpackFiles(r)
	if err != nil {
		return "", fmt.Errorf("take the library %s over: %w", first.Name, err)
	}
	var made record
	if err := json.Unmarshal(files[recordName], &made); err != nil {
		return "", fmt.Errorf("take the library %s over: read its record: %w", first.Name, err)
	}
	delete(files, recordName) // the cache writes it last
	_, _, _, err = cache{folder}.get(ctx, first.Name, func(folder string) (record, error) {
		return made, writeTree(folder, files)
	})
	return first.Name, err
}

// unpackFiles returns the files of an archive by name: regular ones, of one folder.
func unpackFiles(r *tar.Reader) (map[string][]byte, error) {
	files := map[string][]byte{}
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		plain := header.Name == filepath.Base(header.Name) && filepath.IsLocal(header.Name)
		if header.Typeflag != tar.TypeReg || !plain || len(files) == mostLibraryFiles {
			return nil, fmt.Errorf("%q is more than the files of one folder", header.Name)
		}
		if files[header.Name], err = io.ReadAll(r); err != nil {
			return nil, err
		}
	}
}

// Finished reports whether a folder of the cache holds a finished build.
func Finished(folder, key string) bool {
	_, err := readRecord(filepath.Join(folder, key))
	return libraryFolder.MatchString(key) && err == nil
}
