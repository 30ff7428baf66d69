package indexing

import (
	"maps"
	"testing"

	"triad/internal/ownfile/cfacts"
)

// The size that bounds the index of a pointer is its length, unless the function computes it from its
// parameters.
func TestVectorLengths(t *testing.T) {
	const kernel = `__global__ void statistics(float *mean, const float *weight, int N, int C) {
    int row = blockIdx.x;
    if (row >= N) return;
    for (int c = threadIdx.x; c < C; c += 32) mean[row] += weight[c];
}
`
	for host, want := range map[string]map[string]string{
		"void f(float *m, float *w, int rows, int C) { statistics<<<rows, 32>>>(m, w, rows, C); }": {
			"m": "rows", "w": "C",
		},
		"void f(float *m, float *w, int B, int C) { int N = B * 2; statistics<<<N, 32>>>(m, w, N, C); }": {
			"w": "C",
		},
	} {
		file := cfacts.ReadCUDA(kernel + host)
		for i := range file.Functions {
			if file.Functions[i].Name != "f" {
				continue
			}
			if got := VectorLengths(file, &file.Functions[i]); !maps.Equal(got, want) {
				t.Errorf("%s: %v, want %v", host, got, want)
			}
		}
	}
}
