package cuda

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestWgmmaTileOnAModel: the tensor-core fp8 product divides tiles, shared memory and registers so that a
// model of the hardware computes every element exactly once, for sizes with tails.
func TestWgmmaTileOnAModel(t *testing.T) {
	t.Parallel()
	e := newEmulated(t, "g++", "-O2")
	program := filepath.Join(e.folder, "wgmma_tile")
	args := append([]string{"-Wall", "-Wextra", "-Werror", "-I", emulatorFolder, filepath.Join(emulatorTests,
		"wgmma_tile.cc"), "-o", program}, kernelIncludes...)
	if err := e.compile(args...); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestFp8Accumulators: the tensor-core fp8 product scales and writes its accumulators correctly, element by
// element.
func TestFp8Accumulators(t *testing.T) {
	t.Parallel()
	e := newEmulated(t, "g++", "-O1")
	if out, status := runEmulated(t, "forward", e.buildWithKernels(t, "fp8_accumulators.cu")); status != 0 {
		t.Errorf("status %d\n%s", status, out)
	}
}
