package cuda

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"triad"
	"triad/internal/backend"
	"triad/internal/need"
)

// kernelNames lists the operators that have a kernel file.
func kernelNames(t *testing.T) []string {
	t.Helper()
	files, err := fs.Glob(triad.Files, "cuda/kernels/*.cu")
	if err != nil || len(files) == 0 {
		t.Fatalf("find kernel files: %v, %v", files, err)
	}
	var names []string
	for _, file := range files {
		names = append(names, strings.TrimSuffix(path.Base(file), ".cu"))
	}
	return names
}

// TestKernelsCompileForTheEmulator compiles every kernel file with g++, and one in ten with clang++, the one
// that TRIAD_TEST_CLANG names or any; with TRIAD_TEST_LONG all of them with both.
func TestKernelsCompileForTheEmulator(t *testing.T) {
	compilers := map[string]func(testing.TB) string{
		"g++":     func(t testing.TB) string { return need.Tool(t, "g++") },
		"clang++": need.Clang,
	}
	for name, find := range compilers {
		t.Run(name, func(t *testing.T) {
			compiler, err := inspectHostCompiler(t.Context(), find(t))
			if err != nil {
				need.Missing(t, err.Error())
			}
			b := Builder{Sources: triad.Files, Cache: testCache, Compiler: compiler}
			if _, err := b.Emulator(t.Context()); err != nil {
				t.Error(err)
			}
			for i, kernel := range kernelNames(t) {
				if name == "clang++" && !need.Part(i, 10) {
					continue
				}
				t.Run(kernel, func(t *testing.T) {
					if _, err := b.Kernels(t.Context(), kernel); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
}

// needNVCC finds nvcc, also in the private environment that "triad setup --nvcc" makes.
func needNVCC(t *testing.T) NVCC {
	t.Helper()
	var missing error
	for _, environment := range need.NVCCFolders(t) {
		nvcc, err := FindNVCC(t.Context(), environment)
		if err == nil {
			return nvcc
		}
		missing = err
	}
	need.MissingSetUp(t, missing)
	return NVCC{}
}

// TestEveryKernelFileRegisters loads every library: each variant says which operator, pass, contract and
// outputs it has.
func TestEveryKernelFileRegisters(t *testing.T) {
	needCompiler(t)
	device := NewEmulator(triad.Files, testCache)
	for _, kernel := range kernelNames(t) {
		t.Run(kernel, func(t *testing.T) {
			s := &server{device: device, specs: catalogSpec}
			_, all, err := s.open(t.Context(), kernel)
			if err != nil {
				t.Fatal(err)
			}
			spec, err := catalogSpec(kernel)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			for _, k := range all {
				for _, dtype := range k.DTypes {
					key := fmt.Sprintf("%s %s %s", k.Name, k.Pass, dtype)
					if seen[key] {
						t.Errorf("%s is registered twice", key)
					}
					seen[key] = true
					if !spec.Permits(dtype, k.Contract) {
						t.Errorf("%s declares the contract %s, which the spec does not permit",
							key, k.Contract)
					}
				}
			}
		})
	}
}

// TestKernelsCompileForGPUs compiles kernel files with nvcc for sm_90a: those whose loops
// TestHopperLoops reads anyway, those that have a variant for sm_80, for it too where they are not
// among the former, and one in three. With TRIAD_TEST_LONG it compiles all of them for both, and for
// the others. A kernel may spill what its file permits with TRIAD_SPILLS(kernel, bytes, "reason"), and
// no more.
func TestKernelsCompileForGPUs(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: nvcc takes minutes for all kernels")
	}
	nvcc := needNVCC(t)
	if os.Getenv("TRIAD_TEST_LONG") != "" {
		compileForOthers(t, nvcc)
	}
	for i, kernel := range kernelNames(t) {
		if !registers(t, kernel, forHopper) && !registers(t, kernel, forAmpere) && !need.Part(i, 3) {
			continue
		}
		t.Run(kernel, func(t *testing.T) {
			b := gpuBuilder(t, nvcc)
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
			made, err := readRecord(filepath.Dir(library.Path))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(made.Log, "are serialized") {
				// ptxas C7510: the tensor cores wait for each product
				t.Errorf("ptxas serializes wgmma:\n%s", made.Log)
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

// forAmpere is what a kernel file says that has a variant for sm_80, forHopper where only Hopper's
// instructions can run one.
var (
	forAmpere = regexp.MustCompile(`, sm80_|capability\("mma", 80`)
	forHopper = regexp.MustCompile(`, sm90_(wgmma|tma), `)
)

// gpuBuilder compiles a kernel file for sm_90a, and with TRIAD_TEST_LONG for sm_80 too.
func gpuBuilder(t *testing.T, nvcc NVCC) *GPUBuilder {
	t.Helper()
	b := &GPUBuilder{
		Sources: triad.Files, Cache: testCache, Compiler: nvcc, Architectures: []string{"sm_90a"},
	}
	if os.Getenv("TRIAD_TEST_LONG") != "" {
		b.Architectures = []string{"sm_80", "sm_90a"}
	}
	return b
}

// registers says whether a kernel file registers such a variant.
func registers(t *testing.T, kernel string, such *regexp.Regexp) bool {
	t.Helper()
	text, err := fs.ReadFile(triad.Files, "cuda/kernels/"+kernel+".cu")
	if err != nil {
		t.Fatal(err)
	}
	return such.Match(text)
}

// olderAndNewer are the architectures besides those that are shipped: the GPUs that nvcc 13 knows and people
// have, and the names with a letter, which libraries are built for on the newer ones.
var olderAndNewer = []string{"sm_75", "sm_86", "sm_89", "sm_100", "sm_100a", "sm_120", "sm_120a"}

// compileForOthers compiles every kernel library, and the runtime's, for each other architecture: some have
// no cp.async, no bf16, no wgmma. Whether the variants run there is asked by their `accepts`.
func compileForOthers(t *testing.T, nvcc NVCC) {
	for _, arch := range olderAndNewer {
		b := GPUBuilder{Sources: triad.Files, Cache: testCache, Compiler: nvcc, Architectures: []string{arch}}
		for _, kernel := range append(kernelNames(t), RuntimeName) {
			t.Run(arch+"/"+kernel, func(t *testing.T) {
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

// permittedFor finds the exception for a mangled name, in which the length of a name stands in front of it.
func permittedFor(mangled string, permitted map[string]int) (name string, bytes int) {
	for name, bytes := range permitted {
		if strings.Contains(mangled, strconv.Itoa(len(name))+name) {
			return name, bytes
		}
	}
	return "", 0
}

// TestGPUCompileErrorNamesTheLine: nvcc's messages become a *BuildError like the host compiler's.
func TestGPUCompileErrorNamesTheLine(t *testing.T) {
	nvcc := needNVCC(t)
	file, err := filepath.Abs("testdata/worker/typo.cu")
	if err != nil {
		t.Fatal(err)
	}
	b := GPUBuilder{Sources: triad.Files, Cache: testCache, Compiler: nvcc, Architectures: []string{"sm_80"}}
	_, err = b.Kernels(t.Context(), file)
	if e, ok := err.(*BuildError); !ok || e.File != file || e.Line != 6 {
		t.Errorf("error %v, want a *BuildError at %s:6", err, file)
	}
}
