package confine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"triad/cuda/build"
	"triad/internal/worker"
)

// kept remembers the library of a file that is built in a sandbox, in the cache of this machine. A note next
// to the libraries names its folder. If the file has changed since, the worker finds no library of its
// contents in that folder, and builds one.
type kept struct{ cache, note string }

// keptName returns the name of the note for what the worker runs, and what it sees.
func keptName(c worker.Command, sees []string) string {
	sum := sha256.Sum256([]byte(c.Path + "\x00" + strings.Join(sees, "\x00")))
	return "kept-" + hex.EncodeToString(sum[:16])
}

// found returns the folder of the library, if there is one.
func (k kept) found() []string {
	name, err := os.ReadFile(filepath.Join(k.cache, k.note))
	if err != nil || !build.Finished(k.cache, string(name)) {
		return nil
	}
	return []string{filepath.Join(k.cache, string(name))}
}

// takeFrom makes the worker hand over the library that it builds, if it builds one. An error after the worker
// has ended costs another build the next time, and no verdict.
func (k kept) takeFrom(c *worker.Command) error {
	file, err := build.NewLibraryFile()
	if err != nil {
		return err
	}
	c.Env = append(c.Env, fmt.Sprintf("%s=%d", build.LibraryFileName, 5+len(c.Files)))
	c.Files = append(c.Files, file)
	c.Ended = func() {
		defer file.Close()
		ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
		defer stop()
		if key, err := build.ReadLibrary(ctx, file, k.cache); err == nil && key != "" {
			k.keep(key)
		}
	}
	return nil
}

// keep writes the note in full or not at all.
func (k kept) keep(key string) {
	note := filepath.Join(k.cache, k.note)
	_ = renameio.WriteFile(note, []byte(key), 0o644, renameio.WithTempDir(k.cache))
}
