package kernelfile

import "testing"

// A function whose lines check or assert something may decline a call; one of CUDA has the sizes that no
// parameter gives at their defaults.
func TestMayDecline(t *testing.T) {
	const body = "(const float *x, float *y, int rows, int cols) "
	const launch = "{ k<<<1, 1>>>(x, y, rows, cols); }\n"
	for text, want := range map[string]bool{
		"__global__ void k" + body + "{}\nvoid f" + body + launch:                                                  false,
		"__global__ void k" + body + "{ assert(cols % 4 == 0); }\nvoid f" + body + launch:                          true,
		"__global__ void k" + body + "{}\nvoid f" + body + "{ TORCH_CHECK(cols); k<<<1, 1>>>(x, y, rows, cols); }": true,
	} {
		file := ReadCUDA(text)
		if got := (&Binding{file: file, Function: file.Functions[1]}).MayDecline(); got != want {
			t.Errorf("%s\nmay decline: %v", text, got)
		}
	}
	for body, want := range map[string]bool{
		"return x + 1":                  false,
		"assert n % 2 == 0\n    return": true,
		"raise ValueError":              true,
		"k[(1,)](x, tl.arange(0, n))":   true,
	} {
		file := ReadPython("def f(x, n):\n    " + body + "\n")
		if got := (&Binding{file: file, Function: file.Functions[0]}).MayDecline(); got != want {
			t.Errorf("%s: may decline: %v", body, got)
		}
	}
}
