package program

import (
	"context"
	"fmt"
	"path/filepath"

	"triad/cuda/build"
)

// BuildForGPU compiles the files of a program for the GPU of this machine, with line information, into the
// folder. A file that nvcc refuses gives a *build.Error.
func BuildForGPU(ctx context.Context, b *build.GPUBuilder, p Source, folder string) (string, error) {
	file, err := filepath.Abs(p.File)
	if err != nil {
		return "", fmt.Errorf("resolve %s: %w", p.File, err)
	}
	units, err := unitsOf(file)
	if err != nil {
		return "", err
	}
	target := filepath.Join(folder, "program")
	flags := []string{"-O1", "-lineinfo", "-arch=" + b.Architectures[0], "-o", target}
	for _, i := range p.Include {
		at, err := filepath.Abs(i)
		if err != nil {
			return "", fmt.Errorf("resolve %s: %w", i, err)
		}
		flags = append(flags, "-I"+at)
	}
	flags = append(flags, p.macros()...)
	if _, err := b.Compile(ctx, folder, units[0], append(flags, units...)); err != nil {
		return "", err
	}
	return target, nil
}
