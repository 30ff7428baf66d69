package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"triad"
	"triad/internal/catalog"
	"triad/internal/need"
)

// product is a solve() without a main(); its kernel reads a as if it had K rows.
const product = `#include <cuda_runtime.h>
__global__ void product(const float *a, const float *b, float *c, int M, int N, int K) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= M * N) return;
	float sum = 0;
	for (int k = 0; k < K; k++) sum += a[INDEX] * b[k * N + i % N];
	c[i] = sum;
}
extern "C" void solve(const float *a, const float *b, float *c, int M, int N, int K) {
	product<<<(M * N + 127) / 128, 128>>>(a, b, c, M, N, K);
	cudaDeviceSynchronize();
}
`

// undeclared is a template that launches, by another name, and adds to an output that its caller zeroes.
const undeclared = `#include <cuda_runtime.h>
template <class T> __global__ void sum(const T *x, T *total, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) atomicAdd(total, x[i]);
}
template <class T> void sum_all(const T *x, T *total, int n, cudaStream_t stream) {
	sum<<<(n + 127) / 128, 128, 0, stream>>>(x, total, n);
}
void both(const float *x, float *total, int n) { sum_all<float>(x, total, n, 0); }
`

var solves = map[string]struct {
	index, flags, says string
	code               int
}{
	"right":          {"i / N * K + k", "--size a=M*K --size b=K*N --size c=M*N", "Nothing was found", 0},
	"sizes assumed":  {"k * M + i / N + 0 * K", "", "c was given M * N * K elements", 0},
	"wrong index":    {"i / N * M * K + k", "--size a=M*K --size b=K*N --size c=M*N", "at line 9", 1},
	"one call":       {"i / N * K + k", "--size M=2 --size N=3 --size K=4", "Nothing was found", 0},
	"no such size":   {"0", "--size Q=3", "solve has no parameter Q: it is void solve(", 2},
	"no number":      {"0", "--size M=many", `--size "M=many": want an integer`, 2},
	"no formula":     {"0", "--size a=1;exit(1)", `--size "a=1;exit(1)": want how many elements a has`, 2},
	"no int in it":   {"0", "--size a=M*b", `--size "a=M*b": b is no int of`, 2},
	"its own output": {"i / N * K + k + (c[i] == 1234)", "", "read of memory that nobody has written", 1},
}

// TestCheckSolve: a file with an extern "C" solve and no main() is called with given or swept sizes.
func TestCheckSolve(t *testing.T) {
	for name, c := range solves {
		t.Run(name, func(t *testing.T) {
			file := checkFile(t, strings.Replace(product, "INDEX", c.index, 1))
			says := strings.Replace(c.says, "at line 9", "allocated at "+file+":9\n", 1)
			text, code := runTriad(t, append([]string{"check", file}, strings.Fields(c.flags)...)...)
			if code != c.code || !strings.Contains(text, says) {
				t.Errorf("exit %d, want %d and %q in\n%.3000s", code, c.code, says, text)
			}
		})
	}
	file := checkFile(t, with(""))
	text, code := runTriad(t, "check", file, "--size", "N=3")
	if code != 2 || !strings.Contains(text, "sizes are for a file with a function that launches") {
		t.Errorf("--size for a program: exit %d, %s", code, text)
	}
	kept := "compare does"
	text, code = runTriad(t, "check", checkFile(t, undeclared))
	if code != 0 || !strings.Contains(text, "total is added to before") || !strings.Contains(text, kept) {
		t.Errorf("a function that adds to its output: exit %d, %s", code, text)
	}
	past := strings.Replace(undeclared, "if (i < n) ", "", 1)
	text, code = runTriad(t, "check", checkFile(t, past))
	if code != 1 || !strings.Contains(text, "in the call sum_all(n=1)") {
		t.Errorf("a function that is not extern \"C\": exit %d, %s", code, text)
	}
	file = checkFile(t, "__global__ void k() {}\nextern \"C\" void solve(float **x) { k<<<1, 1>>>(); }\n")
	text, code = runTriad(t, "check", file)
	if code != 2 || !strings.Contains(text, "program.cu:2: solve takes float * *x") {
		t.Errorf("a pointer to pointers: exit %d, %s", code, text)
	}
}

// hostArrays is a function without a main() that copies its arguments to the device and back.
const hostArrays = `#include <cuda_runtime.h>
__global__ void twice(const float *x, float *y, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) y[i] = 2 * x[i];
}
extern "C" void apply(const float *x, float *y, int n) {
	float *device_x, *device_y;
	cudaMalloc(&device_x, n * sizeof(float));
	cudaMalloc(&device_y, n * sizeof(float));
	cudaMemcpy(device_x, x, n * sizeof(float), cudaMemcpyHostToDevice);
	twice<<<(n + 127) / 128, 128>>>(device_x, device_y, n);
	cudaMemcpy(y, device_y, n * sizeof(float), cudaMemcpyDeviceToHost);
	cudaFree(device_x);
	cudaFree(device_y);
}
`

