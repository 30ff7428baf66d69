package cuda

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

// Calls as users' files make them, compiled by nvcc and linked as a library for a GPU is, on a runtime that
// has no GPU: in a capture everything is in the graph, after what it must follow, nothing is asked for that
// ends the capture, and every call of a graph gets the same memory.
func TestOwnCallsInACapture(t *testing.T) {
	nvcc := needNVCC(t)
	if !nvcc.atLeast(13) {
		need.Missing(t, "the runtime of this test has the launch of CUDA 13")
	}
	need.Tool(t, "g++")
	folder := t.TempDir()
	set, err := gather(triad.Files, "cuda/include/own_calls.cuh")
	if err != nil {
		t.Fatal(err)
	}
	names := set.wrapped()
	if len(names) < 100 {
		t.Fatalf("%d functions are taken: %q", len(names), names)
	}
	// what the calls of this test do not use ends them
	stubs := "#include <stdio.h>\n"
	for _, name := range names {
		stubs += fmt.Sprintf("__attribute__((weak)) int %s(void) { return puts(\"FORBIDDEN: %s\"), 999; }\n",
			name, name)
	}
	for _, name := range []string{
		"__cudaRegisterFatBinary", "__cudaRegisterFatBinaryEnd", "__cudaRegisterFunction",
		"__cudaUnregisterFatBinary", "__cudaInitModule", "cudaGetSymbolAddress",
	} {
		stubs += fmt.Sprintf("__attribute__((weak)) int %s(void) { return 0; }\n", name)
	}
	at := func(name string) string { return filepath.Join(folder, name) }
	writeFile(t, at("stubs.c"), stubs)
	run := func(name string, args ...string) string {
		out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	run("g++", "-c", "testdata/own_calls/runtime.cc", "-o", at("runtime.o"))
	run("gcc", "-c", "-w", at("stubs.c"), "-o", at("stubs.o"))
	build := func(program string, flags ...string) string {
		run(nvcc.Path, append([]string{
			"-c", "-std=c++17", "-arch=sm_90a", "-Iinclude",
			"testdata/own_calls/own_calls.cu", "-o", at(program + ".o"),
		}, flags...)...)
		run("g++", at(program+".o"), at("runtime.o"), at("stubs.o"), "-o", at(program),
			"-Wl,--wrap="+strings.Join(names, ",--wrap="))
		return at(program)
	}
	calls := build("calls")
	var all bytes.Buffer
	for i := range 9 {
		fmt.Fprintf(&all, "== %d\n%s", i, run(calls, strconv.Itoa(i)))
	}
	if strings.Contains(all.String(), "FORBIDDEN") {
		t.Errorf("a capture ends:\n%s", all.String())
	}
	// a default stream of each thread has functions of its own
	calls = build("thread", "--default-stream", "per-thread")
	for i := range 9 {
		plain, each := run(at("calls"), strconv.Itoa(i), "captured"), run(calls, strconv.Itoa(i), "captured")
		if plain != each || !strings.Contains(each, "the graph holds kernel1") &&
			!strings.Contains(each, " kernel1") || strings.Contains(each, "FORBIDDEN") {
			t.Errorf("%d: with a default stream of each thread:\n%s\nand without:\n%s", i, each, plain)
		}
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
