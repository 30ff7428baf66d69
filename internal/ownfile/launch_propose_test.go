package ownfile

import (
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
)

// The proposed block and grid are those that a kernel's own lines ask for.
func TestLaunchesAreProposed(t *testing.T) {
	for _, c := range []struct{ op, params, body, want string }{
		{
			"softmax", "const float* x, float* y, int rows, int cols",
			"int r = blockIdx.x; y[r] = threadIdx.x;",
			"grid (rows) and block (256)",
		},
		{
			"softmax", "const float* x, float* y, int cols",
			"__shared__ float s[128]; int r = blockIdx.x, t = threadIdx.x;", "grid (rows) and block (128)",
		},
		{
			"softmax", "const float* x, float* y, int M, int N", "int c = blockIdx.x * blockDim.x + " +
				"threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y; if (r < M && c < N) y[r * N + " +
				"c] = 0;",
			"grid (ceildiv(cols, 16), ceildiv(rows, 16)) and block (16, 16)",
		},
		{
			"softmax", "const float* x, float* y, int M, int N",
			"extern __shared__ float s[]; int r = " +
				"blockIdx.x; s[threadIdx.x] = 0;", "4 * 256 bytes of dynamic shared memory",
		},
		{
			"fp8_gemm", "const __nv_fp8_e4m3* A, const __nv_fp8_e4m3* B, float* C, const float* sa, const " +
				"float* sb, int numARows, int numACols, int numBRows",
			"int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y; int Row = by * 16 " +
				"+ ty, Col = bx * 16 + tx; if (Row < numARows && Col < numBRows) C[0] = 1;",
			"grid (ceildiv(n, 16), ceildiv(m, 16)) and block (16, 16)",
		},
		{
			"swiglu", "const float* a, const float* b, float* c, int n", "for (int i = blockIdx.x * " +
				"blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) c[i] = a[i];",
			"grid (ceildiv((rows * cols), 256)) and block (256)",
		},
		{
			"sum", "int* g_in, int* g_out", "__shared__ int s[256]; unsigned i = blockIdx.x * blockDim.x + " +
				"threadIdx.x; s[threadIdx.x] = g_in[i]; if (threadIdx.x == 0) atomicAdd(&g_out[0], s[0]);",
			"grid (ceildiv(n, 256)) and block (256)",
		},
	} {
		all, err := Bind(cfacts.ReadCUDA("__global__ void k("+c.params+") { "+c.body+" }"), binding.Request{},
			spec(t, c.op),
			[]op.Pass{op.Forward}, binding.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
		} else if got := all[0].Launch.String(); !strings.Contains(got, c.want) {
			t.Errorf("%s:\n got %s\nwant %s", c.body, got, c.want)
		}
	}
}

// A warp is proposed for each row, where the rows of a block lie along y and the blocks along x. A kernel
// that reduces the elements of each block to one number may be meant for another block than triad's.
func TestLaunchesOfWarps(t *testing.T) {
	for body, want := range map[string]struct {
		launch  string
		guessed bool
	}{
		"int i = blockIdx.x * blockDim.x + threadIdx.x; float v = i < N ? x[i] : 0; " +
			"v += __shfl_xor_sync(~0u, v, 1); if (i < N) y[i] = v;": {
			"grid (ceildiv(cols, 256)) and block (256)", true,
		},
		"int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < N) y[i] = x[i];": {
			"grid (ceildiv(cols, 256)) and block (256)", false,
		},
		"auto g = tiled(); int size = N; for (int i = g.thread_rank(); i < size; i += 32) " +
			"y[blockIdx.x * size + i] = x[blockIdx.x * size + i];": {"block (256)", true},
		"auto g = tiled(); for (int i = g.thread_rank(); i < N; i += g.size()) " +
			"y[blockIdx.x * N + i] = x[blockIdx.x * N + i];": {"block (256)", false},
	} {
		text := "__global__ void k(const float* x, float* y, int M, int N) { " + body + " }"
		all, err := Bind(cfacts.ReadCUDA(text), binding.Request{}, rowsAndCols(t), []op.Pass{op.Forward},
			binding.Options{})
		if err != nil {
			t.Fatal(err)
		}
		l := all[0].Launch
		if got := l.String(); !strings.Contains(got, want.launch) || l.Guessed != want.guessed {
			t.Errorf("%s:\n got %s, guessed %v\nwant %s, guessed %v", body, got, l.Guessed, want.launch,
				want.guessed)
		}
	}
}

// The dynamic shared memory of a kernel that its file launches is the amount of that launch, even none: no
// other amount is assumed or tried.
func TestSharedMemoryOfTheOwnLaunch(t *testing.T) {
	for shared, want := range map[int64]string{
		0: "grid (rows) and block (128) (", 512: "128 * 4 bytes of dynamic shared memory",
		6400: "min(max(128 * 50, cols * 64), 49152) bytes of dynamic shared memory",
	} {
		file := seen("__global__ void k(const float* x, float* y, int M, int N) {\n"+
			"extern __shared__ float s[]; s[threadIdx.x] = x[blockIdx.x * N]; y[blockIdx.x * N] = s[0]; }",
			memory(5000), memory(5000), seenLaunch("k", side(50), side(128), shared, to(0), to(1), int64(50),
				int64(100)))
		all, err := Bind(file, binding.Request{}, rowsAndCols(t), []op.Pass{op.Forward}, binding.Options{})
		if err != nil {
			t.Fatal(err)
		}
		l := all[0].Launch
		tried := false
		for _, a := range Alternatives(all[0]) {
			tried = tried || a.Options.Shared != ""
		}
		if got := l.String(); !strings.Contains(got, want) || l.Guessed || tried {
			t.Errorf("%d: %s, guessed %v, others are tried: %v; want %s", shared, got, l.Guessed, tried, want)
		}
	}
}

// A kernel is launched for the largest index that any comparison with it admits.
func TestLaunchReachesTheLargestIndex(t *testing.T) {
	for body, want := range map[string]string{
		"if (i < n - 1) PUT else if (i == n - 1) PUT":        "(ceildiv(n, 256))",
		"if (i > n - 1) return; if (i < n - 2) PUT else PUT": "(ceildiv(n, 256))",
		"if (i < n / 4) PUT if (i < n % 4) PUT":              "max(max(1, n / 4), n % 4), 256",
		"if (i >= 0 && i < n - 1) PUT":                       "ceildiv(max(1, n - 1), 256)",
		"if (i < n) PUT i = threadIdx.x; if (i < n * 8) PUT": "(ceildiv(n, 256))",
	} {
		text := kernel + "{ int i = blockIdx.x * blockDim.x + threadIdx.x; " +
			strings.ReplaceAll(body, "PUT", "y[i] = x[i];") + " }"
		all, err := Bind(cfacts.ReadCUDA(text), binding.Request{}, fromXToY(t), []op.Pass{op.Forward},
			binding.Options{})
		if err != nil {
			t.Errorf("%s: %v", body, err)
		} else if got := all[0].Launch.String(); !strings.Contains(got, want) {
			t.Errorf("%s:\n got %s\nwant %s", body, got, want)
		}
	}
}
