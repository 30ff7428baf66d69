package ownfile

import (
	"slices"
	"testing"

	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/params"
)

// A small number that a function adds counts, however it is written; one that it multiplies with, or a large
// one, does not.
func TestSmallAdded(t *testing.T) {
	for text, want := range map[string][]string{
		"ss += 1e-5f;": {"1e-05"}, "ss = rsqrtf(ss / n + 0.00001f);": {"1e-05"}, "ss = ss * 1e-5f + 1;": nil,
	} {
		kernel := "__global__ void f(float *x, int n) { float ss = x[n]; " + text + " x[n] = ss; }"
		file := cfacts.ReadCUDA(kernel)
		if got := params.SmallAdded(file, &file.Functions[0]); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
