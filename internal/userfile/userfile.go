// Package userfile opens the files that a user names, and those that such a file names in turn. Their authors
// need not be trusted: a pipe or a device is never opened, only a bounded number of bytes is read, and a file
// that another file names is read only if it lies in given folders, links resolved.
package userfile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// MostBytes is the maximum size of a source file: reading takes time for every byte.
const MostBytes = 4 << 20

// RefusedError is the reason why an existing file is not read.
type RefusedError struct{ Sentence string }

func (e *RefusedError) Error() string { return e.Sentence }

// Read returns the contents of a file that the user names, wherever it lies.
func Read(path string) ([]byte, error) { return ReadUpTo(path, MostBytes) }

// ReadUpTo returns the contents of a file that the user names, of at most so many bytes.
func ReadUpTo(path string, most int64) ([]byte, error) {
	return read(path, most, func(string) bool { return true })
}

// IsRegular reports whether there is a regular file at a path, or a link to one.
func IsRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Folders are the folders within which files are read, links resolved.
type Folders []string

// Within returns the existing folders with their links resolved.
func Within(folders ...string) Folders {
	var all Folders
	for _, folder := range folders {
		if real, err := realPath(folder); err == nil {
			all = append(all, real)
		}
	}
	return all
}

// realPath returns the absolute form of a path, links resolved.
func realPath(path string) (string, error) {
	whole, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(whole)
}

// Hold reports whether a path lies in the folders, links resolved.
func (f Folders) Hold(path string) bool {
	real, err := realPath(path)
	return err == nil && f.have(real)
}

// Read returns the contents of a file in the folders. A link may lead from one of them to another, not
// elsewhere.
func (f Folders) Read(path string) ([]byte, error) { return f.ReadUpTo(path, MostBytes) }

// ReadUpTo returns the contents of a file in the folders, of at most so many bytes.
func (f Folders) ReadUpTo(path string, most int64) ([]byte, error) { return read(path, most, f.have) }

func (f Folders) have(real string) bool {
	for _, folder := range f {
		if strings.HasPrefix(real, strings.TrimSuffix(folder, "/")+"/") {
			return true
		}
	}
	return false
}

// read opens a file twice: the first descriptor only names it, so that neither a pipe can block nor a device
// notice; the second opens what the first names, whatever lies at the path by then.
func read(path string, most int64, lies func(real string) bool) ([]byte, error) {
	named, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(named)
	var info unix.Stat_t
	if err := unix.Fstat(named, &info); err != nil {
		return nil, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	self := "/proc/self/fd/" + strconv.Itoa(named)
	real, err := os.Readlink(self)
	switch kind := info.Mode & unix.S_IFMT; {
	case err != nil:
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	case kind == unix.S_IFDIR:
		return nil, &os.PathError{Op: "read", Path: path, Err: unix.EISDIR}
	case kind != unix.S_IFREG:
		return nil, refused(path, "it is no regular file (%s)", kinds[kind])
	case !lies(real):
		return nil, refused(path, "it lies in %s, outside of the folders that were given", filepath.Dir(real))
	case info.Size > most:
		return nil, refused(path, "it has %d bytes, and a file of kernels may have %d", info.Size, most)
	}
	file, err := os.Open(self)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	// Files that the kernel makes up have no size, and another program may be writing.
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		err = refused(path, "it has more than %d bytes, the most that a file of kernels may have", most)
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}

var kinds = map[uint32]string{
	unix.S_IFIFO: "a named pipe", unix.S_IFCHR: "a device", unix.S_IFBLK: "a device",
	unix.S_IFSOCK: "a socket",
}

func refused(path, why string, values ...any) error {
	return &os.PathError{Op: "read", Path: path, Err: &RefusedError{fmt.Sprintf(why, values...)}}
}

// foldersAbove is the number of levels above a file's folder that are searched for its project.
const foldersAbove = 3

// Tree returns the folder of the project that a file belongs to: its git repository, else the folder up to
// three levels above its own. A home, the folder of temporary files and folders directly below / hold the
// files of others too, and are no project.
func Tree(path string) string {
	own := filepath.Dir(path)
	folder, tree := own, own
	for range foldersAbove + 1 {
		if _, err := os.Lstat(filepath.Join(folder, ".git")); err == nil {
			return folder
		}
		if isShared(folder) {
			return tree
		}
		tree, folder = folder, filepath.Dir(folder)
	}
	return tree
}

func isShared(folder string) bool {
	home, _ := os.UserHomeDir() // "" if there is none
	parent := filepath.Dir(folder)
	return parent == "/" || folder == home || folder == filepath.Clean(os.TempDir())
}
