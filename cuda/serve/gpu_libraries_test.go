package serve

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"triad"
	"triad/cuda/build"
	"triad/cuda/cudatest"
	"triad/internal/backend"
	"triad/internal/need"
)

// TestKernelsCompileForGPUs compiles every kernel file with nvcc for sm_90a, in the long tier also for sm_80
// and for other architectures. The fast tier compiles the file that represents Hopper's instructions. A
// kernel may spill what its file permits with TRIAD_SPILLS(kernel, bytes, "reason"), and no more.
func TestKernelsCompileForGPUs(t *testing.T) {
	compileForOthers(t)
	for _, kernel := range cudatest.KernelsBySize(t) {
		t.Run(kernel, func(t *testing.T) {
			need.Covers(t, cudatest.HopperKey(t, kernel), cudatest.GPUInputs(kernel)...)
			b := cudatest.GPUBuilder(cudatest.NeedNVCC(t))
			library, err := b.Kernels(t.Context(), kernel)
			if err != nil {
				t.Fatal(err)
			}
			if len(library.Facts.Kernels) == 0 {
				t.Fatal("ptxas named no kernel")
			}
			handle, err := open(library.Path, false) // needs no driver
			if err != nil {
				t.Fatal(err)
			}
			if _, err := kernels(handle, catalogSpec); err != nil {
				t.Error(err)
			}
			log, err := os.ReadFile(filepath.Join(filepath.Dir(library.Path), "build.json"))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(log), "are serialized") {
				// ptxas C7510: the tensor cores wait for each product
				t.Errorf("ptxas serializes wgmma:\n%s", log)
			}
			permitted := permittedSpills(t, "cuda/kernels/"+kernel+".cu")
			worst := map[string]int{}
			for _, fact := range library.Facts.Kernels {
				name, limit := permittedFor(fact.Kernel, permitted)
				if fact.SpillBytes > limit {
					t.Errorf("%s for %s spills %d bytes with %d registers, permitted are %d", fact.Kernel,
						fact.Arch, fact.SpillBytes, fact.Registers, limit)
				}
				worst[name] = max(worst[name], fact.SpillBytes)
			}
			for name := range permitted {
				if worst[name] == 0 && len(b.Architectures) > 1 {
					t.Errorf("TRIAD_SPILLS permits %s to spill, and it does not", name)
				}
			}
		})
	}
}

// olderAndNewer lists the architectures in addition to the shipped ones: the GPUs in use that nvcc 13 knows,
// and the names with a letter, for which libraries are built on the newer GPUs.
var olderAndNewer = []string{"sm_75", "sm_86", "sm_89", "sm_100", "sm_100a", "sm_120", "sm_120a"}

// compileForOthers compiles every kernel library, and the runtime's, for each other architecture: some have
// no cp.async, no bf16, no wgmma. The `accepts` of a variant decides whether it runs there.
func compileForOthers(t *testing.T) {
	for _, arch := range olderAndNewer {
		for _, kernel := range append(cudatest.KernelNames(t), build.RuntimeName) {
			t.Run(arch+"/"+kernel, func(t *testing.T) {
				need.Long(t, "nvcc compiles every file for seven architectures", need.Operator(kernel)...)
				b := build.GPUBuilder{
					Sources: triad.Files, Cache: testCache, Compiler: cudatest.NeedNVCC(t),
					Architectures: []string{arch},
				}
				library, err := b.Kernels(t.Context(), kernel)
				if err != nil {
					t.Fatal(err)
				}
				for _, fact := range library.Facts.Kernels {
					if fact.SpillBytes > 0 {
						t.Logf("%s spills %d bytes with %d registers", fact.Kernel, fact.SpillBytes,
							fact.Registers)
					}
				}
				if !slices.ContainsFunc(library.Facts.Kernels,
					func(f backend.KernelFact) bool { return f.Arch == arch }) {
					t.Errorf("ptxas named no kernel for %s", arch)
				}
			})
		}
	}
}

var spillException = regexp.MustCompile(`(?m)^TRIAD_SPILLS\((\w+), (\d+), "[^"]+"\);`)

// permittedSpills reads a kernel file's exceptions: bytes by the name of the __global__ function.
func permittedSpills(t *testing.T, file string) map[string]int {
	t.Helper()
	text, err := fs.ReadFile(triad.Files, file)
	if err != nil {
		t.Fatal(err)
	}
	permitted := map[string]int{}
	for _, m := range spillException.FindAllStringSubmatch(string(text), -1) {
		permitted[m[1]], _ = strconv.Atoi(m[2])
	}
	if n := strings.Count(string(text), "TRIAD_SPILLS("); n != len(permitted) {
		t.Errorf("%s: %d of %d TRIAD_SPILLS are readable: want TRIAD_SPILLS(kernel, bytes, \"reason\"); at "+
			"the start of a line", file, len(permitted), n)
	}
	return permitted
}

// permittedFor finds the exception for a mangled name, in which the length of a name precedes it.
func permittedFor(mangled string, permitted map[string]int) (name string, bytes int) {
	for name, bytes := range permitted {
		if strings.Contains(mangled, strconv.Itoa(len(name))+name) {
			return name, bytes
		}
	}
	return "", 0
}

// TestGPUCompileErrorNamesTheLine: nvcc's messages become a *build.Error like the host compiler's.
func TestGPUCompileErrorNamesTheLine(t *testing.T) {
	nvcc := cudatest.NeedNVCC(t)
	file, err := filepath.Abs("testdata/worker/typo.cu")
	if err != nil {
		t.Fatal(err)
	}
	b := build.GPUBuilder{
		Sources: triad.Files, Cache: testCache, Compiler: nvcc, Architectures: []string{"sm_80"},
	}
	_, err = b.Kernels(t.Context(), file)
	if e, ok := err.(*build.Error); !ok || e.File != file || e.Line != 6 {
		t.Errorf("error %v, want a *build.Error at %s:6", err, file)
	}
}
