package build

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"triad"

	"triad/internal/backend"
	"triad/internal/need"
)

func TestFirstError(t *testing.T) {
	for _, c := range []struct {
		name, log, file, message string
		line                     int
	}{
		{"g++", "k.cu: In function 'int f()':\nk.cu:6:9: warning: unused\nk.cu:7:2: error: 'x' was not " +
			"declared\nk.cu:9:1: error: later\n", "k.cu", "'x' was not declared", 7},
		{"missing header", "k.cu:1:10: fatal error: none.h: No such file or directory\ncompilation " +
			"terminated.\n", "k.cu", "none.h: No such file or directory", 1},
		{
			"nvcc", "k.cu(6): error: identifier \"retrun\" is undefined\n", "k.cu",
			"identifier \"retrun\" is undefined", 6,
		},
		{"nvcc with a number", "k.cu(8): error #20: identifier\n", "k.cu", "identifier", 8},
		{"inside a header", "In file included from cuda/emulator/h.h:1:\ncuda/emulator/x.h: In " +
			"instantiation of 'f':\nk.cu:12:3:   required from here\n" +
			"cuda/emulator/x.h:5:1: error: no match\n", "k.cu", "no match (at cuda/emulator/x.h:5)", 12},
		{
			"an included file of the author's", "In file included from k.cu:2:\nparts.cuh:3:1: error: odd\n",
			"k.cu", "odd (at parts.cuh:3)", 2,
		},
		{
			"linker", "/usr/bin/ld: a.o: in function `f':\nk.cu:3: undefined reference to `g()'\n", "k.cu",
			"k.cu:3: undefined reference to `g()'", 0,
		},
		{
			"ptxas", "ptxas info    : 0 bytes gmem\nptxas error   : Entry function '_Z7softmaxPKfPfii' " +
				"uses too much shared data (0x13880 bytes, 0xc000 max)\n", "k.cu",
			"the kernel softmax declares 80000 bytes of static shared memory, more than the 49152 that a " +
				"block may have", 0,
		},
		{
			"ptxas, of a template", "ptxas error   : Entry function '_ZN2ns4rowsILi4EEEvPf' uses too much " +
				"shared data (0xc004 bytes, 0xc000 max)\n", "k.cu",
			"the kernel _ZN2ns4rowsILi4EEEvPf declares 49156 bytes of static shared memory, more than the " +
				"49152 that a block may have", 0,
		},
		{
			"anything else", "g++: internal compiler error\nmore\n", "k.cu",
			"the compiler failed: g++: internal compiler error", 0,
		},
	} {
		got := firstError("k.cu", c.log)
		if got.File != c.file || got.Line != c.line || got.Message != c.message {
			t.Errorf("%s: %s:%d: %q, want %s:%d: %q", c.name, got.File, got.Line, got.Message, c.file,
				c.line, c.message)
		}
	}
}

// TestErrorOfATemplateIsPlacedInTheKernelFile runs a real compiler on a mistake that appears inside an
// included file.
func TestErrorOfATemplateIsPlacedInTheKernelFile(t *testing.T) {
	b := testBuilder(t)
	folder := t.TempDir()
	writeFile(t, filepath.Join(folder, "parts.cuh"),
		"template <class T> int part(T x) { return x.size(); }\n")
	file := writeFile(t, filepath.Join(folder, "k.cu"),
		"#include \"parts.cuh\"\nint f() {\n\treturn part(1);\n}\n")
	_, err := b.Kernels(t.Context(), file)
	var mistake *Error
	if !errors.As(err, &mistake) || mistake.File != file || mistake.Line != 3 ||
		!strings.Contains(mistake.Message, "parts.cuh:1") {
		t.Errorf("error %v, want one at %s:3 that names parts.cuh:1", err, file)
	}
}

func testBuilder(t *testing.T) Builder {
	t.Helper()
	return Builder{Sources: triad.Files, Cache: t.TempDir(), Compiler: needCompiler(t)}
}

