package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// lockstepProgram sums in device memory with one warp.
const lockstepProgram = `#include <cstdio>
__device__ volatile int found;
__global__ void step(int *y) {
	const int t = threadIdx.x;
	volatile int *v = y;
	BODY
}
int main() {
	int h[64], *y;
	for (int i = 0; i < 64; i++) h[i] = 1;
	cudaMalloc(&y, sizeof h);
	cudaMemcpy(y, h, sizeof h, cudaMemcpyHostToDevice);
	step<<<1, 32>>>(y);
	cudaDeviceSynchronize();
	cudaFree(y);
}
`

// TestLockstep: a warp that relies on lockstep in device memory gets a note with its lines; fixed programs,
// and other uses of volatile there, do not.
func TestLockstep(t *testing.T) {
	for name, c := range map[string]struct{ body, says string }{
		"tail": {
			"v[t] += v[t + 32], v[t] += v[t + 16], v[t] += v[t + 8], v[t] += v[t + 4];", "step.cu:6",
		},
		"shift":     {"v[t] = v[t] + 1; if (t < 31) v[t] += v[t + 1];", "step.cu:6"},
		"own place": {"for (int k = 0; k < 4; k++) v[t] += v[t] + k;", ""},
		"fixed": {
			"for (int k = 16; k; k /= 2) { int o = v[t + k]; __syncwarp(); v[t] += o; __syncwarp(); }", "",
		},
		"a flag":      {"if (t == 7) found = 1; if (found) return; v[t] = 3;", ""},
		"waits for":   {"if (t == 7) found = 1; while (!found) {}\nif (t == 3) y[40] = 1;", ""},
		"fenced":      {"v[t] = 5; __threadfence(); v[32 + t] = 1; if (t) while (v[31 + t] != 1) {}", ""},
		"all writers": {"v[0] = 1; if (v[0] == 2) v[33] = 1;", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "step.cu")
			text := strings.Replace(lockstepProgram, "BODY", c.body, 1)
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			r, _ := checked(t, file, time.Minute)
			if len(r.Findings) > 0 || len(r.Orders) != len(Orders) {
				t.Errorf("findings %v, orders %v", r.Findings, r.Orders)
			}
			notes := strings.Join(r.Notes, "\n")
			if c.says == "" && notes != "" || !strings.Contains(notes, c.says) || len(r.Notes) > 1 {
				t.Errorf("notes %q, want one with %q", r.Notes, c.says)
			}
		})
	}
}
