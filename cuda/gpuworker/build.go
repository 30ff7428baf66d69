// Package gpuworker finds, builds and queries triad-cuda, the worker that runs CUDA kernels on a real GPU. It
// is a separate binary: a program that imports gorgonia.org/cu links against the NVIDIA driver and cannot
// even start without one.
package gpuworker

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"triad/internal/backend"
	"triad/internal/scratch"
	"triad/internal/subprocess"
)

// Binary is the name of the worker.
const Binary = "triad-cuda"

// Build compiles the worker from the module in a folder into the file out. headers is the folder with the
// toolkit's cuda.h. No driver is needed: the link is against a stub with the driver's name and every function
// that cu calls, and the loader finds the real one.
func Build(ctx context.Context, module, headers, out string) error {
	if _, err := exec.LookPath("go"); err != nil {
		return &backend.Unavailable{Sentence: "building " + Binary + " needs Go, which is not on PATH"}
	}
	temporary, err := scratch.Make("stub")
	if err != nil {
		return fmt.Errorf("build %s: %w", Binary, err)
	}
	defer temporary.Remove()
	folder := temporary.Path
	env := append(os.Environ(), "CGO_ENABLED=1", "CGO_CFLAGS="+compileFlags(module, headers))
	if err := stub(ctx, module, folder, env); err != nil {
		return err
	}
	// The compiler's own search path, and no -L: a flag with a folder of another name each time would make Go
	// compile cu anew.
	libraries := folder
	if others := os.Getenv("LIBRARY_PATH"); others != "" {
		libraries += string(os.PathListSeparator) + others
	}
	env = append(env, "LIBRARY_PATH="+libraries)
	_, err = command(ctx, module, env, "go", "build", "-tags", "cuda", "-o", out, "./cmd/"+Binary)
	return err
}

// compileFlags returns flags that put the header that makes CUDA 13 fit cu before the toolkit's own.
func compileFlags(module, headers string) string {
	return fmt.Sprintf("-I%s -I%s", filepath.Join(module, "cuda", "compat"), headers)
}

// driverFunction matches a function of the driver that an archive needs: nm prints it as undefined.
var driverFunction = regexp.MustCompile(`(?m)^\s+U (cu[A-Z]\w*)$`)

// notLoaded is the result of every function of the stub: CUDA_ERROR_STUB_LIBRARY.
const notLoaded = 34

// stub makes a libcuda.so of empty functions in folder.
func stub(ctx context.Context, module, folder string, env []string) error {
	archive, err := command(ctx, module, env, "go", "list", "-tags", "cuda", "-export", "-f", "{{.Export}}",
		"gorgonia.org/cu")
	if err != nil {
		return err
	}
	names, err := command(ctx, module, env, "nm", strings.TrimSpace(archive))
	if err != nil {
		return err
	}
	var functions []string
	for _, m := range driverFunction.FindAllStringSubmatch(names, -1) {
		functions = append(functions, m[1])
	}
	slices.Sort(functions)
	functions = slices.Compact(functions)
	if len(functions) == 0 {
		return fmt.Errorf("build %s: nm finds no function of the driver in gorgonia.org/cu (%s)", Binary,
			strings.TrimSpace(archive))
	}
	var source strings.Builder
	for _, name := range functions {
		fmt.Fprintf(&source, "int %s(void) { return %d; }\n", name, notLoaded)
	}
	file := filepath.Join(folder, "stub.c")
	if err := os.WriteFile(file, []byte(source.String()), 0o644); err != nil {
		return fmt.Errorf("build %s: %w", Binary, err)
	}
	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "gcc"
	}
	_, err = command(ctx, folder, env, compiler, "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o",
		filepath.Join(folder, "libcuda.so"), file)
	return err
}

// command runs one step of the build and returns its stdout.
func command(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	var log strings.Builder
	out, err := subprocess.Run(ctx, subprocess.Command{
		Path: name, Args: args, Dir: dir,
		Env: env, Stderr: &log,
	})
	if err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", &backend.Unavailable{Sentence: fmt.Sprintf("build %s: %s %s: %v: %s", Binary, name,
			args[0], err, lastLines(log.String(), 3))}
	}
	return out, nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], " | ")
}
