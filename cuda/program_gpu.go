package cuda

import (
	"context"
	"fmt"
	"path/filepath"
)

// Program compiles the files of a program for the GPU of this machine, with line information, into the
// folder. A file that nvcc refuses gives a *BuildError.
func (b *GPUBuilder) Program(ctx context.Context, p ProgramSource, folder string) (string, error) {
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
	log, err := compile(ctx, folder, b.Compiler.Path, append(flags, units...))
	if err != nil {
		return "", compileFailure(ctx, err, units[0], log)
	}
	return target, nil
}
