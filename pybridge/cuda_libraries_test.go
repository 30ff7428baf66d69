package pybridge

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestCUDALibrariesBeside: the folder that holds cuBLAS is found once, and no other.
func TestCUDALibrariesBeside(t *testing.T) {
	prefix := t.TempDir()
	packages := filepath.Join(prefix, "lib", "python3.12", "site-packages", "nvidia")
	for _, file := range []string{
		"cu13/lib/libcublas.so.13", "cu13/lib/libcublasLt.so.13", "nccl/lib/libnccl.so.2",
	} {
		at := filepath.Join(packages, file)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{filepath.Join(packages, "cu13", "lib")}
	if got := cudaLibrariesBeside(filepath.Join(prefix, "bin", "python")); !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
	if got := cudaLibrariesBeside(filepath.Join(t.TempDir(), "bin", "python")); got != nil {
		t.Errorf("found %v where there is none", got)
	}
}
