package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestBarrierSkippedByEnding: a barrier under a condition that keeps threads away until they end is reported
// in a note, not as a finding; one behind an early return is right, and gets no note.
func TestBarrierSkippedByEnding(t *testing.T) {
	const program = `#include <cstdio>
__global__ void neighbours(const int *x, int *y, int n) {
	__shared__ int s[64];
	int i = blockIdx.x * 64 + threadIdx.x;
	int t = threadIdx.x;
	BODY
}
int main() {
	int h[100], *x, *y;
	for (int i = 0; i < 100; i++) h[i] = i;
	cudaMalloc(&x, sizeof h);
	cudaMalloc(&y, sizeof h);
	cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
	neighbours<<<2, 64>>>(x, y, 100);
	cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
	printf(h[99] == 98 ? "right\n" : "wrong\n");
	cudaFree(x);
	cudaFree(y);
}
`
	for name, c := range map[string]struct {
		body string
		note bool
	}{
		"condition": {
			"if (i < n) { s[t] = x[i]; __syncthreads(); y[i] = t ? s[t - 1] : 0; }", true,
		},
		"turns": {
			"for (; i < n; i += 1000) { s[t] = x[i]; __syncthreads(); y[i] = t ? s[t - 1] : 0; }", true,
		},
		"return": {
			"if (i >= n) return; s[t] = x[i]; __syncthreads(); y[i] = t ? s[t - 1] : 0;",
			false,
		},
		"all": {
			"if (i < n) s[t] = x[i]; __syncthreads(); if (i < n) y[i] = t ? s[t - 1] : 0;",
			false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "skipped.cu")
			text := strings.Replace(program, "BODY", c.body, 1)
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			r, output := checked(t, file, time.Minute)
			if len(r.Findings) > 0 || output != "right\n" || len(r.Orders) != len(Orders) {
				t.Errorf("findings %v, output %q, orders %v", r.Findings, output, r.Orders)
			}
			notes := strings.Join(r.Notes, "\n")
			if strings.Contains(notes, "skipped.cu:6, kernel neighbours: threads end and never") != c.note ||
				len(r.Notes) > 1 {
				t.Errorf("notes %q, want one: %v", r.Notes, c.note)
			}
		})
	}
}
