package kernelfile

import (
	"slices"
	"strings"
	"testing"

	"triad/internal/op"
)

// printedLine is a function that cannot be matched, and the line that is printed for it: what is a guess is
// open, and what no word can say is left out.
type printedLine struct{ operator, path, text, want string }

// A line that is printed for a function marks every name that may mean something else.
func TestPrintedLines(t *testing.T) {
	for _, c := range []printedLine{
		{ // one of four sizes is left, and each letter may be another one
			"gemm", "a.cu", "extern \"C\" void mm(float* A, float* B, float* C, int row_A, int col_A, " +
				"int row_B, int col_B) {}",
			"line 1 of a.cu, mm, with what is meant for ?: // triad: gemm(a=A, b=B, y=C, ?=row_A, " +
				"?=col_A, ?=row_B, ?=col_B)",
		},
		{ // a size has no parameter, and the one that is there may be it
			"transpose", "a.cu", "extern \"C\" void flip(int m, const float* input, float* output) {}",
			"// triad: transpose(?=m, x=input, y=output, cols=?)",
		},
		{ // nothing can be the weight
			"conv1d", "a.cu", "__constant__ float K[5];\n__global__ void conv(const float* A, float* C, " +
				"int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) C[i] = A[i] * K[0]; }",
			"",
		},
		{ // several functions: the first is named
			"transpose", "a.cu", "__global__ void flip_a(int* input, int* output) {}\n" +
				"__global__ void flip_b(int* input, int* output) {}",
			"line 1 of a.cu, flip_a, with what is meant for ?: // triad: transpose(x=input, y=output, " +
				"rows=?, cols=?)",
		},
		{ // a function that launches what it is handed is not called: its kernel is
			"add", "a.py", "@triton.jit\ndef one(a_ptr, b_ptr, c_ptr, n, bs: tl.constexpr):\n" +
				"    i = tl.program_id(0) * bs + tl.arange(0, 64)\n" +
				"    tl.store(c_ptr + i, tl.load(a_ptr + i) + tl.load(b_ptr + i))\n\n" +
				"def add(a, b, kernel, size=16):\n    c = torch.empty_like(a)\n" +
				"    kernel[(1,)](a, b, c, a.numel(), bs=size)\n    return c\n",
			"",
		},
	} {
		r := Request{Path: c.path, Parse: parsed}
		_, err := Bind(r.Read(c.text, nil), r, spec(t, c.operator), []op.Pass{op.Forward}, Options{})
		printed := ""
		if err != nil {
			_, printed, _ = strings.Cut(err.Error(), "Write this line above ")
		}
		if !strings.HasSuffix(printed, c.want) || (printed == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q (%v)", c.text, printed, c.want, err)
		}
	}
}

// The only pointer that the lines write is the output, whatever its name.
func TestOnlyWrittenPointer(t *testing.T) {
	for _, c := range []struct{ operator, text, want string }{
		{
			"transpose", "__global__ void flip(int* A, int* X, int a, int b) { int i = blockIdx.x; " +
				"if (i < a * b) X[i % b * a + i / b] = A[i]; }", "A is x, X is y, ",
		},
		{
			"layernorm", "__global__ void norm(const float* A, float* B, int rows, int cols) " +
				"{ for (int i = 0; i < cols; i++) B[i] = A[i] * 1e-5f; }", "A is x, B is y, ",
		},
		{ // the host's copy of what the kernel writes
			"gemv", "__global__ void k(float* B, float* V, float* A, int n) { A[0] = B[0] * V[0]; }\n" +
				"void matrixVecMul(float* B_h, float* V_h, float* A_h, int n) { float *b, *v, *a; " +
				"cudaMemcpy(b, B_h, n, cudaMemcpyHostToDevice); cudaMemcpy(v, V_h, n, " +
				"cudaMemcpyHostToDevice); k<<<1, 1>>>(b, v, a, n); cudaMemcpy(A_h, a, n, " +
				"cudaMemcpyDeviceToHost); }", "A_h is y, ",
		},
	} {
		r := Request{Path: "a.cu"}
		bound, err := Bind(r.Read(c.text, nil), r, spec(t, c.operator), []op.Pass{op.Forward}, Options{})
		if err != nil || !strings.Contains(bound[0].Matched(), c.want) || bound[0].saysOther() != "" {
			t.Errorf("%s: %v, %v, want %s", c.text, bound, err, c.want)
		}
	}
}