// needCompiler finds the compiler of this machine.
func needCompiler(t *testing.T) HostCompiler {
	t.Helper()
	c, err := FindHostCompiler(t.Context())
	if err != nil {
		need.Missing(t, err.Error())
	}
	return c
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

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestIncludedFilesAreRewritten: a launch in a .cuh in the kernel file's folder, and one in a parent folder.
func TestIncludedFilesAreRewritten(t *testing.T) {
	b := testBuilder(t)
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "kernels"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(folder, "launch.cuh"),
		"#pragma once\n#include \"kernels/body.cuh\"\nvoid run() { body<<<1, 1>>>(); }\n")
	writeFile(t, filepath.Join(folder, "kernels", "body.cuh"),
		"#pragma once\n__global__ void body() { __shared__ int a[4]; a[0] = 0; }\n")
	file := writeFile(t, filepath.Join(folder, "kernels", "k.cu"),
		"#include \"../launch.cuh\"\n#include \"body.cuh\"\n")
	first, err := b.Kernels(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(folder, "launch.cuh"),
		"#pragma once\n#include \"kernels/body.cuh\"\nvoid run() { body<<<1, 2>>>(); }\n")
	second, err := b.Kernels(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	if first.Source == second.Source || first.Path == second.Path {
		t.Error("another included file gave the same library")
	}
}

// TestCache: a second build returns the first one's result; other flags, sources or compilers are other
// builds.
func TestCache(t *testing.T) {
	b := testBuilder(t)
	file := writeFile(t, filepath.Join(t.TempDir(), "k.cu"), "int f() { return 1; }\n")
	first, err := b.Kernels(t.Context(), file)
	if err != nil || first.Facts.Cached || first.Facts.Seconds <= 0 {
		t.Fatalf("first build: %+v, %v", first, err)
	}
	second, err := b.Kernels(t.Context(), file)
	if err != nil || !second.Facts.Cached || second.Facts.Seconds != 0 || second.Path != first.Path ||
		second.Source != first.Source {
		t.Fatalf("second build: %+v, %v, want the first: %+v", second, err, first)
	}
	b.Compiler.Version += " patched"
	third, err := b.Kernels(t.Context(), file)
	if err != nil || third.Facts.Cached || third.Path == first.Path || third.Source != first.Source {
		t.Errorf("build with another compiler: %+v, %v", third, err)
	}
}

// TestInterruptedBuildIsRedone: the leftovers of a killed build are neither taken for a result nor in the
// way.
func TestInterruptedBuildIsRedone(t *testing.T) {
	folder := t.TempDir()
	c := cache{folder}
	for _, left := range []string{"key.making-1", "key"} {
		if err := os.Mkdir(filepath.Join(folder, left), 0o755); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(folder, left, "half.so"), "half")
	}
	at, _, cached, err := c.get(t.Context(), "key", func(folder string) (record, error) {
		return record{Log: "made"}, os.WriteFile(filepath.Join(folder, "whole.so"), []byte("whole"), 0o644)
	})
	if err != nil || cached {
		t.Fatalf("cached %t, %v", cached, err)
	}
	if _, err := os.Stat(filepath.Join(at, "half.so")); err == nil {
		t.Error("the interrupted build's file is still there")
	}
	if _, err := os.Stat(filepath.Join(folder, "key.making-1")); err == nil {
		t.Error("the interrupted build's folder is still there")
	}
	if _, r, cached, err := c.get(t.Context(), "key", nil); err != nil || !cached || r.Log != "made" {
		t.Errorf("second get: %+v, cached %t, %v", r, cached, err)
	}
}

