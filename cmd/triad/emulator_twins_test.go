package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triad/internal/need"
)

// A race that a GPU does not show is found on a machine with a GPU too, and the row says who found it. A file
// that is right says so of both.
func TestEmulatorBesideAGPU(t *testing.T) {
	need.Tool(t, "g++")
	// A thread writes what its neighbour read: in the order of the threads it has been read.
	race := filepath.Join(t.TempDir(), "relu_by_the_neighbour.cu")
	if err := os.WriteFile(race, []byte(`__global__ void relu(const float *x, float *y, int n) {
	__shared__ float s[64];
	const int t = threadIdx.x, i = blockIdx.x * 64 + t;
	s[t] = i < n ? x[i] : 0.f;
	if (t > 0 && i - 1 < n) y[i - 1] = s[t - 1] < 0.f ? 0.f : s[t - 1];
	if (t == 63 && i < n) y[i] = s[t] < 0.f ? 0.f : s[t];
}

extern "C" void solve(const float *x, float *y, int n) {
	if (n > 0) relu<<<(n + 63) / 64, 64>>>(x, y, n);
}
`), 0o644); err != nil {
		t.Fatal(err)
	}
	right := filepath.Join("testdata", "own", "softmax_block.cu")
	for _, c := range []struct {
		op, file string
		exit     int
		says     []string
	}{
		{
			"relu", race, 1,
			[]string{"gpu PASS, emulator RACE line 5: ", " RACE on ", "relu_by_the_neighbour.cu:5"},
		},
		{"softmax", right, 0, []string{"mine/softmax_block.cu in the emulator, of the quick cases that " +
			"are right on the GPU: PASS on all "}},
	} {
		text, code := onMachine(t, "", "compare", c.op, "--impl", "mine", "--quick", "--dtype", "fp32",
			"--pass", "forward", "--no-timing", "--device", "gpu",
			"--add", c.file)
		for _, words := range c.says {
			if code != c.exit || !strings.Contains(text, words) {
				t.Errorf("%s: exit %d, want %d and %q in\n%s", c.file, code, c.exit, words, text)
			}
		}
	}
}
