package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"triad/internal/backend"
	"triad/internal/hosttrouble"
	"triad/internal/lockfile"
)

// cache keeps built libraries in folders named by a hash of all their inputs. A folder is built under another
// name, with a lock held, and renamed into place: it is present whole or not at all.
type cache struct{ folder string }

// record describes the build of a finished folder.
type record struct {
	Compiler string   `json:"compiler"`
	Flags    []string `json:"flags"`
	Seconds  float64  `json:"seconds"`
	Log      string   `json:"log"`
	// the files that were built, by name: a folder that does not hold them whole is built again
	Files map[string]builtFile `json:"files"`
}

// builtFile records the size and hash of a file when its folder was finished.
type builtFile struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

const recordName = "build.json"

// get returns the finished folder for key; build makes it if it is missing or damaged. Two processes that
// want the same one wait for each other; the leftovers of an interrupted build are removed.
func (c cache) get(ctx context.Context, key string, build func(folder string) (record, error)) (folder string,
	r record, cached bool, err error,
) {
	folder = filepath.Join(c.folder, key)
	if r, err := readRecord(folder); err == nil {
		return folder, r, true, nil
	}
	if err := os.MkdirAll(c.folder, 0o755); err != nil {
		return "", record{}, false, c.unusable(err)
	}
	unlock, err := lockfile.Acquire(ctx, folder+".lock", nil)
	var place *fs.PathError
	if errors.As(err, &place) {
		return "", record{}, false, c.unusable(err)
	}
	if err != nil {
		return "", record{}, false, err
	}
	defer unlock()
	if r, err := readRecord(folder); err == nil {
		return folder, r, true, nil
	}
	left, _ := filepath.Glob(folder + ".making-*")
	for _, name := range append(left, folder) {
		if err := os.RemoveAll(name); err != nil {
			return "", record{}, false, fmt.Errorf("remove what an interrupted build left: %w", err)
		}
	}
	// A new name each time: a compiler that outlived its interrupted build cannot write into this folder.
	making, err := os.MkdirTemp(c.folder, key+".making-*")
	if err != nil {
		return "", record{}, false, c.unusable(err)
	}
	defer os.RemoveAll(making)
	if r, err = build(making); err != nil {
		return "", record{}, false, err
	}
	if r.Files, err = builtFiles(making); err != nil {
		return "", record{}, false, fmt.Errorf("read what was built: %w", err)
	}
	if err := writeRecord(making, r); err != nil {
		return "", record{}, false, fmt.Errorf("write the record of a build: %w", err)
	}
	if err := errors.Join(syncFolder(making), os.Rename(making, folder), syncFile(c.folder)); err != nil {
		return "", record{}, false, fmt.Errorf("put a build into the cache: %w", err)
	}
	return folder, r, false, nil
}

func writeRecord(folder string, r record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, recordName), text, 0o644)
}

// syncFolder writes the files of a folder to disk before the folder gets its name: after a power cut, a name
// without them would be a library that cannot be loaded.
func syncFolder(folder string) error {
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		err = errors.Join(err, syncFile(filepath.Join(folder, e.Name())))
	}
	return errors.Join(err, syncFile(folder))
}

func syncFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Sync()
}

// builtFiles returns the files of a folder, except its record.
func builtFiles(folder string) (map[string]builtFile, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	all := map[string]builtFile{}
	for _, e := range entries {
		if e.Name() == recordName {
			continue
		}
		if all[e.Name()], err = builtFileAt(filepath.Join(folder, e.Name())); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func builtFileAt(path string) (builtFile, error) {
	file, err := os.Open(path)
	if err != nil {
		return builtFile{}, err
	}
	defer file.Close()
	hash := sha256.New()
	bytes, err := io.Copy(hash, file)
	return builtFile{bytes, hex.EncodeToString(hash.Sum(nil))}, err
}

// unusable returns the error of a cache that cannot keep anything, so that nothing can be built.
func (c cache) unusable(err error) error {
	if trouble := hosttrouble.Of(err); trouble != nil {
		return err
	}
	return backend.UnusableCache("compiled kernels", c.folder, err)
}

// errDamaged is the error of a folder of the cache that does not hold what was built into it.
var errDamaged = errors.New("it does not hold what was built")

// readRecord reads the record of a finished folder, and compares the folder's files with it.
func readRecord(folder string) (record, error) {
	var r record
	text, err := os.ReadFile(filepath.Join(folder, recordName))
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, err
	}
	if r.Files == nil { // including a record of a triad that wrote none
		return r, errDamaged
	}
	for name, built := range r.Files {
		path := filepath.Join(folder, name)
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() != built.Bytes {
			return r, errDamaged
		}
		if now, err := builtFileAt(path); err != nil || now != built {
			return r, errDamaged
		}
	}
	return r, nil
}
