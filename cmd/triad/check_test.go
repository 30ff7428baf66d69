package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"triad/internal/check"
	"triad/internal/need"
)

// doubling is a right program; %s stands for further statements of its main.
const doubling = `#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
__global__ void twice(float *x, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) x[i] *= 2;
}
int main(int argc, char **argv) {
	float h[64] = {1, 2, 3}, *x;
	cudaMalloc(&x, sizeof h);
	cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
	twice<<<1, 64>>>(x, 64);
	cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
	cudaFree(x);
	printf("%g %g\n", h[0], h[2]);
	MORE
}
`

// checkFile writes a program into a folder of its own.
func checkFile(t *testing.T, text string) string {
	t.Helper()
	name := fmt.Sprintf("program-%x", sha256.Sum256([]byte(text)))
	file := filepath.Join(steadyFolder(t, name[:24]), "program.cu")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func with(more string) string { return strings.Replace(doubling, "MORE", more, 1) }

// badInput is a program for check, the expected message, and the exit code.
type badInput struct {
	text, says string
	code       int
	flags      []string
}

var badInputs = map[string]badInput{
	"right":         {with(""), "Nothing was found, in 6 schedule orders", 0, nil},
	"no kernel":     {"int main() {}\n", "there is no __global__ function in it", 2, nil},
	"no main":       {"__global__ void k() {}\n// int main() {}\n", "it has no main()", 2, nil},
	"empty":         {"", "there is no __global__ function in it", 2, nil},
	"does not read": {with("this is no C++;"), "program.cu:16: ", 2, nil},
	"thrust":        {"#include <thrust/sort.h>\n" + with(""), "program.cu:1: Thrust is included", 2, nil},
	"thrust that is off": {
		"#ifdef WITH_THRUST\n#include <thrust/sort.h>\n#endif\n" + with(""), "Nothing was found", 0, nil,
	},
	"thrust that is on": {
		"#define WITH_THRUST\n#ifdef WITH_THRUST\n#include <thrust/sort.h>\n#endif\n" + with(""),
		"program.cu:3: Thrust is included", 2, nil,
	},
	"cub": {"#include <cub/device/scan.cuh>\n" + with(""), "program.cu:1: CUB is included", 2, nil},
	"cub by half": {
		"#include <cub/cub.cuh>\n__global__ void last(int *x) {\n" +
			"\tusing Scan = cub::WarpScan<int>;\n\t__shared__ typename Scan::TempStorage room;\n" +
			"\t*x = Scan(room).Broadcast(*x, 31);\n}\n" + with(""),
		"program.cu:5: of CUB the emulator has the most used reductions and scans", 2, nil,
	},
	"cublas":  {"\n#include \"cublas_v2.h\"\n" + with(""), "program.cu:2: cuBLAS is included", 2, nil},
	"cutlass": {"#include <cutlass/gemm.h>\n" + with(""), "program.cu:1: CUTLASS is included", 2, nil},
	"file not there": {
		with(`if (!fopen("weights.bin", "rb")) { printf("no weights.bin\n"); return 4; }`),
		"the program says that it failed: exit status 4", 1, nil,
	},
	"leaves a process": {
		"#include <unistd.h>\n" + with("if (fork() == 0) { setsid(); sleep(1000); }"),
		"Nothing was found", 0, nil,
	},
	"a thread launches and ends": {
		"#include <pthread.h>\n#include <unistd.h>\n" +
			"__global__ void k(int *p) { p[threadIdx.x] = 1; }\n" +
			"void *body(void *) { int *d; cudaMalloc(&d, 128); k<<<1, 32>>>(d); cudaFree(d); return d; }\n" +
			"int main() { pthread_attr_t a; pthread_attr_init(&a);\n" +
			"pthread_attr_setstacksize(&a, 256u << 20); // which is given back when the thread ends\n" +
			"pthread_t t; pthread_create(&t, &a, body, nullptr); pthread_join(t, nullptr);\n" +
			"usleep(200000); }\n",
		"Nothing was found", 0, nil,
	},
	"waits for input": {with("if (getchar() == EOF) printf(\"no input\\n\");"), "no input", 0, nil},
	"never ends": {
		"#include <unistd.h>\n" + with("for (;;) pause();"),
		"the program does not end", 1,
		[]string{"--limit", "run=1s"},
	},
	"a slow block": {
		"__global__ void slow(int *x) { for (int i = 0; i < 1 << 30; i++) {\n" +
			"if (threadIdx.x == i % 32) x[0]++; __syncthreads(); } }\n" +
			"int main() { int *x; cudaMalloc(&x, 4); cudaMemset(x, 0, 4);\n" +
			"slow<<<1, 32>>>(x); cudaFree(x); }\n",
		"the program was stopped amid long work", 3,
		[]string{"--limit", "run=8s", "--limit", "stall=2s"},
	},
	"long work of atomics": {
		"__global__ void count(int *x) { for (long i = 0; i < 1L << 40; i++) atomicAdd(x, 1); }\n" +
			"int main() { int *x; cudaMalloc(&x, 4); cudaMemset(x, 0, 4);\n" +
			"count<<<1, 1>>>(x); cudaFree(x); }\n",
		"the program was stopped amid long work", 3,
		[]string{"--limit", "run=6s", "--limit", "stall=1s"},
	},
	"counts while it waits": {
		"__global__ void until(int *x) { while (atomicAdd(x, 0) == 0) atomicAdd(x + 1, 1); }\n" +
			"int main() { int *x; cudaMalloc(&x, 8); cudaMemset(x, 0, 8);\n" +
			"until<<<1, 1>>>(x); cudaFree(x); }\n",
		"a kernel does not end", 1,
		[]string{"--limit", "stall=2s"},
	},
	"takes a lock in vain": {
		"__global__ void until(int *x, int *lock) { for (bool done = false; !done;) {\n" +
			"while (atomicCAS(lock, 0, 1)) {}\ndone = x[0]; __threadfence(); atomicExch(lock, 0); } }\n" +
			"int main() { int *x; cudaMalloc(&x, 8); cudaMemset(x, 0, 8);\n" +
			"until<<<1, 1>>>(x, x + 1); cudaFree(x); }\n",
		"a kernel does not end", 1,
		[]string{"--limit", "stall=2s"},
	},
	"waits for the host": {
		"__global__ void until(volatile int *stop, int *turns) { while (!*stop) atomicAdd(turns, 1); }\n" +
			"__global__ void twice(float *x) { x[0] *= 2; }\n" +
			"int main() { int *flags; cudaMallocManaged(&flags, 8); flags[0] = flags[1] = 0;\n" +
			"until<<<1, 1>>>(flags, flags + 1); flags[0] = 1; cudaDeviceSynchronize(); cudaFree(flags); }\n",
		"the kernel until, launched at program.cu:4, waits for what the host writes meanwhile", 3,
		[]string{"--limit", "stall=2s"},
	},
	"long work of the host": {
		with("for (volatile int i = 0;;) i = i + 1;"),
		"Its host code was at work", 3,
		[]string{"--limit", "run=2s"},
	},
	"long work": {
		with("for (;;) twice<<<64, 64>>>(x, 0);"),
		"the program was stopped amid long work",
		3,
		[]string{"--limit", "run=4s"},
	},
	"newer language": {
		"#include <string>\n" + with("if (std::string(\"a\").starts_with(\"b\")) return 1;"),
		"if this is newer than C++17, say so by --std c++20", 2, nil,
	},
	"newer language named": {
		"#include <string>\n" + with("if (std::string(\"a\").starts_with(\"b\")) return 1;"),
		"Nothing was found", 0,
		[]string{"--std", "c++20"},
	},
	"older language": {with(""), "want c++17, c++20 or c++23", 2, []string{"--std", "c++98"}},
	"warp functions without a mask": {
		"__global__ void k(int *x) { *x = __shfl_down(*x, 1); }\nint main() { k<<<1, 32>>>(nullptr); }\n",
		"program.cu:1: warp functions without a mask are gone from every GPU since sm_70", 2, nil,
	},
	"textures": {
		with("cudaTextureObject_t t;"),
		"program.cu:16: textures, surfaces and CUDA arrays are not in the emulator", 2, nil,
	},
	"another file's": {
		"void other();\n" + with("other();"),
		"undefined reference to `other()': if another file of the program has it", 2, nil,
	},
	"driver's API": {
		with("CUdeviceptr p;"), "program.cu:16: the driver API (cuda.h) is not in the emulator", 2, nil,
	},
	"dynamic parallelism": {
		"__global__ void k() {}\n__global__ void j() { k<<<1, 1>>>(); }\nint main() { j<<<1, 1>>>(); }\n",
		"program.cu:2: a kernel launches k (dynamic parallelism)", 2, nil,
	},
	"unknown PTX": {
		"__global__ void k(int *x) { asm(\"vote.sync.any.pred %0, %1, -1;\" : \"=r\"(*x) : \"r\"(1)); }\n" +
			"int main() { k<<<1, 1>>>(nullptr); }\n",
		"program.cu:1: inline PTX: the emulator does not know the instruction vote.sync.any.pred", 2, nil,
	},
	"huge on the device": {
		with(
			"char *p; cudaMalloc(&p, 100ull << 30);",
		), "an allocation fails: 107374182400 bytes were asked for", 1, nil,
	},
	"prints much": {
		with(
			"for (int i = 0; i < 2000000; i++) puts(\"0123456789 0123456789 0123456789 0123456789 012345\");",
		),
		"The program printed more than 1 MiB", 0, nil,
	},
	"too many threads": {
		with("twice<<<1, 2048>>>(x, 0);"),
		"2048 threads in a block, and a card takes 1024",
		1,
		nil,
	},
	"too much shared": {
		with("twice<<<1, 32, 1 << 20>>>(x, 0);"),
		"1048576 bytes of shared memory, of them 1048576 dynamic", 1, nil,
	},
	"crashes on the host": {
		with("volatile int *p = nullptr; *p = 1;"),
		"the program crashes in host code",
		1,
		nil,
	},
	"wrong limit": {with(""), `--limit "run=soon"`, 2, []string{"--limit", "run=soon"}},
}

// TestPipesAreNotRead: a pipe is no kernel and no program, named alone or in a folder: it is not read, since
// that would never end.
func TestPipesAreNotRead(t *testing.T) {
	folder := t.TempDir()
	pipe := filepath.Join(folder, "pipe.cu")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, asked := range [][]string{
		{"check", pipe}, {"check", folder}, {"compare", judgedOperator, "--add", pipe},
	} {
		text, code := runTriad(t, asked...)
		if code != 2 || !strings.Contains(text, "it is no regular file") {
			t.Errorf("%v: exit code %d: %s", asked, code, text)
		}
	}
}

// startedBy is a variable that every process of a check inherits in these tests.
const startedBy = "TRIAD_TEST_STARTED_BY"

// stillRunning lists the processes that inherited startedBy with a value.
func stillRunning(t *testing.T, value string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil || len(files) == 0 {
		t.Fatalf("no process can be seen: %v", err)
	}
	var left []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(text), startedBy+"="+value+"\x00") {
			left = append(left, filepath.Dir(file))
		}
	}
	return left
}

