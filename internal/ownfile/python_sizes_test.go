package ownfile

import (
	"testing"

	"triad/internal/ownfile/extents"
)

// The lines of a Python function show facts about its numbers and tensors: squares, and values computed from
// themselves.
func TestLinesOfPython(t *testing.T) {
	for line, want := range map[string]struct{ square, reread bool }{
		"n = N * N":                              {square: true},
		"n = N ** 2":                             {square: true},
		"n = N * M":                              {},
		"n = 2 * N  # not N * N":                 {},
		"C[:] = 2 * A + N * C":                   {reread: true},
		"C *= N":                                 {reread: true},
		"C.copy_(A @ A + C)":                     {reread: true},
		"C.mul_(N)":                              {reread: true},
		"C[:] = A":                               {},
		"C.copy_(A)":                             {},
		"D = C == A":                             {},
		"x = tl.load(c_ptr); tl.store(c_ptr, x)": {reread: true},
		"x = tl.load(a_ptr); tl.store(c_ptr, x)": {},
	} {
		f := ReadPython("def solve(A, C, N: int, M: int):\n    "+line+"\n", parsed)
		fn := f.Functions[0]
		if got := extents.PythonSquares(&fn)["N"]; got != want.square {
			t.Errorf("%s: the square of N: %v", line, got)
		}
		if got := fn.Params[1].Reread; got != want.reread {
			t.Errorf("%s: C is made of itself: %v", line, got)
		}
	}
}
