package cfacts

import (
	"strings"
	"testing"
)

// Forms in which C++ writes a function or a constant.
func TestFormsOfDefinitions(t *testing.T) {
	f := ReadCUDA("extern \"C\" auto solve(const float* x, int n) -> int { return 0; }\n" +
		"template <class T> static auto of(T *x) -> T * { return x; }\n" +
		"constexpr int ROWS = 8, COLS = ROWS * 2;\n")
	var got []string
	for _, fn := range f.Functions {
		got = append(got, fn.Text)
	}
	if want := "int solve(const float *x, int n); T * of(T *x)"; strings.Join(got, "; ") != want {
		t.Errorf("functions %q, want %q", strings.Join(got, "; "), want)
	}
	if f.Defines["ROWS"] != "8" || f.Defines["COLS"] != "ROWS * 2" {
		t.Errorf("constants %v", f.Defines)
	}
}
