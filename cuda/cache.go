package cuda

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// cache keeps built libraries in folders named by a hash of all that went into them. A folder is made under another name, with a lock
// held, and renamed into place: it is there whole or not at all.
type cache struct{ folder string }

// record is what a finished folder says of its build.
type record struct {
	Compiler string   `json:"compiler"`
	Flags    []string `json:"flags"`
	Seconds  float64  `json:"seconds"`
	Log      string   `json:"log"`
}

const recordName = "build.json"

// get gives the finished folder for key, made by build where there is none. Two processes that want the same one wait for each other;
// what an interrupted build left is removed.
func (c cache) get(ctx context.Context, key string, build func(folder string) (record, error)) (folder string, r record, cached bool, err error) {
	folder = filepath.Join(c.folder, key)
	if r, err := readRecord(folder); err == nil {
		return folder, r, true, nil
	}
	if err := os.MkdirAll(c.folder, 0o755); err != nil {
		return "", record{}, false, fmt.Errorf("make the kernel cache: %w", err)
	}
	unlock, err := lock(ctx, folder+".lock")
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
		return "", record{}, false, fmt.Errorf("make a build folder: %w", err)
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

func readRecord(folder string) (record, error) {
	var r record
	text, err := os.ReadFile(filepath.Join(folder, recordName))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(text, &r)
}

// lock takes the lock file called name, waiting for its holder until ctx ends. The file stays: removing it would let two hold it.
func lock(ctx context.Context, name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the lock of a build: %w", err)
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if err != syscall.EWOULDBLOCK && err != syscall.EINTR {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("wait for another process that builds the same kernels (lock %s): %w", name, context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}
