package kernelfile

import (
	"strings"
	"testing"

	"triad/internal/op"
)

// A number that a caller passes stands for the product of two sizes only if the caller multiplies two
// variables.
func TestWhatCallersHandOver(t *testing.T) {
	text := "__global__ void k(const float* x, float* y, size_t columns, size_t N) { " +
		"size_t r = blockIdx.x; if (r * columns < N) y[r * columns] = x[r * columns]; } " +
		"void run() { size_t rows = 4, columns = 8; int count = ROWS * columns; " +
		"k<<<rows, 1>>>(a, b, columns, count); }"
	for rows, want := range map[string]string{
		"rows": "columns is cols, N is rows * cols", "2": "columns is cols, N is rows",
	} {
		all, err := Bind(ReadCUDA(strings.Replace(text, "ROWS", rows, 1)), Request{Function: "k"},
			rowsAndCols(t), []op.Pass{op.Forward}, Options{})
		if err != nil {
			t.Errorf("%s: %v", rows, err)
		} else if got := all[0].Describe() + "\n"; !strings.Contains(got, want+"\n") {
			t.Errorf("%s: %q is not said in\n%s", rows, want, got)
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
		all, err := Bind(ReadCUDA(text+" k<<<1, 1>>>(x, y); }"), Request{}, rowsAndCols(t),
			[]op.Pass{op.Forward}, Options{})
		if err != nil {
			t.Errorf("%s: %v", signature, err)
		} else if got := all[0].Matched(); !strings.HasSuffix(got, want) {
			t.Errorf("%s: matched %q, want %q", signature, got, want)
		}
	}
}
