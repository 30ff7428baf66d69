package build

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"triad/internal/backend"
	"triad/internal/sass"
	"triad/internal/subprocess"
)

// disassembleLimit is the time limit of the disassembler for one library.
const disassembleLimit = 10 * time.Minute

// FindDisassembler finds cuobjdump: in the toolkit of this nvcc, on PATH, or in Triton's wheel, for which
// python is the folder of a Python environment ("" for none). The error is a *backend.Unavailable.
func FindDisassembler(nvcc NVCC, python string) (string, error) {
	places := []string{filepath.Join(filepath.Dir(nvcc.Path), "cuobjdump")}
	if at, err := exec.LookPath("cuobjdump"); err == nil {
		places = append(places, at)
	}
	if python != "" {
		const wheel = "lib/python3*/site-packages/triton/backends/nvidia/bin/cuobjdump"
		found, _ := filepath.Glob(filepath.Join(python, wheel))
		places = append(places, found...)
	}
	for _, at := range places {
		if fileExists(at) {
			return at, nil
		}
	}
	return "", &backend.Unavailable{
		Sentence: "no cuobjdump: it comes with the CUDA toolkit and in Triton's wheel " +
			"(triad setup fetches that)",
	}
}

// Disassemble returns the machine code of the library's kernels with the listed mangled names, for one
// architecture.
func Disassemble(
	ctx context.Context,
	tool string,
	library Library,
	arch string,
	names []string,
) ([]sass.Kernel,
	error,
) {
	out, err := subprocess.Run(ctx, subprocess.Command{
		Path:     tool,
		Args:     []string{"-sass", "-arch", arch, "-fun", strings.Join(names, ","), library.Path},
		Deadline: disassembleLimit,
	})
	if err != nil {
		return nil, fmt.Errorf("disassemble %s: %w", library.Path, err)
	}
	kernels, err := sass.Parse(strings.NewReader(out))
	if err != nil {
		return nil, fmt.Errorf("disassemble %s for %s: %w", library.Path, arch, err)
	}
	return kernels, nil
}
