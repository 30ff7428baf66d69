package ownfile

import (
	"slices"
	"strings"
	"testing"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/shim"
)

func spec(t testing.TB, name string) *op.Spec {
	t.Helper()
	o, err := catalog.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return o.Spec
}

// matchedByName lists parameters of a function and their meanings.
var matchedByName = []struct{ op, signature, want string }{
	{"softmax", "const float* A, float* C, int m, int n", "A is x, C is y, m is rows, n is cols"},
	{"softmax", "float* out, const float* inp, int N, int C", "out is y, inp is x, N is rows, C is cols"},
	{
		"softmax", "const float* d_input, float* d_output, int numRows, int numCols",
		"d_input is x, d_output is y, numRows is rows, numCols is cols",
	},
	{
		"softmax", "const float* foo, float* bar, int B, int D, cudaStream_t stream",
		"foo is x, bar is y, B is rows, D is cols, stream is the stream",
	},
	{
		"softmax", "float* foo, float* bar, size_t n_rows, size_t n_cols",
		"foo is x, bar is y, n_rows is rows, n_cols is cols",
	},
	{
		"layernorm", "const float* x, const float* gamma, const float* beta, float* y, float* mu, float* " +
			"inv_std, int N, int D, float eps",
		"x is x, gamma is weight, beta is bias, y is y, mu is mean, inv_std is rstd, N is rows, D is " +
			"cols, eps is eps",
	},
	{
		"swiglu", "const float* x1, const float* x2, float* out, int size",
		"x1 is gate, x2 is up, out is y, size is rows * cols",
	},
	{
		"fp8_gemm", "const __nv_fp8_e4m3* A, const __nv_fp8_e4m3* B, float* C, const float* sa, const " +
			"float* sb, int N",
		"A is a, B is b, C is c, sa is scale_a, sb is scale_b, N is m = n = k",
	},
	{
		"fp8_gemm", "const __nv_fp8_e4m3* d_A, const __nv_fp8_e4m3* d_B, float* d_C, float* d_scaleA, " +
			"float* d_scaleB, int numARows, int numAColumns, int numBRows",
		"d_A is a, d_B is b, d_C is c, d_scaleA is scale_a, d_scaleB is scale_b, numARows is m, " +
			"numAColumns is k, numBRows is n",
	},
	{
		"layernorm", "float* out, const float* inp, const float* weight, const float* bias, int B, int " +
			"T, int C, const int block_size",
		"out is y, inp is x, weight is weight, bias is bias, B is rows, T is 1, as a factor of rows, " +
			"C is cols, block_size is 256 threads of a block",
	},
	{
		"flash_attention", "const float* Q, const float* K, const float* V, float* O, int B, int nh, int " +
			"N, int d",
		"Q is q, K is k, V is v, O is o, B is batch, nh is heads_q = heads_kv, N is seq_q = seq_kv, d " +
			"is head_dim",
	},
}

// Common names of an operator's parameters, and their meanings.
func TestParametersAreMatchedByName(t *testing.T) {
	for _, c := range matchedByName {
		all, err := Bind(cfacts.ReadCUDA(`extern "C" void solve(`+c.signature+`) {}`), binding.Request{},
			spec(t, c.op),
			[]op.Pass{op.Forward}, binding.Options{})
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
		all, err = Bind(cfacts.ReadCUDA(`extern "C" void solve(`+c.signature+`) {}`), binding.Request{},
			spec(t, c.op),
			[]op.Pass{op.Forward}, binding.Options{Dims: sizes})
		if err != nil {
			t.Errorf("%s(%s) with every size fixed: %v", c.op, c.signature, err)
		} else if got := all[0].Matched(); got != c.want {
			t.Errorf("%s(%s) with every size fixed:\n got %s\nwant %s", c.op, c.signature, got, c.want)
		}
	}
}

// A parameter with an odd name does not stand for a size that --dims fixes while another one is open.
func TestFixedSizesNeedNoParameter(t *testing.T) {
	for _, dims := range []map[string]int64{{"rows": 1}, {"rows": 1, "cols": 9}} {
		all, err := Bind(cfacts.ReadCUDA(`extern "C" void solve(const float* from, float* to, int p) {}`),
			binding.Request{},
			spec(t, "softmax"), []op.Pass{op.Forward}, binding.Options{Dims: dims})
		if err != nil {
			t.Errorf("%v: %v", dims, err)
		} else if got, want := all[0].Matched(), "from is x, to is y, p is cols"; got != want {
			t.Errorf("%v: matched %q, want %q", dims, got, want)
		}
	}
}

