package cuda

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/need"
)

func TestPtxasFacts(t *testing.T) {
	log := `ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z1kPf' for 'sm_80'
ptxas info    : Function properties for _Z1kPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, used 1 barriers, 4096 bytes smem, 360 bytes cmem[0]
ptxas info    : Compiling entry function '_Z1jPf' for 'sm_90a'
ptxas info    : Function properties for _Z1jPf
    40 bytes stack frame, 40 bytes spill stores, 44 bytes spill loads
ptxas info    : Used 255 registers, used 0 barriers, 40 bytes cumulative stack size
`
	want := []backend.KernelFact{
		{Kernel: "_Z1kPf", Arch: "sm_80", Registers: 12, SharedBytes: 4096},
		{Kernel: "_Z1jPf", Arch: "sm_90a", Registers: 255, SpillBytes: 44},
	}
	if got := ptxasFacts(log); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// nvcc decides whether a file that does not compile here is CUDA.
func TestAccepts(t *testing.T) {
	nvcc := needNVCC(t)
	for text, want := range map[string]bool{
		"__global__ void k(unsigned *y) { *y = __vhaddu4(*y, 1); }\n": true,
		"__global__ void k(unsigned *y) { *y = __vhaddu9(*y, 1); }\n": false,
	} {
		file := filepath.Join(t.TempDir(), "my file.cu")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := nvcc.Accepts(t.Context(), file, []string{"-DA=1"}); got != want {
			t.Errorf("%s: accepted: %t, want %t", text, got, want)
		}
	}
}

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
			nvcc := needNVCC(t)
			if name == "cuda_13" && !nvcc.atLeast(13) {
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
