package build

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"triad/internal/backend"
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
	if got := PtxasFacts(log); !slices.Equal(got, want) {
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
