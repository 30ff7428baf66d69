package serve

import (
	"debug/elf"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"triad"

	"triad/cuda/build"
	"triad/cuda/cudatest"
)

// TestFilesWithAsynchronousCopiesAreWatched: the accesses of a kernel file that includes a header of CUDA's
// asynchronous copies, directly or indirectly, are reported to the emulator; those of others are not, because
// that costs time.
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
		if reports := reportsAccesses(t, library.Path); reports != c.watched {
			t.Errorf("%s: accesses are reported: %t, want %t", name, reports, c.watched)
		}
	}
}

// testBuilder returns a builder of kernel files with a new cache.
func testBuilder(t *testing.T) build.Builder {
	t.Helper()
	return build.Builder{
		Sources: testSources(), Cache: t.TempDir(), Compiler: cudatest.NeedCompiler(t),
	}
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// reportsAccesses reports whether a library calls the emulator for ordinary accesses.
func reportsAccesses(t *testing.T, library string) bool {
	t.Helper()
	read, err := elf.Open(library)
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	symbols, err := read.ImportedSymbols()
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(symbols, func(s elf.ImportedSymbol) bool { return s.Name == "__tsan_write4" })
}

// twoVariants is a kernel file with one variant that uses asynchronous copies, and one that does not.
const twoVariants = `#include <cuda_pipeline.h>
#include "register.cuh"
namespace {
__global__ void plain_kernel(float *x) { x[threadIdx.x] = 2; }
__global__ void copied_kernel(float *x) {
	__shared__ float part[32];
	__pipeline_memcpy_async(part + threadIdx.x, x + threadIdx.x, 4);
	__pipeline_commit();
	__pipeline_wait_prior(0);
	x[threadIdx.x] = part[threadIdx.x];
}
int plain(const triad_call *call) {
	plain_kernel<<<1, 32>>>(static_cast<float *>(call->out[0].data));
	return triad::launched();
}
int copied(const triad_call *call) {
	copied_kernel<<<1, 32>>>(static_cast<float *>(call->out[0].data));
	return triad::launched();
}
} // namespace
TRIAD_KERNEL(relu, plain, forward, .contract("fp32").dtypes(triad::bit(TRIAD_F32)).outputs(1).launch(plain))
TRIAD_KERNEL(relu, copied, forward,
             .MARK contract("fp32").dtypes(triad::bit(TRIAD_F32)).outputs(1).launch(copied))
`

// TestVariantsWithoutAsynchronousCopiesAreNotWatched: if the variants with asynchronous copies are marked,
// the others form a library of their own, and both are present. If none is marked, all are watched.
func TestVariantsWithoutAsynchronousCopiesAreNotWatched(t *testing.T) {
	b := testBuilder(t)
	file := filepath.Join(t.TempDir(), "k.cu")
	writeFile(t, file, strings.Replace(twoVariants, "MARK ", "asynchronous().", 1))
	// a process loads one emulator
	s := &server{device: NewEmulator(triad.Files, testCache), specs: catalogSpec}
	library, all, err := s.open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || all[0].Name != "cuda/plain" || all[1].Name != "cuda/copied" {
		t.Errorf("%d kernels are registered", len(all))
	}
	if library.Second == "" || reportsAccesses(t, library.Second) || !reportsAccesses(t, library.Path) {
		t.Errorf("%+v: want a library that reports accesses, and one beside it that does not", library)
	}
	writeFile(t, file, strings.Replace(twoVariants, "MARK ", "", 1))
	if library, err = b.Kernels(t.Context(), file); err != nil || library.Second != "" ||
		!reportsAccesses(t, library.Path) {
		t.Errorf("%+v, %v: want one library, which reports accesses", library, err)
	}
}

// TestAsynchronousVariantSaysSo: where other variants are marked as asynchronous, an unmarked one with
// asynchronous copies does not build.
func TestAsynchronousVariantSaysSo(t *testing.T) {
	b := testBuilder(t)
	text := strings.Replace(twoVariants, "MARK ", "", 1)
	text = strings.Replace(text, "TRIAD_KERNEL(relu, plain, forward, ",
		"TRIAD_KERNEL(relu, plain, forward, .asynchronous()", 1)
	file := writeFile(t, filepath.Join(t.TempDir(), "k.cu"), text)
	_, err := b.Kernels(t.Context(), file)
	var mistake *build.Error
	if !errors.As(err, &mistake) || !strings.Contains(mistake.Error(), "registered without .asynchronous()") {
		t.Errorf("%v, want that a variant is registered without .asynchronous()", err)
	}
}
