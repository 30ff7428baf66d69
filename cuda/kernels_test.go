package cuda

import (
	"testing"

	"triad"
	"triad/cuda/build"
	"triad/cuda/cudatest"
	"triad/internal/need"
)

// TestKernelsCompileForTheEmulator compiles every kernel file with g++, and with the clang++ that
// TRIAD_TEST_CLANG names or any. The fast tier compiles one of each family, with g++ only.
func TestKernelsCompileForTheEmulator(t *testing.T) {
	compilers := map[string]func(testing.TB) string{
		"g++":     func(t testing.TB) string { return need.Tool(t, "g++") },
		"clang++": need.Clang,
	}
	for name, find := range compilers {
		t.Run(name, func(t *testing.T) {
			for _, kernel := range cudatest.KernelsBySize(t) {
				t.Run(kernel, func(t *testing.T) {
					if name == "g++" {
						cudatest.CoversLibrary(t, kernel)
					} else {
						need.Covers(t, "", cudatest.KernelInputs(kernel)...)
					}
					compiler, err := build.InspectHostCompiler(t.Context(), find(t))
					if err != nil {
						need.Missing(t, err.Error())
					}
					b := build.Builder{Sources: triad.Files, Cache: cudatest.Cache(), Compiler: compiler}
					if _, err := b.Emulator(t.Context()); err != nil {
						t.Error(err)
					}
					if _, err := b.Kernels(t.Context(), kernel); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
}
