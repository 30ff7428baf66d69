package cuda

import (
	"debug/elf"
	"path/filepath"
	"slices"
	"testing"
)

// TestFilesWithAsynchronousCopiesAreWatched: the accesses of a kernel file that includes a header of CUDA's
// asynchronous copies, itself or by one of its own headers, are reported to the emulator; those of others are
// not, for that costs time.
func TestFilesWithAsynchronousCopiesAreWatched(t *testing.T) {
	b := testBuilder(t)
	for name, c := range map[string]struct {
		header  string
		watched bool
	}{
		"barrier":  {"#include <cuda/barrier>\n", true},
		"pipeline": {"#include <cuda/pipeline>\n", true},
		"of C":     {"#include <cuda_pipeline.h>\n", true},
		"group":    {"#include <cooperative_groups/memcpy_async.h>\n", true},
		"none":     {"#include <cuda_runtime.h>\n", false},
	} {
		folder := t.TempDir()
		writeFile(t, filepath.Join(folder, "own.cuh"), "#pragma once\n"+c.header)
		file := writeFile(t, filepath.Join(folder, "k.cu"), "#include \"own.cuh\"\n"+
			"__global__ void twice(float *x) { x[threadIdx.x] *= 2; }\n"+
			"extern \"C\" void solve(float *x) { twice<<<1, 32>>>(x); }\n")
		library, err := b.Kernels(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		read, err := elf.Open(library.Path)
		if err != nil {
			t.Fatal(err)
		}
		symbols, err := read.ImportedSymbols()
		read.Close()
		if err != nil {
			t.Fatal(err)
		}
		isReport := func(s elf.ImportedSymbol) bool { return s.Name == "__tsan_write4" }
		if calls := slices.ContainsFunc(symbols, isReport); calls != c.watched {
			t.Errorf("%s: accesses are reported: %t, want %t", name, calls, c.watched)
		}
	}
}
