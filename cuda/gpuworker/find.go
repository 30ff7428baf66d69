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

// Places holds the folders in which the worker is looked for.
type Places struct {
	OwnFolder string // the folder of the driver's own binary
	Cache     string // the folder of workers built on demand
	Dir       string // the working directory: inside triad's module the worker can be built
	// Headers returns the folder with the toolkit's cuda.h, which only a build needs; it may fetch it.
	Headers func(ctx context.Context) (string, error)
	Log     io.Writer // progress for a person
}

// Find returns the worker next to the driver, else the one in the cache that was built from the module of the
// working directory, else it builds that one. The error is a *backend.Unavailable if there is none and none
// can be built.
func (p Places) Find(ctx context.Context) (string, error) {
	if path := filepath.Join(p.OwnFolder, Binary); executable(path) {
		return path, nil
	}
	module := Module(ctx, p.Dir)
	if module == "" {
		return "", &backend.Unavailable{Sentence: fmt.Sprintf("%s is neither beside triad (%s) nor can it "+
			"be built outside triad's module; with Go, and the headers of "+
			"CUDA 13 and of triad in CGO_CFLAGS, this makes it: %s", Binary, p.OwnFolder, installLine())}
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
	if err := os.Rename(made, path); err != nil { // concurrent builds make the same file
		return "", fmt.Errorf("put %s into the cache: %w", Binary, err)
	}
	return path, nil
}

// installLine returns the command that builds the worker without the module.
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

// Module returns the root of triad's module if dir lies in it, else "".
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

// sourcesOf hashes everything in the module from which the worker is built, and what it embeds.
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
