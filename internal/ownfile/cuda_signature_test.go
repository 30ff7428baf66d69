package ownfile

import (
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/shim"
)

const softmaxFile = `#include <cuda_runtime.h>
#define BLOCK 256
// a comment { with a brace
__device__ float warpMax(float v) {
    for (int i = 16; i > 0; i /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, i));
    return v;
}
__global__ void softmax_kernel(const float* __restrict__ input, float* output, int M, int N) {
    __shared__ float s[BLOCK];
    output[0] = input[0];
}
extern "C" void solve(const float* input, float* output, int M, int N) {
    softmax_kernel<<<M, BLOCK>>>(input, output, M, N);
    cudaDeviceSynchronize();
}
int main() { return 0; }
`

// Any text is read without a panic and without an endless loop.
func FuzzReadCUDA(f *testing.F) {
	f.Add(softmaxFile)
	f.Add("template<typename T, int N = 3> __global__ void __launch_bounds__(N) k(T* x, const T (&y)[4], " +
		"...) {")
	f.Add("extern \"C\" { void f(float*") // cut short
	s := spec(f, "softmax")
	f.Fuzz(func(t *testing.T, text string) {
		if all, err := Bind(cfacts.ReadCUDA(text), binding.Request{}, s, []op.Pass{op.Forward, op.Backward},
			binding.Options{}); err == nil {
			shim.CUDAShim("x.cu", "mine/x", all)
		}
		python := ReadPython(text, parsed)
		if all, err := Bind(python, binding.Request{Path: "x.py"}, s, []op.Pass{op.Forward, op.Backward},
			binding.Options{}); err == nil {
			shim.PythonShim("x.py", "mine/x", all)
		}
	})
}

func TestSolveIsFoundAndMatched(t *testing.T) {
	f := cfacts.ReadCUDA(softmaxFile)
	if len(f.Functions) != 2 || !f.Main || !f.Shares || !f.Waits {
		t.Fatalf("%+v", f)
	}
	all, err := Bind(f, binding.Request{}, spec(t, "softmax"), []op.Pass{op.Forward, op.Backward},
		binding.Options{})
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if got, want := all[0].Function.Text,
		"void solve(const float *input, float *output, int M, int N)"; got != want {
		t.Errorf("signature %q, want %q", got, want)
	}
	code := shim.CUDAShim("../x.cu", "mine/softmax", all)
	for _, want := range []string{
		"#include \"../x.cu\"", "#define main ",
		`"softmax", "mine/softmax", "forward"`, "::solve(triad_own::pointer<const float>(",
	} {
		if !strings.Contains(code, want) {
			t.Errorf("the code that calls it lacks %s:\n%s", want, code)
		}
	}
}