func TestFailedBuildLeavesNothing(t *testing.T) {
	c := cache{t.TempDir()}
	mistake := errors.New("mistake")
	if _, _, _, err := c.get(t.Context(), "key",
		func(string) (record, error) { return record{}, mistake }); !errors.Is(err, mistake) {
		t.Fatal(err)
	}
	left, err := os.ReadDir(c.folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range left {
		if entry.Name() != "key.lock" {
			t.Errorf("%s is left", entry.Name())
		}
	}
}

// TestBuildsOfOneKeyWaitForEachOther: of many concurrent builds, one builds.
func TestBuildsOfOneKeyWaitForEachOther(t *testing.T) {
	c := cache{t.TempDir()}
	var mu sync.Mutex
	var group sync.WaitGroup
	builds := 0
	for range 8 {
		group.Go(func() {
			_, _, _, err := c.get(context.Background(), "key", func(string) (record, error) {
				mu.Lock()
				builds++
				mu.Unlock()
				time.Sleep(20 * time.Millisecond)
				return record{}, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if builds != 1 {
		t.Errorf("%d builds, want 1", builds)
	}
}

// TestFindHostCompiler: the compilers found on PATH and by CXX, and the error if there is none.
func TestFindHostCompiler(t *testing.T) {
	real := needCompiler(t)
	folder := t.TempDir()
	fake := func(name, version string) string {
		file := filepath.Join(folder, name)
		script := "#!/bin/sh\ncase $1 in -dumpversion) echo " + version + ";; *) echo " + name + " " +
			version + ";; esac\n"
		if err := os.WriteFile(file, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		return file
	}
	find := func() (HostCompiler, string) {
		c, err := FindHostCompiler(t.Context())
		var missing *backend.Unavailable
		if err != nil && !errors.As(err, &missing) {
			t.Fatalf("error %v is no *backend.Unavailable", err)
		}
		if err != nil {
			return c, missing.Sentence
		}
		return c, ""
	}
	t.Setenv("CXX", "")
	t.Setenv("PATH", folder)
	if _, sentence := find(); !strings.Contains(sentence, "apt install g++") {
		t.Errorf("nothing on PATH: %q", sentence)
	}
	fake("g++", "11.4.0")
	if _, sentence := find(); !strings.Contains(sentence, "version 11, want 12") {
		t.Errorf("an old g++: %q", sentence)
	}
	want := fake("clang++", "15.0.7")
	if c, _ := find(); c.Path != want || !c.Clang {
		t.Errorf("clang++ beside an old g++: found %+v", c)
	}
	t.Setenv("CXX", real.Path)
	if c, _ := find(); c.Path != real.Path {
		t.Errorf("CXX=%s: found %+v", real.Path, c)
	}
	t.Setenv("CXX", filepath.Join(folder, "none"))
	if _, sentence := find(); !strings.Contains(sentence, "CXX") {
		t.Errorf("CXX names nothing: %q", sentence)
	}
}

func TestFindNVCC(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PATH", "")
	t.Setenv("CUDA_HOME", "")
	t.Setenv("CUDA_PATH", "")
	t.Setenv("VIRTUAL_ENV", "")
	if n, err := FindNVCC(t.Context(), folder); err == nil && !strings.HasPrefix(n.Path, "/usr/local/cuda") &&
		!strings.HasPrefix(n.Path, "/opt/cuda") {
		t.Errorf("found %+v in an empty folder", n)
	}
	home := filepath.Join(folder, "lib", "python3.11", "site-packages", "nvidia", "cu13")
	for _, sub := range []string{"bin", "lib"} {
		if err := os.MkdirAll(filepath.Join(home, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(home, "lib", "libcudart_static.a"), "")
	script := "#!/bin/sh\necho 'Cuda compilation tools, release 13.0, V13.0.88'\n"
	if err := os.WriteFile(filepath.Join(home, "bin", "nvcc"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CUDA_HOME", home)
	n, err := FindNVCC(t.Context(), "")
	if err != nil || n.Version != "V13.0.88" || n.Library != filepath.Join(home, "lib") {
		t.Errorf("by CUDA_HOME: %+v, %v", n, err)
	}
}

// TestSymbolsOfAKernelLibrary: the library exports its list and has no unique symbols, which would merge the
// statics of two libraries.
func TestSymbolsOfAKernelLibrary(t *testing.T) {
	b := testBuilder(t)
	file, err := filepath.Abs("../serve/testdata/worker/scale.cu")
	if err != nil {
		t.Fatal(err)
	}
	library, err := b.Kernels(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(need.Tool(t, "nm"), "-D", "--defined-only", library.Path).Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), " T triad_kernels\n") || strings.Contains(string(out), " u ") {
		t.Errorf("exported symbols:\n%s\nwant triad_kernels and none of type u", out)
	}
}

func TestMissingSources(t *testing.T) {
	b := Builder{Sources: fstest.MapFS{}, Cache: t.TempDir(), Compiler: HostCompiler{Path: "false"}}
	if _, err := b.Emulator(t.Context()); err == nil {
		t.Error("the emulator was built from nothing")
	}
	if _, err := b.Kernels(t.Context(), "softmax"); err == nil {
		t.Error("a kernel file was built from nothing")
	}
}

// An included device file is refused before anybody reads it: reading one may never end.
func TestAnIncludedDeviceIsRefused(t *testing.T) {
	b := testBuilder(t)
	file := writeFile(
		t,
		filepath.Join(t.TempDir(), "k.cu"),
		"#include \"/dev/zero\"\nint f() { return 1; }\n",
	)
	_, err := b.Kernels(t.Context(), file)
	var mistake *Error
	if !errors.As(err, &mistake) || mistake.File != file ||
		mistake.Message != "it includes /dev/zero: it is no regular file (a device)" {
		t.Errorf("%v, want that it is refused", err)
	}
}
