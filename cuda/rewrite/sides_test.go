package rewrite

import (
	"strings"
	"testing"
)

// aKernel is a correct file: KERNEL and MAIN are replaced by further statements of a kernel and of main(),
// TOP by declarations before them.
const aKernel = `#include <cstdio>
int count = 8;
const int size = 8;
__device__ int found;
float half_of(float a) { return a / 2; }
__device__ float twice(float a) { return a * 2; }
__host__ __device__ float both(float a) { return a; }
TOP
__global__ void scale(float *x, int n) {
	int i = threadIdx.x;
	KERNEL
	if (i < n && i < size) x[i] = both(twice(x[i]));
}
int main() {
	float *x = nullptr;
	scale<<<1, 8>>>(x, count);
	cudaMemcpyToSymbol(found, x, sizeof found);
	MAIN
}
`

func aProgram(top, kernel, main string) []Text {
	text := strings.NewReplacer("TOP", top, "KERNEL", kernel, "MAIN", main).Replace(aKernel)
	return []Text{{"a.cu", []byte(text)}}
}

// TestWrongSide: nvcc 13 refuses these lines; for a device variable it only warns.
func TestWrongSide(t *testing.T) {
	for name, c := range map[string]struct {
		top, kernel, main string
		line              int
		says              string
	}{
		"variable of the host": {
			"", "x[i] += count;", "", 11, "count is a variable of the host, and the kernel",
		},
		"array of the host": {
			"float w[8] = {1};", "x[i] = w[i];", "", 11, "w is a variable of the host",
		},
		"function of the host": {
			"", "x[i] = half_of(x[i]);", "", 11, "half_of is a function of the host, and the",
		},
		"C library":   {"", "x[i] = rand();", "", 11, "rand is a function of the host"},
		"C++ library": {"", "std::vector<int> v(3);", "", 11, "std::vector is for the host"},
		"stream":      {"", `std::cout << i;`, "", 11, "std::cout is for the host"},
		"exception":   {"", "if (i > 9) throw 3;", "", 11, "exceptions (throw)"},
		"function of the device": {
			"", "", `printf("%g", twice(3));`, 18, "twice is a function of the device, and main calls it",
		},
		"barrier on the host": {
			"", "", "__syncthreads();", 18, "the host waits by cudaDeviceSynchronize()",
		},
		"variable of the device": {
			"", "found = 1;", `printf("%d", found);`, 18,
			"found is a variable of the device, and main uses it",
		},
		"kernel as a function": {
			"", "", "scale(x, 8);", 18, "launch it, scale<<<blocks, threads>>>(...)",
		},
		"kernel with a result": {
			"__global__ int bad(int *x) { return x[0]; }", "", "", 8, "the kernel bad gives back int",
		},
		"kernel in a class": {
			"struct A { static __global__ void k(int *x) { x[0] = 1; } };", "", "", 8,
			"stands inside a class",
		},
		"template of the host": {
			"template <class T> T same(T a) { return a; }", "x[i] = same(x[i]);", "", 11,
			"same is a function",
		},
	} {
		e := WrongSide(aProgram(c.top, c.kernel, c.main))
		if e == nil || e.Line != c.line || !strings.Contains(e.Text, c.says) {
			t.Errorf("%s: got %v, want line %d with %q", name, e, c.line, c.says)
		}
	}
}

