package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// ExecutableSource describes an executable to build: its files by their path in the build folder, the units
// among them, the compiler's flags, and what is linked. The first of Link is a library that the executable
// finds at its path. Compiled, if it is not nil, returns other flags with the same result; it is asked only
// if the executable is not in the cache.
type ExecutableSource struct {
	Author       string // the author's file, as messages name it
	Files        map[string][]byte
	Units        []string
	Flags        []string
	Compiled     func(context.Context) []string
	Link         []string
	CheckWarning func(log string) error // refuses a build by the compiler's output
}

// Executable builds an executable, and returns its path in the cache.
func (b *Builder) Executable(ctx context.Context, s ExecutableSource) (string, error) {
	link := slices.Concat(s.Link, []string{"-Wl,-rpath," + filepath.Dir(s.Link[0])})
	key := "program-" + hashFiles(
		s.Files,
		slices.Concat(s.Flags, link, []string{b.Compiler.Path, b.Compiler.Version}),
	)
	folder, _, _, err := cache{b.Cache}.get(ctx, key, func(folder string) (record, error) {
		began := time.Now()
		if err := layOut(filepath.Join(folder, "src"), s.Files, s.Flags); err != nil {
			return record{}, err
		}
		flags := s.Flags
		if s.Compiled != nil {
			flags = s.Compiled(ctx)
		}
		args := slices.Concat(flags, s.Units, []string{"-o", filepath.Join(folder, "program")}, link)
		log, err := compile(ctx, filepath.Join(folder, "src"), b.Compiler.Path, args)
		if err != nil {
			return record{}, compileFailure(ctx, err, s.Author, log)
		}
		if err := s.CheckWarning(log); err != nil {
			return record{}, err
		}
		r := record{
			Compiler: b.Compiler.Version, Flags: s.Flags, Seconds: time.Since(began).Seconds(),
			Log: tail(log, 8<<10),
		}
		return r, os.RemoveAll(filepath.Join(folder, "src"))
	})
	var mistake *Error
	if errors.As(err, &mistake) {
		return "", mistake
	}
	if err != nil {
		return "", fmt.Errorf("build the program %s: %w", s.Author, err)
	}
	return filepath.Join(folder, "program"), nil
}
