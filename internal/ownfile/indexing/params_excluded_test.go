package indexing

import (
	"testing"

	"triad/internal/ownfile/cfacts"
)

// A pointer whose every mention reads an element is no output. A pointer that may be written in another way
// does not count.
func TestReadsAlone(t *testing.T) {
	for body, want := range map[string]bool{
		"s += x[i] * y[i];":                    true,
		"if (y[i] == 0 && y[j] <= 1) s = 1;":   true,
		"s = y[i][j] - y[0];":                  true,
		"y[i] = 1;":                            false,
		"y[i] *= 2;":                           false,
		"s = y[0]; FLOAT4(y[i]) = v;":          false,
		"s = y[0]; __stcs(y + i, s);":          false,
		"s = y[0]; put(&y[i], s);":             false,
		"s = y[0]; float *row = y + i * n;":    false,
		"s = y[0]; *y = s;":                    false,
		"s = x[i]; // y[i] is what it reads\n": true,
	} {
		f := cfacts.ReadCUDA("__global__ void k(float *x, float *y, int n) { float s = 0; " + body + " }")
		if got := OnlyRead(f.Functions[0].Body, "y"); got != want {
			t.Errorf("%s: %v, want %v", body, got, want)
		}
	}
}