// TestRightSide: nothing is reported where a name may mean something else.
func TestRightSide(t *testing.T) {
	for name, c := range map[string]struct{ top, kernel, main string }{
		"right":                 {},
		"parameter of the name": {"__global__ void k(int count) { int a = count; }", "", ""},
		"variable of the name":  {"", "int j = 1, count = 3; x[i] += count;", ""},
		"pointer of the name":   {"", "float *count = x; count[i] += 1;", ""},
		"lambda of the name": {
			"", "auto half_of = [](float a) { return a; }; x[i] = half_of(1);", "",
		},
		"member of the name": {"struct P { int count; };", "P p{}; x[i] = p.count;", ""},
		"overload": {
			"__device__ float half_of(double a) { return a; }", "x[i] = half_of(2.0);", "",
		},
		"macro": {"#define half_of(a) ((a) / 2)", "x[i] = half_of(2.0);", ""},
		"macro in the head": {
			"#define DEVICE __device__\nDEVICE int f(int a) { return a; }", "x[i] = f(1);", "",
		},
		"unknown macro": {"HD int f(int a) { return a; }", "x[i] = f(1);", ""},
		"under an #if": {
			"#if 1\n__device__ int f(int);\n#else\nint f(int);\n#endif", "x[i] = f(1);", "",
		},
		"a function under #else": {
			"#if 1\n#else\n__device__ int f(int a) { return half_of(a); }\n#endif", "", "",
		},
		"line under an #if":     {"", "\n#ifndef __CUDA_ARCH__\nx[i] = half_of(1);\n#endif\n", ""},
		"unevaluated":           {"", "x[i] = sizeof(count);", ""},
		"constexpr":             {"constexpr int f(int a) { return a; }", "x[i] = f(1);", "f(2);"},
		"lambda for the device": {"", "", "auto f = [=] __device__ (float a) { return twice(a); };"},
		"namespace's short name": {
			"namespace cg = cooperative_groups;", "cg::sync(cg::this_thread_block());", "",
		},
		"declared, not called": {"", "", "void scale(float *, int);"},
		"pointer that the host allocates": {
			"__device__ float *place;", "", "cudaMalloc(&place, 4); scale<<<1, 1>>>(place, 1);",
		},
		"variable named for CUDA": {
			"", "found = 1;", "int h; CHECK(cudaMemcpyFromSymbol(&h, found, 4));",
		},
		"friend of a class": {"struct A { friend __global__ void k(int *x); };", "", ""},
		"own rand": {
			"__device__ float rand(float a) { return a; }", "x[i] = rand(x[i]);", "",
		},
		"in words": {"", `printf("count half_of(1) std::cout << rand()"); // throw`, ""},
	} {
		if e := WrongSide(aProgram(c.top, c.kernel, c.main)); e != nil {
			t.Errorf("%s: %v", name, e)
		}
	}
}

// TestNamesOfABody: nothing is reported where a body, a class, an alias or a macro may declare a name of the
// host.
func TestNamesOfABody(t *testing.T) {
	for name, c := range map[string]struct{ top, kernel, main string }{
		"channels out":        {"__global__ void k(int *x, int cout) { x[0] = cout << 1; }", "", ""},
		"second in a for":     {"", "for (int j = 0, count = 0; j < 2; j++) x[count] += 1;", ""},
		"structured binding":  {"", "auto [count, b] = float2{1, 2}; x[i] += count + b;", ""},
		"second of a binding": {"", "auto &[b, count] = *p; x[i] += count + b;", ""},
		"captured":            {"", "auto f = [count = n] { return count; }; x[i] = f();", ""},
		"of a template":       {"", "Box<float> &count = box; x[i] = count;", ""},
		"pointer to an array": {"float w[8];", "float (*w)[4] = rows; x[i] = w[0][1];", ""},
		"decltype":            {"", "decltype(n) count = 1; x[i] += count;", ""},
		"enumerator":          {"", "enum { count, other }; x[i] += count;", ""},
		"loop of a macro": {
			"#define LOOP(i, n) for (int i = 0; i < n; i++)",
			"LOOP(count, n) x[count] = 1;",
			"",
		},
		"constant elsewhere": {
			"namespace a { const int width = 8; } namespace b { int width; }",
			"x[i] = a::width; { using namespace a; x[i] = width; }",
			"",
		},
		"constant by a name": {"typedef const float fixed; fixed half = 0.5f;", "x[i] = half;", ""},
		"function or class": {
			"struct area { __device__ float operator()(); };\nfloat area(float a) { return a; }",
			"x[i] = area()();",
			"",
		},
		"in decltype": {"", "using R = decltype(half_of(1.0f)); x[i] = R(1);", ""},
		"found by arguments": {
			"float reduce(const float *x, int n) { return 0; }",
			"x[i] = reduce(tile, x[i], plus);",
			"",
		},
		"condition of a type": {
			"template <class T> __global__ If<!same<int, id<T>>::value> k(T *x) {}",
			"",
			"",
		},
		"macro for the device": {
			"#define ON_GPU __device__", "", "auto f = [=] ON_GPU (float a) { return twice(a); };",
		},
		"lambda named as the kernel": {"", "", "auto scale = [&](float *, int) {}; scale(x, 8);"},
	} {
		if e := WrongSide(aProgram(c.top, c.kernel, c.main)); e != nil {
			t.Errorf("%s: %v", name, e)
		}
	}
}
