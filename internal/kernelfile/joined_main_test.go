package kernelfile

import (
	"strings"
	"testing"
)

// twoKernels holds two kernels, the second of which takes the first one's output.
const twoKernels = `__global__ void twice(const float *x, float *t, int n) { t[n] = 2 * x[n]; }
__global__ void more(const float *t, float *y, int n) { y[n] = t[n] + 1; }
`

const mainOfTwo = `int main() {
	int n = 64, threads = 32;
	float *h = (float *)malloc(n * sizeof(float)), *d_x, *d_t, *d_y;
	CHECK(cudaMalloc(&d_x, n * sizeof(float)));
	CHECK(cudaMalloc((void **)&d_t, n * sizeof(float)));
	CHECK(cudaMalloc(&d_y, n * sizeof(float)));
	CHECK(cudaMemcpy(d_x, h, n * sizeof(float), cudaMemcpyHostToDevice));
	twice<<<(n + threads - 1) / threads, threads>>>(d_x, d_t, n);
	BETWEEN
	more<<<(n + threads - 1) / threads, threads>>>(d_t, d_y, n);
	CHECK(cudaMemcpy(h, d_y, n * sizeof(float), cudaMemcpyDeviceToHost));
	show(h[0]);
}
`

// The launches of a main() become a function of the device's pointers and of the sizes.
func TestJoinMain(t *testing.T) {
	text := twoKernels + strings.ReplaceAll(mainOfTwo, "BETWEEN", "cudaDeviceSynchronize();")
	function, ok := JoinMain(text, text, ReadCUDA(text), false)
	if !ok {
		t.Fatal("its kernels work together, and are not joined")
	}
	for _, want := range []string{
		"void joined_launches(const float *d_x, float *d_y, int n)", "float *d_t = nullptr;",
		"int threads = 32;", "cudaMalloc((void **)&d_t", "twice<<<", "more<<<", "cudaFree(d_t);",
	} {
		if !strings.Contains(function, want) {
			t.Errorf("%q is not in:\n%s", want, function)
		}
	}
	for _, no := range []string{"malloc(n", "show", "cudaMemcpy", "CHECK", "int n ="} {
		if strings.Contains(function, no) {
			t.Errorf("%q is in:\n%s", no, function)
		}
	}
}

// Kernels are not joined if the host computes between them, or if neither takes the other's output.
func TestNoJoinedMain(t *testing.T) {
	host := twoKernels + strings.ReplaceAll(mainOfTwo, "BETWEEN",
		"cudaMemcpy(h, d_t, n * sizeof(float), cudaMemcpyDeviceToHost); h[0] = 1;\n"+
			"\tcudaMemcpy(d_t, h, n * sizeof(float), cudaMemcpyHostToDevice);")
	plain := twoKernels + strings.ReplaceAll(mainOfTwo, "BETWEEN", ";")
	apart := strings.ReplaceAll(plain, "(d_t, d_y", "(d_x, d_y")
	lists := strings.ReplaceAll(plain, "threads = 32", "threads = atoi(argv[1])")
	for name, text := range map[string]string{
		"the host computes": host, "apart": apart, "of the host": lists,
	} {
		if function, ok := JoinMain(text, text, ReadCUDA(text), false); ok {
			t.Errorf("%s: joined as\n%s", name, function)
		}
	}
}

// A function that is declared, called and not defined is in another file.
func TestUndefined(t *testing.T) {
	file := ReadCUDA(`void helper(float *x, int n);
__global__ void kernel(float *x);
void unused(int n);
template <typename T> void made(T *x);
int a = wrong(3);
void own(float *x) { kernel<<<1, 1>>>(x); helper(x, 1); made<float>(x); }
void made_here(float *x);
void made_here(float *x) { own(x); }
void call(float *x) { made_here(x); }
`)
	if got := strings.Join(file.Undefined(), " "); got != "helper kernel made" {
		t.Errorf("undefined: %s", got)
	}
}

// A kernel that is the only one is joined with what main() makes from the sizes.
func TestJoinOneKernel(t *testing.T) {
	text := `__global__ void tiles(const float *x, float *y, int n, int Tr) { y[n] = x[Tr]; }
int main() {
	int n = 64;
	const int Br = 8;
	const int Tr = (n + Br - 1) / Br;
	float *x, *y, h[64];
	cudaMalloc(&x, sizeof h);
	cudaMalloc(&y, sizeof h);
	cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
	tiles<<<Tr, Br>>>(x, y, n, Tr);
	cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
}
`
	function, ok := JoinMain(text, text, ReadCUDA(text), true)
	if !ok || !strings.Contains(function, "joined_launches(const float *x, float *y, int n)") ||
		!strings.Contains(function, "const int Tr = (n + Br - 1) / Br;") {
		t.Errorf("joined: %t\n%s", ok, function)
	}
	if function, ok := JoinMain(text, text, ReadCUDA(text), false); ok {
		t.Errorf("one kernel works together with no other:\n%s", function)
	}
}
