package kernelfile

import (
	"strings"
	"testing"

	"triad/internal/op"
)

// bindLines binds the one function of a CUDA text.
func bindLines(t *testing.T, operator, text string) (*Binding, error) {
	t.Helper()
	all, err := Bind(ReadCUDA(text), Request{}, spec(t, operator), []op.Pass{op.Forward}, Options{})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// What the lines of a file say of numbers, of the launch and of the memory is read; what they do not say stays open.
func TestReadFromLines(t *testing.T) {
	for name, c := range map[string]struct{ operator, text, says, not string }{
		"an eps of a constant that is used": {
			"layernorm", `constexpr float kEpsilon = 1e-6f;
			void f(const float* x, float* y, int rows, int cols) { k<<<rows, 32>>>(x, y, cols, kEpsilon); }`,
			"eps = 1e-06, as its lines say", "",
		},
		"an eps that nothing uses": {
			"layernorm", `constexpr float kEpsilon = 1e-6f;
			void f(const float* x, float* y, int rows, int cols) { k<<<rows, 32>>>(x, y, cols); }`,
			"", "as its lines say",
		},
		"two numbers for one name": {
			"layernorm", `void f(const float* x, float* y, int rows, int cols) {
			float eps = 1e-6f; k<<<rows, 32>>>(x, y, cols, eps); float epsilon = 1e-3f; }`,
			"", "as its lines say",
		},
		"arrays of the host": {
			"add", `void f(const float* h_a, const float* h_b, float* h_c, int n) { float *a, *b, *c;
			cudaMemcpy(a, h_a, n * 4, cudaMemcpyHostToDevice); cudaMemcpy(b, h_b, n * 4, cudaMemcpyHostToDevice);
			k<<<n, 32>>>(a, b, c, n); cudaMemcpy(h_c, c, n * 4, cudaMemcpyDeviceToHost); }`,
			"takes arrays of the host", "",
		},
		"arrays of the device, of which one number is copied": {
			"add", `void f(const float* a, const float* b, float* c, int n) { float first;
			k<<<n, 32>>>(a, b, c, n); cudaMemcpy(&first, c, 4, cudaMemcpyDeviceToHost); }`,
			"", "takes arrays of the host",
		},
		"ints are whole numbers": {
			"dot", `void f(const int* a, const int* b, int* c, int n) { k<<<n, 32>>>(a, b, c, n); }`,
			"a, b, c are int: f is judged on whole numbers", "",
		},
		"a number that is returned": {
			"sum", `float total(const float* x, int n) { k<<<n, 32>>>(x, n); return 0; }`, "returns y as a number", "",
		},
		"a status that is returned": {
			"sum", `int total(const float* x, float* y, int n) { k<<<n, 32>>>(x, y, n); return 0; }`,
			"", "as a number",
		},
		"a value of each block of a total": {
			"sum", `__global__ void f(const float* x, float* out, int n) { int b = blockIdx.x;
			int i = b * blockDim.x + threadIdx.x; if (i < n) out[b] = x[i]; }`,
			"out gets a value of each block", "",
		},
	} {
		b, err := bindLines(t, c.operator, c.text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		said := b.Describe()
		if !strings.Contains(said, c.says) || c.not != "" && strings.Contains(said, c.not) {
			t.Errorf("%s: want %q and not %q:\n%s", name, c.says, c.not, said)
		}
	}
}

// A file that draws random numbers of its own cannot be compared with the operator's.
func TestRandomNumbersOfItsOwn(t *testing.T) {
	text := `__global__ void f(const float* x, float* y, float p, int seed, int n) {
		int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = keep(seed, i) > p ? x[i] / (1 - p) : 0; }`
	if _, err := bindLines(t, "dropout", text); err == nil || !strings.Contains(err.Error(), "its own choice") {
		t.Errorf("random numbers of its own: %v", err)
	}
	if _, err := bindLines(t, "dropout", "// Philox\n"+text); err != nil {
		t.Errorf("those of the formula: %v", err)
	}
}
