package gpuworker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"triad/internal/backend"
	"triad/internal/subprocess"
)

// Places are where the worker is looked for.
type Places struct {
	Beside string // the folder of the driver's own binary
	Cache  string // the folder of what was built on demand
	Dir    string // the working directory: in the module of triad the worker can be built
	// Headers gives the folder with the toolkit's cuda.h, which only building needs; it may fetch it.
	Headers func(ctx context.Context) (string, error)
	Log     io.Writer // progress for a person
}

// Find gives the worker beside the driver, else the one in the cache that was made from the module in the
// working directory, else builds that. The error is a *backend.Unavailable where there is none and none can
// be made.
func (p Places) Find(ctx context.Context) (string, error) {
	if path := filepath.Join(p.Beside, Binary); executable(path) {
		return path, nil
	}
	module := Module(ctx, p.Dir)
	if module == "" {
		return "", &backend.Unavailable{Sentence: fmt.Sprintf("%s is neither beside triad (%s) nor can it "+
			"be built outside triad's module; with Go, and the headers of "+
			"CUDA 13 and of triad in CGO_CFLAGS, this makes it: %s", Binary, p.Beside, installLine())}
	}
	key, err := sourcesOf(module)
	if err != nil {
		return "", err
	}
	path := filepath.Join(p.Cache, Binary+"-"+key)
	if executable(path) {
		return path, nil
	}
	headers, err := p.Headers(ctx)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(p.Cache, 0o755); err != nil {
		return "", fmt.Errorf("build %s: %w", Binary, err)
	}
	fmt.Fprintf(p.Log, "triad: building %s for the GPU that is here\n", Binary)
	partial, err := os.MkdirTemp(p.Cache, Binary+"-partial-")
	if err != nil {
		return "", fmt.Errorf("build %s: %w", Binary, err)
	}
	defer os.RemoveAll(partial)
	made := filepath.Join(partial, Binary)
	if err := Build(ctx, module, headers, made); err != nil {
		return "", err
	}
	if err := os.Rename(made, path); err != nil { // two at once make the same file
		return "", fmt.Errorf("put %s into the cache: %w", Binary, err)
	}
	return path, nil
}

// installLine is the command that makes the worker where no module lies.
func installLine() string {
	version := "latest"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		version = info.Main.Version
	}
	return fmt.Sprintf(`CGO_CFLAGS="-I<triad>/cuda/compat -I<cuda>/include" CGO_LDFLAGS="-L<folder of `+
		`libcuda.so>" go install -tags cuda triad/cmd/%s@%s`, Binary, version)
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// Module is the root of triad's module where dir lies in it, else "".
func Module(ctx context.Context, dir string) string {
	out, err := subprocess.Run(ctx, subprocess.Command{
		Path: "go", Dir: dir,
		Args: []string{"list", "-m", "-f", "{{.Path}} {{.Dir}}"},
	})
	if err != nil {
		return ""
	}
	path, root, ok := strings.Cut(strings.TrimSpace(out), " ")
	if info, have := debug.ReadBuildInfo(); !ok || have && info.Main.Path != "" && info.Main.Path != path {
		return ""
	}
	if _, err := os.Stat(filepath.Join(root, "cmd", Binary)); err != nil {
		return ""
	}
	return root
}

// sourcesOf is a hash of everything in the module that the worker is made from, and of what it carries.
func sourcesOf(module string) (string, error) {
	var names []string
	for _, at := range []string{
		"go.mod", "go.sum", "embed.go", "cuda", "internal", "cmd/" + Binary,
		"triton", "pybridge",
	} {
		err := filepath.WalkDir(filepath.Join(module, at), func(path string, entry fs.DirEntry,
			err error,
		) error {
			if err != nil {
				return err
			}
			if entry.IsDir() && entry.Name() == "testdata" {
				return filepath.SkipDir
			}
			if entry.Type().IsRegular() && !strings.HasSuffix(path, "_test.go") {
				names = append(names, path)
			}
			return nil
		})
		if err != nil {
			return "", fmt.Errorf("read the sources of %s: %w", Binary, err)
		}
	}
	slices.Sort(names)
	h := sha256.New()
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", fmt.Errorf("read the sources of %s: %w", Binary, err)
		}
		fmt.Fprintf(h, "%s %d\n", strings.TrimPrefix(name, module), len(text))
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}