// TestCheckSolveOfHostArrays: such a function gets host memory, and its own mistakes are found.
func TestCheckSolveOfHostArrays(t *testing.T) {
	text, code := runTriad(t, "check", checkFile(t, hostArrays))
	if code != 0 || !strings.Contains(text, "Nothing was found") {
		t.Errorf("exit %d\n%.3000s", code, text)
	}
	leaks := strings.Replace(hostArrays, "\tcudaFree(device_y);\n", "", 1)
	text, code = runTriad(t, "check", checkFile(t, leaks))
	if code != 1 || !strings.Contains(text, "program.cu:9: here") {
		t.Errorf("a leak: exit %d\n%.3000s", code, text)
	}
}

// TestCheckExplainsCalls: --explain shows the largest call of a solve(), and each implementation of an
// operator separately.
func TestCheckExplainsCalls(t *testing.T) {
	file := checkFile(t, strings.Replace(product, "INDEX", "i / N * K + k", 1))
	sizes := strings.Fields("--size a=M*K --size b=K*N --size c=M*N")
	text, code := runTriad(t, append([]string{"check", "--explain", file}, sizes...)...)
	want := "Kernel product in solve(M=37, N=38, K=39): 1 launches, 11 blocks in all, 128 threads and 0 bytes"
	if code != 0 || !strings.Contains(text, want) || strings.Count(text, "Kernel product") != 1 ||
		!strings.Contains(text, "program.cu:6 ") {
		t.Errorf("solve: exit %d, no %q in\n%s", code, want, text)
	}
	text, code = runTriad(t, "check", "--explain", "--verbose", "reverse")
	for _, want := range []string{"_kernel<T> in cuda/naive forward fp32, x ", "read device", "run  "} {
		if code != 0 || !strings.Contains(text, want) {
			t.Errorf("reverse: exit %d, no %q in\n%s", code, want, text)
		}
	}
}

// folderOf2 holds the files of a program whose kernel is not in the file of main() and has a race between its
// lines 4 and 6.
var folderOf2 = map[string]string{
	"kernel.cuh": "#pragma once\nvoid run(int *x);\n",
	"kernel.cu": `#include "kernel.cuh"
__global__ void fill(int *x) {
	__shared__ int s[32];
	s[threadIdx.x] = threadIdx.x;
	BARRIER
	x[threadIdx.x] = s[threadIdx.x ^ 1];
}
#include "part.cu"
void run(int *x) { fill<<<1, SIZE>>>(x); }
`,
	"part.cu": "const int SIZE = 32;\nint defined_once = SIZE;\n",
	"main.cu": `#include "kernel.cuh"
int main() {
	int *x;
	cudaMalloc(&x, 128);
	run(x);
	cudaFree(x);
}
`,
}

// TestCheckFolder: all files of a folder are one program, except those that another includes.
func TestCheckFolder(t *testing.T) {
	folder := t.TempDir()
	for name, text := range folderOf2 {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, code := runTriad(t, "check", folder, "-D", "BARRIER=")
	if code != 1 || !strings.Contains(text, "kernel.cu:4: ") || !strings.Contains(text, "kernel.cu:6: ") ||
		!strings.Contains(text, "1 finding") {
		t.Errorf("exit %d, want a race of lines 4 and 6 in\n%s", code, text)
	}
	if text, code := runTriad(t, "check", folder, "-D", "BARRIER=__syncwarp();"); code != 0 {
		t.Errorf("fixed: exit %d, %s", code, text)
	}
	if err := os.WriteFile(filepath.Join(folder, "other.cu"), []byte("int main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, code = runTriad(t, "check", folder)
	if code != 2 || !strings.Contains(text, "main.cu and other.cu both have a main()") {
		t.Errorf("two programs: exit %d, %s", code, text)
	}
	text, code = runTriad(t, "check", t.TempDir())
	if code != 2 || !strings.Contains(text, "there is no .cu file in this folder") {
		t.Errorf("an empty folder: exit %d, %s", code, text)
	}
}

// TestCheckKernels: nothing is found in the CUDA kernels of the project, with every access watched in every
// order, and all their results are right.
func TestCheckKernels(t *testing.T) {
	sources := map[string]string{}
	for _, name := range catalog.Names() {
		source, err := fs.ReadFile(triad.Files, "cuda/kernels/"+name+".cu")
		if err != nil {
			t.Fatal(err)
		}
		sources[name] = string(source)
	}
	// the fast tier runs the first ones, so short ones come first
	byLength := slices.SortedFunc(maps.Keys(sources), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(sources[a]), len(sources[b])), strings.Compare(a, b))
	})
	for _, name := range byLength {
		t.Run(name, func(t *testing.T) {
			key := "kernels without barriers"
			if strings.Contains(sources[name], "__syncthreads") {
				key = "kernels with barriers"
			}
			need.Covers(t, key, slices.Concat(need.Emulator, need.Programs, need.Operator(name))...)
			text, code := runTriad(t, "check", name)
			var calls int
			_, err := fmt.Sscanf(text, "%d calls", &calls)
			if code != 0 || err != nil || calls < 4 || strings.Contains(text, " is FAIL") {
				t.Errorf("exit %d, %d calls were watched\n%.6000s", code, calls, text)
			}
		})
	}
}
