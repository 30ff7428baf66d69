package cuda

import (
	"cmp"
	"errors"
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

// kernelsBySize lists the operators that have a kernel file, those with the least text first: the first of a
// family represents it where libraries are built.
func kernelsBySize(t *testing.T) []string {
	t.Helper()
	names, bytes := kernelNames(t), map[string]int64{}
	for _, name := range names {
		files := []string{"cuda/kernels/" + name + ".cu"}
		parts, err := fs.Glob(triad.Files, "cuda/kernels/"+name+"/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range append(files, parts...) {
			info, err := fs.Stat(triad.Files, file)
			if err != nil {
				t.Fatal(err)
			}
			bytes[name] += info.Size()
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(bytes[a], bytes[b]) })
	return names
}

var familyImport = regexp.MustCompile(`"triad/internal/truth/(\w+)"`)

// familyOf returns the family of an operator, the last package of internal/truth that its own code imports.
func familyOf(t *testing.T, operator string) string {
	t.Helper()
	text, err := os.ReadFile("../internal/catalog/" + operator + "/truth.go")
	if err != nil {
		t.Fatal(err)
	}
	family := "none"
	for _, m := range familyImport.FindAllStringSubmatch(string(text), -1) {
		if m[1] != "formula" { // several families state their operators in it
			family = m[1]
		}
	}
	return family
}

// coversLibrary selects a case that needs an operator's library for the emulator, which takes seconds to
// build: the fast tier builds one of each family.
func coversLibrary(t *testing.T, operator string) {
	t.Helper()
	need.Covers(t, "the family "+familyOf(t, operator), kernelInputs(operator)...)
}

// kernelInputs lists the files that determine an operator's library on the emulator.
func kernelInputs(operator string) []string {
	return slices.Concat(need.Operator(operator), need.Kernels, need.Emulator)
}

// gpuInputs lists the files that determine nvcc's output for an operator.
func gpuInputs(operator string) []string {
	return slices.Concat(need.Operator(operator), need.Kernels)
}

// TestKernelsCompileForTheEmulator compiles every kernel file with g++, and with the clang++ that
// TRIAD_TEST_CLANG names or any. The fast tier compiles one of each family, with g++ only.
func TestKernelsCompileForTheEmulator(t *testing.T) {
	compilers := map[string]func(testing.TB) string{
		"g++":     func(t testing.TB) string { return need.Tool(t, "g++") },
		"clang++": need.Clang,
	}
	for name, find := range compilers {
		t.Run(name, func(t *testing.T) {
			for _, kernel := range kernelsBySize(t) {
				t.Run(kernel, func(t *testing.T) {
					if name == "g++" {
						coversLibrary(t, kernel)
					} else {
						need.Covers(t, "", kernelInputs(kernel)...)
					}
					compiler, err := inspectHostCompiler(t.Context(), find(t))
					if err != nil {
						need.Missing(t, err.Error())
					}
					b := Builder{Sources: triad.Files, Cache: testCache, Compiler: compiler}
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

// needNVCC finds nvcc, including the one in the private environment of "triad setup --nvcc".
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

// TestEveryKernelFileRegisters loads every library: each variant declares its operator, pass, contract and
// outputs. The fast tier loads one of each family.
func TestEveryKernelFileRegisters(t *testing.T) {
	needCompiler(t)
	device := NewEmulator(triad.Files, testCache)
	for _, kernel := range kernelsBySize(t) {
		t.Run(kernel, func(t *testing.T) {
			coversLibrary(t, kernel)
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

// TestKernelsCompileForGPUs compiles every kernel file with nvcc for sm_90a, in the long tier also for sm_80
// and for other architectures. The fast tier compiles the file that represents Hopper's instructions. A
// kernel may spill what its file permits with TRIAD_SPILLS(kernel, bytes, "reason"), and no more.
func TestKernelsCompileForGPUs(t *testing.T) {
	compileForOthers(t)
	for _, kernel := range kernelsBySize(t) {
		t.Run(kernel, func(t *testing.T) {
			need.Covers(t, hopperKey(t, kernel), gpuInputs(kernel)...)
			b := gpuBuilder(needNVCC(t))
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

// forHopper matches the registration of a Hopper-only variant in a kernel file.
var forHopper = regexp.MustCompile(`, sm90_(wgmma|tma), `)

// hopperKey returns the tier key of compiling a kernel file with nvcc: one with variants for Hopper, whose
// disassembly TestHopperLoops reads, represents all.
func hopperKey(t *testing.T, operator string) string {
	if operator == hopperWitness(t) {
		return "wgmma and copies by TMA"
	}
	return ""
}

// hopperWitness returns the kernel file that the fast tier compiles with nvcc: of those with variants for
// Hopper, the one with the smallest sources, since it takes the least time.
func hopperWitness(t *testing.T) string {
	t.Helper()
	var witness string
	var smallest int64
	for _, name := range kernelNames(t) {
		if !registers(t, name, forHopper) {
			continue
		}
		if size := sizeOfSources(t, name); witness == "" || size < smallest {
			witness, smallest = name, size
		}
	}
	return witness
}

// sizeOfSources returns the bytes of a kernel file and of the files in its folder.
func sizeOfSources(t *testing.T, kernel string) (bytes int64) {
	t.Helper()
	add := func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	}
	for _, root := range []string{"cuda/kernels/" + kernel + ".cu", "cuda/kernels/" + kernel} {
		if err := fs.WalkDir(triad.Files, root, add); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return bytes
}

// gpuBuilder returns a builder for sm_90a, in the long tier for sm_80 too.
func gpuBuilder(nvcc NVCC) *GPUBuilder {
	b := &GPUBuilder{
		Sources: triad.Files, Cache: testCache, Compiler: nvcc, Architectures: []string{"sm_90a"},
	}
	if need.IsLongTier() {
		b.Architectures = []string{"sm_80", "sm_90a"}
	}
	return b
}

// registers reports whether a kernel file matches such.
func registers(t *testing.T, kernel string, such *regexp.Regexp) bool {
	t.Helper()
	text, err := fs.ReadFile(triad.Files, "cuda/kernels/"+kernel+".cu")
	if err != nil {
		t.Fatal(err)
	}
	return such.Match(text)
}

// olderAndNewer lists the architectures in addition to the shipped ones: the GPUs in use that nvcc 13 knows,
// and the names with a letter, for which libraries are built on the newer GPUs.
var olderAndNewer = []string{"sm_75", "sm_86", "sm_89", "sm_100", "sm_100a", "sm_120", "sm_120a"}

// compileForOthers compiles every kernel library, and the runtime's, for each other architecture: some have
// no cp.async, no bf16, no wgmma. The `accepts` of a variant decides whether it runs there.
func compileForOthers(t *testing.T) {
	for _, arch := range olderAndNewer {
		for _, kernel := range append(kernelNames(t), RuntimeName) {
			t.Run(arch+"/"+kernel, func(t *testing.T) {
				need.Long(t, "nvcc compiles every file for seven architectures", need.Operator(kernel)...)
				b := GPUBuilder{
					Sources: triad.Files, Cache: testCache, Compiler: needNVCC(t),
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
