package kernelfile

import (
	"reflect"
	"strings"
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
	if len(f.Functions) != 2 || !f.Main || !f.Shares || !f.Waits {
		t.Fatalf("%+v", f)
	}
	all, err := Bind(f, Request{}, spec(t, "softmax"), []op.Pass{op.Forward, op.Backward}, Options{})
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if got, want := all[0].Function.Text,
		"void solve(const float *input, float *output, int M, int N)"; got != want {
		t.Errorf("signature %q, want %q", got, want)
	}
	code := CUDAShim("../x.cu", "mine/softmax", all)
	for _, want := range []string{"#include \"../x.cu\"", "#define main ",
		`"softmax", "mine/softmax", "forward"`, "::solve(static_cast<const float *>"} {
		if !strings.Contains(code, want) {
			t.Errorf("the code that calls it lacks %s:\n%s", want, code)
		}
	}
}

// The names that people give the parameters of an operator, and what they mean.
func TestParametersAreMatchedByName(t *testing.T) {
	for _, c := range []struct{ op, signature, want string }{
		{"softmax", "const float* A, float* C, int m, int n", "A is x, C is y, m is rows, n is cols"},
		{"softmax", "float* out, const float* inp, int N, int C", "out is y, inp is x, N is rows, C is cols"},
		{"softmax", "const float* d_input, float* d_output, int numRows, int numCols",
			"d_input is x, d_output is y, numRows is rows, numCols is cols"},
		{"softmax", "const float* foo, float* bar, int B, int D, cudaStream_t stream",
			"foo is x, bar is y, B is rows, D is cols, stream is the stream"},
		{"softmax", "float* foo, float* bar, size_t n_rows, size_t n_cols",
			"foo is x, bar is y, n_rows is rows, n_cols is cols"},
		{"layernorm", "const float* x, const float* gamma, const float* beta, float* y, float* mu, float* " +
			"inv_std, int N, int D, float eps",
			"x is x, gamma is weight, beta is bias, y is y, mu is mean, inv_std is rstd, N is rows, D is " +
				"cols, eps is eps"},
		{"swiglu", "const float* x1, const float* x2, float* out, int size",
			"x1 is gate, x2 is up, out is y, size is rows * cols"},
		{"fp8_gemm", "const __nv_fp8_e4m3* A, const __nv_fp8_e4m3* B, float* C, const float* sa, const " +
			"float* sb, int N",
			"A is a, B is b, C is c, sa is scale_a, sb is scale_b, N is m = n = k"},
		{"fp8_gemm", "const __nv_fp8_e4m3* d_A, const __nv_fp8_e4m3* d_B, float* d_C, float* d_scaleA, " +
			"float* d_scaleB, int numARows, int numAColumns, int numBRows",
			"d_A is a, d_B is b, d_C is c, d_scaleA is scale_a, d_scaleB is scale_b, numARows is m, " +
				"numAColumns is k, numBRows is n"},
		{"layernorm", "float* out, const float* inp, const float* weight, const float* bias, int B, int " +
			"T, int C, const int block_size",
			"out is y, inp is x, weight is weight, bias is bias, B is rows, T is 1, as a factor of rows, " +
				"C is cols, block_size is 256 threads of a block"},
		{"flash_attention", "const float* Q, const float* K, const float* V, float* O, int B, int nh, int " +
			"N, int d",
			"Q is q, K is k, V is v, O is o, B is batch, nh is heads_q = heads_kv, N is seq_q = seq_kv, d " +
				"is head_dim"},
	} {
		all, err := Bind(ReadCUDA(`extern "C" void solve(`+c.signature+`) {}`), Request{}, spec(t, c.op),
			[]op.Pass{op.Forward}, Options{})
		if err != nil {
			t.Errorf("%s(%s): %v", c.op, c.signature, err)
		} else if got := all[0].Matched(); got != c.want {
			t.Errorf("%s(%s):\n got %s\nwant %s", c.op, c.signature, got, c.want)
		}
		// A command that repeats one case names every size, which changes nothing.
		sizes := map[string]int64{}
		for _, d := range spec(t, c.op).Dims {
			sizes[d.Name] = 1
		}
		all, err = Bind(ReadCUDA(`extern "C" void solve(`+c.signature+`) {}`), Request{}, spec(t, c.op),
			[]op.Pass{op.Forward}, Options{Dims: sizes})
		if err != nil {
			t.Errorf("%s(%s) with every size fixed: %v", c.op, c.signature, err)
		} else if got := all[0].Matched(); got != c.want {
			t.Errorf("%s(%s) with every size fixed:\n got %s\nwant %s", c.op, c.signature, got, c.want)
		}
	}
}

