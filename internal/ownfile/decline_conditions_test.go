package ownfile

import (
	"testing"

	"triad/internal/ownfile/adapters"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
)

// A function whose lines check or assert something may decline a call. A CUDA function has the sizes without
// a parameter at their defaults.
func TestMayDecline(t *testing.T) {
	const body = "(const float *x, float *y, int rows, int cols) "
	const launch = "{ k<<<1, 1>>>(x, y, rows, cols); }\n"
	const kernel, host = "__global__ void k" + body, "void f" + body
	for text, want := range map[string]bool{
		kernel + "{}\n" + host + launch:                                                  false,
		kernel + "{ assert(cols % 4 == 0); }\n" + host + launch:                          true,
		kernel + "{}\n" + host + "{ TORCH_CHECK(cols); k<<<1, 1>>>(x, y, rows, cols); }": true,
	} {
		file := cfacts.ReadCUDA(text)
		if got := adapters.MayDecline(
			(&binding.Binding{File: file, Function: file.Functions[1]})); got != want {
			t.Errorf("%s\nmay decline: %v", text, got)
		}
	}
	for body, want := range map[string]bool{
		"return x + 1":                  false,
		"assert n % 2 == 0\n    return": true,
		"raise ValueError":              true,
		"k[(1,)](x, tl.arange(0, n))":   true,
	} {
		file := ReadPython("def f(x, n):\n    "+body+"\n", parsed)
		if got := adapters.MayDecline(
			(&binding.Binding{File: file, Function: file.Functions[0]})); got != want {
			t.Errorf("%s: may decline: %v", body, got)
		}
	}
}
