package ownfile

import (
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
)

// A number that main() gives a kernel stands for the product of two sizes if a tensor has so many elements.
func TestNumberOfAllElementsIsSeen(t *testing.T) {
	text := "__global__ void k(const float* x, float* y, size_t columns, size_t N) { " +
		"size_t r = blockIdx.x; if (r * columns < N) y[r * columns] = x[r * columns]; }"
	for n, want := range map[int64]string{
		32: "columns is cols, N is rows * cols", 4: "columns is cols, N is rows",
	} {
		all, err := Bind(seen(text, memory(32), memory(32),
			seenLaunch("k", side(4), side(1), 0, to(0), to(1), int64(8), n)), binding.Request{Function: "k"},
			rowsAndCols(t), []op.Pass{op.Forward}, binding.Options{})
		if err != nil {
			t.Errorf("%d: %v", n, err)
		} else if got := Describe(all[0]) + "\n"; !strings.Contains(got, want+"\n") {
			t.Errorf("%d: %q is not said in\n%s", n, want, got)
		}
	}
}

// A number of all elements is the product of two sizes: so it is called, or the lines divide it by a size.
func TestNumberOfAllElements(t *testing.T) {
	for signature, want := range map[string]string{
		"int numel, int cols":                  "numel is rows * cols, cols is cols",
		"int cols, int n_elements":             "cols is cols, n_elements is rows * cols",
		"int total, int rows":                  "total is rows * cols, rows is rows",
		"int n, int cols) { int r = n / cols;": "n is rows * cols, cols is cols",
		"int n, int cols) { int r = n / 4;":    "n is rows, cols is cols",
		"int rows, int cols":                   "rows is rows, cols is cols",
	} {
		text := "__global__ void k(const float* x, float* y) {}\n" +
			"void solve(const float* x, float* y, " + signature
		if !strings.Contains(signature, "{") {
			text += ") {"
		}
		all, err := Bind(cfacts.ReadCUDA(text+" k<<<1, 1>>>(x, y); }"), binding.Request{}, rowsAndCols(t),
			[]op.Pass{op.Forward}, binding.Options{})
		if err != nil {
			t.Errorf("%s: %v", signature, err)
		} else if got := all[0].Matched(); !strings.HasSuffix(got, want) {
			t.Errorf("%s: matched %q, want %q", signature, got, want)
		}
	}
}