// TestCheckBadInput: for any file, check ends with one clear sentence and its exit code, and leaves nothing
// running.
func TestCheckBadInput(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(badInputs)) {
		c := badInputs[name]
		t.Run(name, func(t *testing.T) {
			need.Covers(t, fmt.Sprint("exit ", c.code), slices.Concat(need.Emulator, need.Programs)...)
			file := checkFile(t, c.text)
			t.Setenv(startedBy, file)
			text, code := runTriad(t, append([]string{"check", file}, c.flags...)...)
			if code != c.code || !strings.Contains(text, c.says) {
				t.Errorf("exit %d, want %d and %q in\n%.3000s", code, c.code, c.says, text)
			}
			if len(text) > 2<<20 {
				t.Errorf("%d bytes were printed", len(text))
			}
			if left := stillRunning(t, file); len(left) > 0 {
				t.Errorf("still running: %v", left)
			}
		})
	}
	for line, says := range map[string]string{
		"check": "want one CUDA file", "check a.cu b.cu": "want one CUDA file",
		"check nowhere.cu": "there is no file nowhere.cu", "check .": "there is no .cu file in this folder",
	} {
		text, code := runTriad(t, strings.Fields(line)...)
		if code != 2 || !strings.Contains(text, says) {
			t.Errorf("triad %s: exit %d, want 2 and %q in\n%s", line, code, says, text)
		}
	}
}

