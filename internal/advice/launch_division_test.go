package advice

import (
	"strconv"
	"testing"
)

// A number of blocks that is rounded down is named with its line; one that is rounded up, is one of several
// dimensions, or is a quotient of constants without a remainder, is not.
func TestLaunchDivision(t *testing.T) {
	value := func(text string) (int64, bool) {
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil
	}
	const told = "n / 256 blocks leave out elements unless 256 divides n: (n + 256 - 1) / 256"
	for text, want := range map[string]string{
		"int n;\nk<<<n / 256, 256>>>(x);":                                                               told,
		"const int n = 1000;\nk<<<n / 256, 256>>>(x);":                                                  told,
		"#define n 1000\nk<<<n / 256, 256>>>(x);":                                                       told,
		"int n = 512; n += 8;\nk<<<n / 256, 256>>>(x);":                                                 told,
		"int n = 512; scanf(\"%d\", &n);\nk<<<n / 256, 256>>>(x);":                                      told,
		"int n = 512, m = 9; n = m;\nk<<<n / 256, 256>>>(x);":                                           told,
		"void f(int n) {\nk<<<n / 256, 256>>>(x); } int main() { int n = 512; f(n); }":                  told,
		"const int n = 1024;\nk<<<n / 256, 256>>>(x);":                                                  "",
		"#define n 1024 // elements\nk<<<n / 256, 256>>>(x);":                                           "",
		"int n = 1024, t = 256;\nk<<<n / t, t>>>(x, n);":                                                "",
		"__global__ void k(float *x, int n) {} int main() { int n = 512;\nk<<<n / 256, 256>>>(x, n); }": "",
		"\nk<<<1024 / 256, 256>>>(x);":                                                                  "",
		"k<<<(n + 255) / 256, 256>>>(x);":                                                               "",
		"// k<<<n / 256, 256>>>(x);":                                                                    "",
		"k<<<blocks, n / 256>>>(x);":                                                                    "",
		"dim3 g(n / 16, n / 16);\nk<<<g, b>>>(x);":                                                      "",
	} {
		line, words := LaunchDivision(text, value)
		if words != want || (line == 2) != (want != "") {
			t.Errorf("%s: line %d, %q", text, line, words)
		}
	}
}
