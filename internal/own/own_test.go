package own

import (
	"testing"

	"triad/internal/catalog"
	"triad/internal/op"
)

const softmaxFile = `#include <cuda_runtime.h>
#define BLOCK 256
// a comment { with a brace
__device__ float warpMax(float v) { for (int i = 16; i > 0; i /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, i)); return v; }
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

func spec(t testing.TB, name string) *op.Spec {
	t.Helper()
	o, err := catalog.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return o.Spec
}

func TestSolveIsFoundAndMatched(t *testing.T) {
	f := ReadCUDA(softmaxFile)
	if len(f.Functions) != 2 || !f.Main {
		t.Fatalf("%+v", f.Functions)
	}
	all, err := Bind(f, Request{}, spec(t, "softmax"), []op.Pass{op.Forward, op.Backward}, Options{})
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if got, want := all[0].Matched(), "input is x, output is y, M is rows, N is cols"; got != want {
		t.Errorf("matched %q, want %q", got, want)
	}
	if got, want := all[0].Function.Text, "void solve(const float *input, float *output, int M, int N)"; got != want {
		t.Errorf("signature %q, want %q", got, want)
	}
	t.Log(CUDA("x.cu", "mine/softmax", all))
}
