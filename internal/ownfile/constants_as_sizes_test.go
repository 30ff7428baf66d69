package ownfile

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/params"
)

// The sizes of a kernel that takes none are the constants with which it compares its indices.
func TestConstantSizes(t *testing.T) {
	const head = "#define WIDE 48\n#define HIGH 32\nconst int LOW = HIGH;\n#define EDGE 16\n" +
		"__global__ void k(const float *x, float *y) { __shared__ float t[EDGE];\n"
	const main = "}\nint main() { cudaMalloc(&x, HIGH * WIDE * sizeof(float)); }\n"
	for lines, want := range map[string]map[string]int64{
		"if (i < WIDE) y[i] = x[i];":                  {"rows": 1, "cols": 48},
		"if (row >= HIGH || col >= HIGH) return;":     {"rows": 32, "cols": 32},
		"if (row < LOW && col < HIGH) y[0] = x[0];":   {"rows": 32, "cols": 32},
		"if (i < (WIDE >> 2)) y[i] = x[i];":           {"rows": 1, "cols": 48},
		"for (int j = 0; j < EDGE; ++j) y[j] = t[j];": nil,
		"y[threadIdx.x * WIDE] = x[threadIdx.x];":     nil,
		"if (threadIdx.x == WIDE) y[0] = x[0];":       nil,
	} {
		file := cfacts.ReadCUDA(head + lines + main)
		got, sure, err := params.ConstantSizes(file, file.Functions[0], rowsAndCols(t), op.Forward,
			binding.Options{})
		if err != nil || !maps.Equal(got, want) || sure != (want != nil) {
			t.Errorf("%s: %v, sure %v, error %v, want %v", lines, got, sure, err, want)
		}
	}
	const kernel = "__global__ void k(float *x, float *y) "
	for text, want := range map[string]string{
		"#define N 100000000\n" + kernel + "{ if (i < N) y[i] = x[i]; }":                 "too many",
		"#define N 4294967296\n" + kernel + "{ if (i < N && j < N) y[i] = x[j]; }":       "too many",
		"#define P 40\n#define Q 50\n" + kernel + "{ if (i < P && j < Q) y[i] = x[j]; }": "--dims ",
	} {
		file := cfacts.ReadCUDA(text)
		_, _, err := params.ConstantSizes(file, file.Functions[0], rowsAndCols(t), op.Forward,
			binding.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one that says %q", text, err, want)
		}
	}
	file := cfacts.ReadCUDA("#define N 100\n" + kernel + "{ if (i < N) y[i] = x[i]; }")
	_, sure, err := params.ConstantSizes(file, file.Functions[0], rowsAndCols(t), op.Forward,
		binding.Options{})
	if sure || err != nil {
		t.Errorf("sure without memory of that length: %v, error %v", sure, err)
	}
	for text, sizes := range map[string][2]int64{
		kernel + "{ constexpr int N = 40; if (i < N && j < N) y[i] = x[j]; }":      {40, 40},
		"constexpr int N{40};\n" + kernel + "{ if (i < N && j < N) y[i] = x[j]; }": {40, 40},
		"constexpr int ROWS = 20, COLS = 40;\n" + kernel +
			"{ if (i < ROWS && j < COLS) y[i] = x[j]; }": {20, 40},
	} {
		want := map[string]int64{"rows": sizes[0], "cols": sizes[1]}
		file := cfacts.ReadCUDA(text)
		got, _, err := params.ConstantSizes(file, file.Functions[0], rowsAndCols(t), op.Forward,
			binding.Options{})
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: %v, error %v, want %v", text, got, err, want)
		}
	}
	asked := binding.Options{Dims: map[string]int64{"cols": 7}}
	got, _, err := params.ConstantSizes(file, file.Functions[0], rowsAndCols(t), op.Forward, asked)
	if got != nil {
		t.Errorf("%v, error %v beside what the user says", got, err)
	}
}

// A size that the user asks for and the file's memory does not have is refused: otherwise a kernel that is
// right for its constants would be found wrong.
func TestSizesBesideConstants(t *testing.T) {
	file := cfacts.ReadCUDA("#define WIDE 48\n#define HIGH 32\n__global__ void k(const float *x, float *y) " +
		"{ if (row < HIGH && col < WIDE) y[row * WIDE + col] = x[row * WIDE + col]; }\n" +
		"int main() { cudaMalloc(&x, HIGH * WIDE * sizeof(float)); k<<<1, dim3(48, 32)>>>(x, y); }\n")
	for rows, refused := range map[int64]bool{32: false, 33: true} {
		asked := binding.Options{Dims: map[string]int64{"rows": rows, "cols": 48}}
		err := params.StatedOtherwise(file, file.Functions[0], rowsAndCols(t), op.Forward, asked)
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "rows is 32 in its file") {
			t.Errorf("%d rows: error %v", rows, err)
		}
	}
}

// A constant with which an index for each size is compared is each of them, whatever its name.
func TestConstantOfASquare(t *testing.T) {
	s := *rowsAndCols(t)
	s.Dims = append(slices.Clone(s.Dims), op.DimSpec{Name: "n"})
	file := cfacts.ReadCUDA("#define N 40\n__global__ void k(const float *x, float *y) " +
		"{ if (i < N && j < N) for (int k = 0; k < N; k++) y[i * N + j] += x[i * N + k]; }")
	got, _, err := params.ConstantSizes(file, file.Functions[0], &s, op.Forward, binding.Options{})
	if want := map[string]int64{"rows": 40, "cols": 40, "n": 40}; err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, error %v, want %v", got, err, want)
	}
}