// A size that --dims fixes is not what a parameter of an odd name stands for, while another one is open.
func TestFixedSizesNeedNoParameter(t *testing.T) {
	for _, dims := range []map[string]int64{{"rows": 1}, {"rows": 1, "cols": 9}} {
		all, err := Bind(ReadCUDA(`extern "C" void solve(const float* from, float* to, int p) {}`), Request{},
			spec(t, "softmax"), []op.Pass{op.Forward}, Options{Dims: dims})
		if err != nil {
			t.Errorf("%v: %v", dims, err)
		} else if got, want := all[0].Matched(), "from is x, to is y, p is cols"; got != want {
			t.Errorf("%v: matched %q, want %q", dims, got, want)
		}
	}
}

// What a function has no parameter for is said by its name where it can be, else by the default, and the
// shapes are ones that it can take.
func TestWhatHasNoParameterIsPinned(t *testing.T) {
	const params = "(const float* q, const float* k, const float* v, float* o, int B, int H, int T, int D)"
	for text, causal := range map[string]string{
		`void causal_attention` + params +
			` { k<<<1, 1>>>(q); }`: "true",
		`void noncausal_attention` + params +
			` { k<<<1, 1>>>(q); }`: "false",
		`__global__ void attnCausal(float* x) {} void solve` + params +
			` { attnCausal<<<1, 1>>>((float *)q); }`: "true",
		`void solve` + params + ` { k<<<1, 1>>>(q); }`: "false",
	} {
		all, err := Bind(ReadCUDA(text), Request{}, spec(t, "flash_attention"), []op.Pass{op.Forward},
			Options{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := all[0].Pins()["causal"]; got != causal {
			t.Errorf("%s: causal = %s, want %s", text, got, causal)
		} else if got, want := all[0].Equal(), [][]string{{"heads_q", "heads_kv"},
			{"seq_q", "seq_kv"}}; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: equal %v, want %v", text, got, want)
		}
	}
}

func TestABackwardIsFoundByItsName(t *testing.T) {
	text := `extern "C" void softmax_forward(const float* x, float* y, int rows, int cols) {}
extern "C" void softmax_backward(const float* y, const float* dy, float* dx, int rows, int cols) {}`
	all, err := Bind(ReadCUDA(text), Request{}, spec(t, "softmax"), []op.Pass{op.Forward, op.Backward},
		Options{})
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	if got, want := all[1].Matched(),
		"y is y, dy is grad_y, dx is grad_x, rows is rows, cols is cols"; got != want {
		t.Errorf("matched %q, want %q", got, want)
	}
}

// What a request names.
func TestParseRequest(t *testing.T) {
	for text, want := range map[string]Request{
		"a/b.cu": {Path: "a/b.cu"},
		"b.cu:k<float, 256>@backward": {Path: "b.cu", Function: "k", Arguments: []string{"float", "256"},
			Pass: op.Backward},
		"m@x/b.py:solve": {Path: "m@x/b.py", Function: "solve"},
	} {
		if got, err := ParseRequest(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"b.cu@sideways", "b.cpp", ""} {
		if got, err := ParseRequest(text); err == nil {
			t.Errorf("%s was read as %+v", text, got)
		}
	}
}

// The block and the grid that a kernel's own lines ask for.
func TestLaunchesAreProposed(t *testing.T) {
	for _, c := range []struct{ op, params, body, want string }{
		{"softmax", "const float* x, float* y, int rows, int cols", "int r = blockIdx.x; y[r] = threadIdx.x;",
			"grid (rows) and block (256)"},
		{"softmax", "const float* x, float* y, int cols",
			"__shared__ float s[128]; int r = blockIdx.x, t = threadIdx.x;", "grid (rows) and block (128)"},
		{"softmax", "const float* x, float* y, int M, int N", "int c = blockIdx.x * blockDim.x + " +
			"threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y; if (r < M && c < N) y[r * N + c] = 0;",
			"grid (ceildiv(cols, 16), ceildiv(rows, 16)) and block (16, 16)"},
		{"softmax", "const float* x, float* y, int M, int N", "extern __shared__ float s[]; int r = " +
			"blockIdx.x; s[threadIdx.x] = 0;", "4 * 256 bytes of dynamic shared memory"},
		{"fp8_gemm", "const __nv_fp8_e4m3* A, const __nv_fp8_e4m3* B, float* C, const float* sa, const " +
			"float* sb, int numARows, int numACols, int numBRows",
			"int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y; int Row = by * 16 " +
				"+ ty, Col = bx * 16 + tx; if (Row < numARows && Col < numBRows) C[0] = 1;",
			"grid (ceildiv(n, 16), ceildiv(m, 16)) and block (16, 16)"},
		{"swiglu", "const float* a, const float* b, float* c, int n", "for (int i = blockIdx.x * " +
			"blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) c[i] = a[i];",
			"grid (ceildiv((rows * cols), 256)) and block (256)"},
	} {
		all, err := Bind(ReadCUDA("__global__ void k("+c.params+") { "+c.body+" }"), Request{}, spec(t, c.op),
			[]op.Pass{op.Forward}, Options{})
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
		} else if got := all[0].Launch.String(); !strings.Contains(got, c.want) {
			t.Errorf("%s:\n got %s\nwant %s", c.body, got, c.want)
		}
	}
}

func TestPythonFunctionsAreRead(t *testing.T) {
	f := ReadPython(`import torch
@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    pass

def _hidden(x): pass

def solve(x: torch.Tensor,  # a comment, with a comma
          weight, bias=None, *, eps: float = 1e-5, text="a,b)"):
    def inner(y): pass
`)
	if len(f.Functions) != 1 || f.Functions[0].Name != "solve" || len(f.Functions[0].Params) != 5 ||
		f.Functions[0].Line != 8 {
		t.Fatalf("%+v", f.Functions)
	}
	all, err := Bind(f, Request{Path: "a.py"}, spec(t, "layernorm"), []op.Pass{op.Forward}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := all[0].Matched(), "x is x, weight is weight, bias is bias, eps is eps"; got != want {
		t.Errorf("matched %q, want %q", got, want)
	}
}

// Any text is read without a panic and without an endless loop.
func FuzzReadCUDA(f *testing.F) {
	f.Add(softmaxFile)
	f.Add("template<typename T, int N = 3> __global__ void __launch_bounds__(N) k(T* x, const T (&y)[4], " +
		"...) {")
	f.Add("extern \"C\" { void f(float*") // cut short
	s := spec(f, "softmax")
	f.Fuzz(func(t *testing.T, text string) {
		if all, err := Bind(ReadCUDA(text), Request{}, s, []op.Pass{op.Forward, op.Backward},
			Options{}); err == nil {
			CUDAShim("x.cu", "mine/x", all)
		}
		if all, err := Bind(ReadPython(text), Request{Path: "x.py"}, s, []op.Pass{op.Forward, op.Backward},
			Options{}); err == nil {
			PythonShim("x.py", "mine/x", all)
		}
	})
}
