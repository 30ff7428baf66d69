package build

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"triad"
	"triad/internal/need"
)

var updateOwnCalls = flag.Bool("update-own-calls", false, "write testdata/own_calls/want.txt")

// ownPrograms builds testdata/own_calls as a library for a GPU is linked, on a runtime that has no GPU. It
// returns functions that build a program with flags of nvcc, and run one.
func ownPrograms(t *testing.T) (build func(name string, flags ...string) string,
	run func(name string, args ...string) string,
) {
	t.Helper()
	nvcc := needNVCC(t)
	if !nvcc.AtLeast(13) {
		need.Missing(t, "the runtime of this test has the launch of CUDA 13")
	}
	need.Tool(t, "g++")
	set, err := Gather(triad.Files, "cuda/include/own_calls.cuh")
	if err != nil {
		t.Fatal(err)
	}
	names, folder := set.wrapped(), t.TempDir()
	if len(names) < 100 {
		t.Fatalf("%d functions are taken: %q", len(names), names)
	}
	stub := "__attribute__((weak)) int %[1]s(void) { return puts(\"FORBIDDEN: %[1]s\"), 999; }\n"
	stubs := "#include <stdio.h>\n"
	for _, name := range names { // what the calls do not use ends them
		stubs += fmt.Sprintf(stub, name)
	}
	for _, name := range []string{
		"__cudaRegisterFatBinary", "__cudaRegisterFatBinaryEnd", "__cudaRegisterFunction",
		"__cudaUnregisterFatBinary", "__cudaInitModule", "cudaGetSymbolAddress",
	} {
		stubs += fmt.Sprintf("__attribute__((weak)) int %s(void) { return 0; }\n", name)
	}
	at := func(name string) string { return filepath.Join(folder, name) }
	writeFile(t, at("stubs.c"), stubs)
	run = func(name string, args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	run("g++", "-c", "testdata/own_calls/runtime.cc", "-o", at("runtime.o"))
	run("gcc", "-c", "-w", at("stubs.c"), "-o", at("stubs.o"))
	return func(name string, flags ...string) string {
		t.Helper()
		run(nvcc.Path, append([]string{
			"-c", "-std=c++17", "-arch=sm_90a", "-I../include", "testdata/own_calls/own_calls.cu",
			"-o", at(name + ".o"),
		}, flags...)...)
		run("g++", at(name+".o"), at("runtime.o"), at("stubs.o"), "-o", at(name),
			"-Wl,--wrap="+strings.Join(names, ",--wrap="))
		return at(name)
	}, run
}

// Calls as users' files make them: everything in a capture is in the graph, after its dependencies; nothing
// ends the capture, and every call of a graph gets the same memory.
func TestOwnCallsInACapture(t *testing.T) {
	build, run := ownPrograms(t)
	calls, each := build("calls"), build("thread", "--default-stream", "per-thread")
	var all bytes.Buffer
	for i := range 9 {
		number := strconv.Itoa(i)
		fmt.Fprintf(&all, "== %d\n%s", i, run(calls, number))
		// a per-thread default stream has functions of its own
		plain, ofThreads := run(calls, number, "captured"), run(each, number, "captured")
		if plain != ofThreads || !strings.Contains(plain, "the graph holds") ||
			!strings.Contains(plain, "kernel1") || strings.Contains(plain, "FORBIDDEN") {
			t.Errorf("%d: with a default stream of each thread:\n%s\nand without:\n%s", i, ofThreads, plain)
		}
	}
	if strings.Contains(all.String(), "FORBIDDEN") {
		t.Errorf("a capture ends:\n%s", all.String())
	}
	const golden = "testdata/own_calls/want.txt"
	if *updateOwnCalls {
		writeFile(t, golden, all.String())
	}
	want, err := os.ReadFile(golden)
	if err != nil || !bytes.Equal(want, all.Bytes()) {
		t.Errorf("%v: other than %s (-update-own-calls writes it):\n%s", err, golden, all.String())
	}
}
