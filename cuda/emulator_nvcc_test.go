package cuda

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"triad/cuda/cudatest"
	"triad/internal/need"
)

// dependent lists the programs whose calls differ between versions of CUDA.
var dependent = []string{"device_clock", "graphs", "special_registers", "cuda_13"}

// TestProgramsAreCUDA: nvcc compiles the ordinary programs of the emulator's tests, including host code and
// inline PTX. The fast tier compiles one program whose calls differ between versions of CUDA.
func TestProgramsAreCUDA(t *testing.T) {
	folder := filepath.Join("emulator", "testdata", "programs")
	files, err := filepath.Glob(filepath.Join(folder, "*.cu"))
	if err != nil || len(files) < 60 {
		t.Fatalf("%d programs, %v: want at least 60", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".cu")
		t.Run(name, func(t *testing.T) {
			key := ""
			if slices.Contains(dependent, name) {
				key = "calls that differ between versions of CUDA"
			}
			need.Covers(t, key, "cuda/"+file)
			nvcc := cudatest.NeedNVCC(t)
			if name == "cuda_13" && !nvcc.AtLeast(13) {
				t.Skipf("%s is older than CUDA 13, which the program is for", nvcc.Path)
			}
			t.Parallel()
			out, err := exec.CommandContext(t.Context(), nvcc.Path, "-std=c++17", "-arch=sm_90", "-ptx",
				"-o", filepath.Join(t.TempDir(), "ptx"), file).CombinedOutput()
			if err != nil {
				t.Errorf("nvcc %s: %v\n%s", file, err, out)
			}
		})
	}
}