// One parameter may be said to be two equal sizes in two words, and two tensors if it is written over.
func TestParameterSaidTwice(t *testing.T) {
	for _, c := range []struct{ operator, text, want string }{
		{
			"transpose", "// triad: transpose(x=input, y=output, rows=m, cols=m)\nextern \"C\" void " +
				"flip(int m, const float* input, float* output) {}", "m is rows = cols",
		},
		{
			"gemm", "// triad: gemm(a=A, b=B, c=C, y=C, m=M, n=N, k=K, alpha=1, beta=1, with_c=true, " +
				"layout_b=kn)\nextern \"C\" void mm(const float* A, const float* B, float* C, int M, " +
				"int N, int K) {}", "C is c and y",
		},
	} {
		r := Request{Path: "a.cu"}
		bound, err := Bind(r.Read(c.text, nil), r, spec(t, c.operator), []op.Pass{op.Forward}, Options{})
		if err != nil || !strings.Contains(bound[0].Matched(), c.want) {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
	}
}

// Names in a launch are the operator's sizes; a parameter of that name that is another one is refused, and
// triad writes the launch in names that have one meaning.
func TestNamesInALaunch(t *testing.T) {
	const text = "\n__global__ void mm(const float* a, const float* b, float* y, int m, int n, int k, " +
		"int l) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < m * l) y[i] = a[i / l * n] * " +
		"b[i % l]; }\n"
	const line = "// triad: gemm(a=a, b=b, y=y, m=m, k=n, 1=k, n=l, layout_b=kn, with_c=false, alpha=1, " +
		"beta=1, block=32, grid=\"ceildiv(m, 32), "
	for grid, want := range map[string]string{
		"l": "grid (ceildiv (m, 32), n)",
		"n": `--grid "n": n is a size of gemm, and a parameter that is k: write another name, or a number`,
	} {
		r, s := Request{Path: "a.cu"}, spec(t, "gemm")
		bound, err := Bind(r.Read(line+grid+"\")"+text, nil), r, s, []op.Pass{op.Forward}, Options{})
		switch {
		case err != nil && !strings.Contains(err.Error(), want), err == nil && grid == "n":
			t.Errorf("%s: %v, want %s", grid, err, want)
		case err == nil:
			if got := bound[0].Launch.String(); !strings.Contains(got, want) {
				t.Errorf("%s: %s, want %s", grid, got, want)
			}
			said, ok := bound[0].Declaration()
			if !ok || !strings.Contains(said.Text("//"), `grid="ceildiv (m, 32), l"`) {
				t.Errorf("it is said as %s", said.Text("//"))
			}
		}
	}
}

// A line belongs to the function below it: to a kernel that a function launches, and to no helper.
func TestLineOfTheNextFunction(t *testing.T) {
	const line = "# triad: add(x=x_ptr, y=y_ptr, z=z_ptr, rows*cols=n, 64=BLOCK)\n"
	const kernel = "@triton.jit\ndef k(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):\n" +
		"    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n" +
		"    tl.store(z_ptr + i, tl.load(x_ptr + i, mask=i < n) + tl.load(y_ptr + i), mask=i < n)\n\n"
	const function = "def add(x, y):\n    z = torch.empty_like(x)\n" +
		"    k[(1,)](x, y, z, x.numel(), BLOCK=64)\n    return z\n"
	for text, want := range map[string]string{
		kernel + function:        "add",
		line + kernel + function: "k",
		line + "def _part(x):\n    return x\n\n" + kernel + function: "the function below this line is " +
			"_part, which cannot be judged",
		strings.Replace(line, "add", "relu", 1) + kernel + function: "add",
		line + "@triton.autotune([triton.Config({'BLOCK': 64})], key=['n'])\n" + kernel + function: "BLOCK " +
			"is chosen by the decorators of k",
	} {
		r := Request{Path: "a.py", Parse: parsed}
		bound, err := Bind(r.Read(text, nil), r, spec(t, "add"), []op.Pass{op.Forward}, Options{})
		switch {
		case err != nil && !strings.Contains(err.Error(), want), err == nil && bound[0].Function.Name != want:
			t.Errorf("%s: %v, %v, want %s", text, bound, err, want)
		}
	}
}

// Kernels that one function with the operator's name launches are its parts, and no rows of their own; a
// function that is called a reference is not judged unless it is named.
func TestPartsAndReferences(t *testing.T) {
	const parts = "__global__ void top(float* x, float* o, int n) { o[0] = x[0]; }\n" +
		"__global__ void rest(float* x, float* o, int n) { o[0] = x[0]; }\n" +
		"void softMax(float* x, float* max, float* den, float* out, int w) { top<<<1, 1>>>(x, max, w); " +
		"rest<<<1, 1>>>(x, out, w); }\n"
	r := Request{Path: "a.cu"}
	_, err := Bind(r.Read(parts, nil), r, spec(t, "softmax"), []op.Pass{op.Forward}, Options{})
	if several, is := err.(*SeveralError); !is || !slices.Equal(several.Names, []string{"softMax"}) {
		t.Errorf("%v, want softMax alone", err)
	}
	const reference = "def reference(x, y):\n    return x + y\n"
	r = Request{Path: "a.py", Parse: parsed}
	_, err = Bind(r.Read(reference, nil), r, spec(t, "add"), []op.Pass{op.Forward}, Options{})
	if err == nil || !strings.Contains(err.Error(), "by its name it is a reference") {
		t.Errorf("%v, want a refusal", err)
	}
	r.Function = "reference"
	_, err = Bind(r.Read(reference, nil), r, spec(t, "add"), []op.Pass{op.Forward}, Options{})
	if err != nil {
		t.Error(err)
	}
}

// Where a function is right in no dtype that the user names, the reason is not that he names it.
func TestReasonOfNamedDTypes(t *testing.T) {
	const text = "// triad: gemm(a=a, b=b, y=c, m=m, n=n, k=k, dtype=fp16)\nextern \"C\" void mm(" +
		"const half* a, const half* b, float* c, int m, int n, int k) {}\n"
	r := Request{Path: "a.cu"}
	_, err := Bind(r.Read(text, nil), r, spec(t, "gemm"), []op.Pass{op.Forward}, Options{})
	if err == nil || strings.Contains(err.Error(), "its lines ask for") {
		t.Errorf("%v, want what does not fit", err)
	}
}
