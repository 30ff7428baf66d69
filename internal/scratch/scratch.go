// Package scratch makes folders for temporary files. The next triad removes those that a killed one has left.
package scratch

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// prefix begins the names of the folders.
const prefix = "triad-tmp-"

// young is the age up to which a folder may not have its lock yet.
const young = time.Minute

// Folder is a folder for temporary files. A lock shows that its process lives: the system drops it when the
// process ends, however it ends.
type Folder struct {
	Path string
	lock *os.File
}

var swept sync.Once

// Make makes a folder; kind is a word of its name.
func Make(kind string) (*Folder, error) {
	swept.Do(func() { sweep(os.TempDir(), time.Now()) })
	path, err := os.MkdirTemp("", prefix+kind+"-")
	if err != nil {
		return nil, err
	}
	f := &Folder{Path: path}
	if f.lock, err = os.Open(path); err == nil {
		err = unix.Flock(int(f.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		f.Remove()
		return nil, err
	}
	return f, nil
}

// Remove removes the folder with all that is in it.
func (f *Folder) Remove() {
	_ = os.RemoveAll(f.Path) // what cannot be removed the system removes with its temporary files
	if f.lock != nil {
		_ = f.lock.Close()
	}
}

// sweep removes the folders whose processes have ended. One of another user stays: it cannot be removed.
func sweep(within string, now time.Time) {
	left, _ := filepath.Glob(filepath.Join(within, prefix+"*"))
	for _, path := range left {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || now.Sub(info.ModTime()) < young {
			continue
		}
		lock, err := os.Open(path)
		if err != nil {
			continue
		}
		if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = os.RemoveAll(path)
		}
		_ = lock.Close()
	}
}
