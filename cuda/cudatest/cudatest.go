// Package cudatest helps tests of kernels and of what builds and runs them. Tests of package build, which it
// imports, cannot use it.
package cudatest

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"triad"
	"triad/cuda/build"
	"triad/internal/need"
)

// Cache returns triad's own build cache: content that it holds needs no second build. A process loads one
// emulator, so every device in it shares the cache.
func Cache() string {
	folder, err := os.UserCacheDir()
	if err != nil {
		panic(err)
	}
	return filepath.Join(folder, "triad", "cuda")
}

// KernelNames lists the operators that have a kernel file.
func KernelNames(t *testing.T) []string {
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

// KernelsBySize lists the operators that have a kernel file, those with the least text first: the first of a
// family represents it where libraries are built.
func KernelsBySize(t *testing.T) []string {
	t.Helper()
	names, bytes := KernelNames(t), map[string]int64{}
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

// FamilyOf returns the family of an operator, the last package of internal/truth that its own code imports.
func FamilyOf(t *testing.T, operator string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(need.Root(), "internal/catalog", operator, "truth.go"))
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

// CoversLibrary selects a case that needs an operator's library for the emulator, which takes seconds to
// build: the fast tier builds one of each family.
func CoversLibrary(t *testing.T, operator string) {
	t.Helper()
	need.Covers(t, "the family "+FamilyOf(t, operator), KernelInputs(operator)...)
}

// KernelInputs lists the files that determine an operator's library on the emulator.
func KernelInputs(operator string) []string {
	return slices.Concat(need.Operator(operator), need.Kernels, need.Emulator)
}

// GPUInputs lists the files that determine nvcc's output for an operator.
func GPUInputs(operator string) []string {
	return slices.Concat(need.Operator(operator), need.Kernels)
}

// NeedNVCC finds nvcc, including the one in the private environment of "triad setup --nvcc".
func NeedNVCC(t *testing.T) build.NVCC {
	t.Helper()
	var missing error
	for _, environment := range need.NVCCFolders(t) {
		nvcc, err := build.FindNVCC(t.Context(), environment)
		if err == nil {
			return nvcc
		}
		missing = err
	}
	need.MissingSetUp(t, missing)
	return build.NVCC{}
}

// ForHopper matches the registration of a Hopper-only variant in a kernel file.
var ForHopper = regexp.MustCompile(`, sm90_(wgmma|tma), `)

// HopperKey returns the tier key of compiling a kernel file with nvcc: one with variants for Hopper, whose
// disassembly TestHopperLoops reads, represents all.
func HopperKey(t *testing.T, operator string) string {
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
	for _, name := range KernelNames(t) {
		if !Registers(t, name, ForHopper) {
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

// GPUBuilder returns a builder for sm_90a, in the long tier for sm_80 too.
func GPUBuilder(nvcc build.NVCC) *build.GPUBuilder {
	b := &build.GPUBuilder{
		Sources: triad.Files, Cache: Cache(), Compiler: nvcc, Architectures: []string{"sm_90a"},
	}
	if need.IsLongTier() {
		b.Architectures = []string{"sm_80", "sm_90a"}
	}
	return b
}

// Registers reports whether a kernel file matches such.
func Registers(t *testing.T, kernel string, such *regexp.Regexp) bool {
	t.Helper()
	text, err := fs.ReadFile(triad.Files, "cuda/kernels/"+kernel+".cu")
	if err != nil {
		t.Fatal(err)
	}
	return such.Match(text)
}

// NeedCompiler returns the host compiler; without one it skips or fails the test (package need).
func NeedCompiler(t *testing.T) build.HostCompiler {
	t.Helper()
	c, err := build.FindHostCompiler(context.Background())
	if err != nil {
		need.Missing(t, err.Error())
	}
	return c
}
