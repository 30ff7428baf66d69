package cuda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"triad/internal/backend"
	"triad/internal/lockfile"
)

// cache keeps built libraries in folders named by a hash of all that went into them. A folder is made under
// another name, with a lock held, and renamed into place: it is there whole or not at all.
type cache struct{ folder string }

// record is what a finished folder says of its build.
type record struct {
	Compiler string   `json:"compiler"`
	Flags    []string `json:"flags"`
	Seconds  float64  `json:"seconds"`
	Log      string   `json:"log"`
}

const recordName = "build.json"

// get gives the finished folder for key, made by build where there is none. Two processes that want the same
// one wait for each other; what an interrupted build left is removed.
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
	// A name of its own each time: a compiler that outlived its interrupted build cannot write into this one.
	making, err := os.MkdirTemp(c.folder, key+".making-*")
	if err != nil {
		return "", record{}, false, c.unusable(err)
	}
	defer os.RemoveAll(making)
	if r, err = build(making); err != nil {
		return "", record{}, false, err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return "", record{}, false, fmt.Errorf("write the record of a build: %w", err)
	}
	if err := os.WriteFile(filepath.Join(making, recordName), text, 0o644); err != nil {
		return "", record{}, false, fmt.Errorf("write the record of a build: %w", err)
	}
	if err := os.Rename(making, folder); err != nil {
		return "", record{}, false, fmt.Errorf("put a build into the cache: %w", err)
	}
	return folder, r, false, nil
}

// unusable: nothing can be built where nothing can be kept.
func (c cache) unusable(err error) error {
	return backend.UnusableCache("compiled kernels", c.folder, err)
}

func readRecord(folder string) (record, error) {
	var r record
	text, err := os.ReadFile(filepath.Join(folder, recordName))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(text, &r)
}
