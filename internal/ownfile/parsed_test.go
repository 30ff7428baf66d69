package ownfile

import (
	"testing"

	"triad/internal/ownfile/pyparser"
)

// parsed returns the facts of a Python text.
var parsed = pyparser.New(pyparser.OfPATH)

// A kernel that converts a result to fp32 is for narrower tensors. One that converts what it loads is right
// for every dtype, and an index is no value.
func TestWidensLate(t *testing.T) {
	const head = "@triton.jit\ndef k(x_ptr, y_ptr):\n    at = tl.arange(0, 8)\n    x = tl.load(x_ptr + at)\n"
	for lines, want := range map[string]bool{
		"    mean = tl.sum(x * x) / 8\n    y = x * mean.to(tl.float32)\n": true,
		"    y = x.to(tl.float32)\n":                                      false,
		"    y = x * at.to(tl.float32)\n":                                 false,
		"    y = x * x\n    y = y.to(tl.float16)\n":                       false,
	} {
		if got := parsed(head + lines + "    tl.store(y_ptr + at, y)\n").Widens; got != want {
			t.Errorf("%s: %v, want %v", lines, got, want)
		}
	}
}