// launching is a program whose kernel is in a header and has a race between its lines 4 and 5.
const (
	launching = `#include "kernels.cuh"
#include <cstdio>
int main(int argc, char **argv) {
	int n = 0;
	if (argc != 2 || scanf("%d", &n) != 1) return 5;
	printf("%s %d\n", argv[1], n);
	run(n);
}
`
	header = `#pragma once
__global__ void fill(int *x) {
	__shared__ int s[COUNT];
	s[threadIdx.x] = threadIdx.x;
	x[threadIdx.x] = s[threadIdx.x ^ 1];
}
inline void run(int n) {
	int *x;
	cudaMalloc(&x, n * sizeof(int));
	fill<<<1, n>>>(x);
	cudaFree(x);
}
`
)

// TestCheckFlags: --include and --define reach the compiler, a launch in a header is rewritten, arguments and
// standard input reach every run, and --json and --sarif hold the findings.
func TestCheckFlags(t *testing.T) {
	file := checkFile(t, launching)
	headers := filepath.Join(filepath.Dir(file), "headers")
	if err := os.Mkdir(headers, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(headers, "kernels.cuh"), []byte(header), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := exec.LookPath("triad")
	if err != nil {
		t.Fatal(err)
	}
	sarif := filepath.Join(t.TempDir(), "it.sarif")
	cmd := exec.Command(
		self,
		"check",
		file,
		"--include",
		headers,
		"--define",
		"COUNT=32",
		"--json",
		"--sarif",
		sarif,
		"--",
		"word",
	)
	var out, messages bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("32\n"), &out, &messages
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v, want exit 1\n%s\n%s", err, out.Bytes(), messages.Bytes())
	}
	if !strings.Contains(messages.String(), "word 32\n") {
		t.Errorf("the program's output is not on standard error: %q", messages.String())
	}
	var r check.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v in %s", err, out.Bytes())
	}
	if len(r.Findings) != 1 || r.Findings[0].Kind != check.Race ||
		r.Findings[0].Place.Line+r.Findings[0].Other.Line != 9 ||
		filepath.Base(r.Findings[0].Place.File) != "kernels.cuh" ||
		r.Findings[0].Thread == nil {
		t.Errorf("found %s, want a race of lines 4 and 5", out.Bytes())
	}
	text, err := os.ReadFile(sarif)
	if err != nil || !bytes.Contains(text, []byte(`"ruleId": "race"`)) {
		t.Errorf("%v, no race in %s", err, text)
	}
}

// TestCheckWatch: check --watch checks again on a save, and ends on Ctrl-C with the exit code of the last
// check.
func TestCheckWatch(t *testing.T) {
	file := checkFile(t, with("cudaMalloc(&x, 64);"))
	self, err := exec.LookPath("triad")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "check", "--watch", file)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	lines := bufio.NewScanner(out)
	until := func() string {
		var text strings.Builder
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "Waiting for the next save") {
			text.WriteString(lines.Text() + "\n")
		}
		return text.String()
	}
	if text := until(); !strings.Contains(text, "memory is never given back") {
		t.Errorf("the first check printed\n%s", text)
	}
	if err := os.WriteFile(file, []byte(with("")), 0o600); err != nil {
		t.Fatal(err)
	}
	if text := until(); !strings.Contains(text, "Nothing was found") {
		t.Errorf("the check of the fixed program printed\n%s", text)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v, want exit 0", err)
	}
	text, code := runTriad(t, "check", "--watch", "--json", file)
	if code != 2 || !strings.Contains(text, "--watch draws for people") {
		t.Errorf("exit %d, %s", code, text)
	}
}