// Pointers to bytes hold uint8, int8 and the codes of fp8 and fp4, and nothing wider; pointers to integers
// hold integers of their size.
func TestPointersToIntegers(t *testing.T) {
	for _, c := range []struct {
		base  string
		dtype op.DType
		bytes bool
	}{
		{"unsigned char", op.U8, true},
		{"uint8_t", op.U8, true},
		{"uchar4", op.U8, false},
		{"int8_t", op.I8, true},
		{"signed char", op.I8, false},
		{"int", op.I32, false},
		{"unsigned int", op.U32, false},
		{"uint32_t", op.U32, false},
		{"__nv_fp4x2_e2m1", op.E2M1x2, false},
		{"__nv_fp4x2_storage_t", op.U8, true},
		{"int64_t", op.I64, false},
		{"long long", op.I64, false},
		{"bool", op.Bool, false},
		{"const float", op.FP32, false},
	} {
		p := cfacts.Param{Base: c.base, Pointer: true}
		if d, any, ok := p.Element(); d != c.dtype || any || !ok || p.IsBytes() != c.bytes {
			t.Errorf("%s *: %v %t %t, bytes %t; want %v, bytes %t", c.base, d, any, ok, p.IsBytes(), c.dtype,
				c.bytes)
		}
	}
	coded := 0
	for _, o := range catalog.All() {
		if o.Spec.DTypes[0] != "e4m3" || o.Spec.InputSpecs[1].Name != "scale_a" {
			continue
		}
		coded++
		for signature, want := range map[string]bool{
			"const unsigned char* A, const uint8_t* B, float* C, const float* sa": true,
			"const unsigned char* A, const uint8_t* B, float* C, const char* sa":  false,
			"const int* A, const uint8_t* B, float* C, const float* sa":           false,
		} {
			f := cfacts.ReadCUDA(`extern "C" void solve(` + signature + ", const float* sb, int N) { }")
			_, err := Bind(f, binding.Request{}, o.Spec, []op.Pass{op.Forward}, binding.Options{})
			if (err == nil) != want {
				t.Errorf("%s: %v", signature, err)
			}
		}
	}
	if coded == 0 {
		t.Error("no operator takes codes of fp8")
	}
}

// A function with one writable pointer works in place if input and output are alike: it gets the output,
// which holds the input.
func TestInPlace(t *testing.T) {
	i := slices.IndexFunc(catalog.All(), func(o *catalog.Operator) bool {
		return o.Spec.Check.Integers == "one_hot"
	})
	alike := catalog.All()[i].Spec // x [rows, cols] -> y [rows, cols]
	for signature, want := range map[string]string{
		"float* data, int rows, int cols":              "data is x and y, rows is rows, cols is cols",
		"float* foo, int rows, int cols":               "foo is x and y, rows is rows, cols is cols",
		"float* output, int rows, int cols":            "output is x and y, rows is rows, cols is cols",
		"const float* data, int rows, int cols":        "",
		"float* a, float* b, float* c, int M, int N":   "",
		"const float* x, float* y, int rows, int cols": "x is x, y is y, rows is rows, cols is cols",
	} {
		f := cfacts.ReadCUDA(`extern "C" void solve(` + signature + ") { }")
		all, err := Bind(f, binding.Request{}, alike, []op.Pass{op.Forward, op.Backward}, binding.Options{})
		if want == "" {
			if err == nil {
				t.Errorf("%s: matched as %s", signature, all[0].Matched())
			}
			continue
		}
		if err != nil || all[0].Matched() != want {
			t.Errorf("%s: %v, %v; want %s", signature, all, err, want)
			continue
		}
		inPlace := strings.Contains(want, " and ")
		code := shim.CUDAShim("x.cu", "mine/x", all) + givenIn(t, all[0])
		if strings.Contains(code, "in 0 to out 0,") != inPlace ||
			strings.Contains(shim.Constraint(all[0]), binding.InPlaceSentence) != inPlace {
			t.Errorf("%s: in place %t in\n%s\n%s", signature, !inPlace, shim.Constraint(all[0]), code)
		}
	}
}
