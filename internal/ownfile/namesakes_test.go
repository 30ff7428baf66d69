package ownfile

import (
	"errors"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
)

// namesake is a file of functions, of which NAME has the operator's name, and those that are judged.
type namesake struct{ text, want string }

// A function with the operator's name is judged, or refused as a row of its own: a file is not right if
// another of its functions is.
func TestFunctionWithTheOperatorsNameIsJudged(t *testing.T) {
	checkNamesakes(t, "mine.py", map[string]namesake{
		"below a condition": {
			"def other(x): return x\nif True:\n    def NAME(x): return -x\n", "NAME",
		},
		"below a question, with another definition": {
			"def other(x): return x\nif hasattr(x, 'y'):\n    def NAME(x): return -x\n" +
				"else:\n    def NAME(x): return x\n", "NAME",
		},
		"in a with": {
			"def other(x): return x\nwith y():\n    if z:\n" +
				"        def NAME(x): return -x\n", "NAME",
		},
		"in the place of what is not there": {
			"def other(x): return x\ntry:\n    from y import NAME\n" +
				"except ImportError:\n    def NAME(x): return -x\n", "NAME",
		},
		"main runs only in other uses": {
			"def other(x): return x\nif __name__ == '__main__':\n" +
				"    def NAME(x): return -x\n", "other",
		},
		"a lambda": {"def other(x): return x\nNAME = lambda x: -x\n", "NAME"},
		"another name": {
			"def other(x): return x\ndef _f(x): return -x\nNAME = _f\n", "NAME",
		},
		"a name for the function that is judged": {
			"class Other:\n    def __call__(self, x): return x\nNAME = Other()\n", "Other",
		},
		"made while the file runs": {
			"def other(x): return x\ndef _f(x): return -x\nNAME = compiled(_f)\n", "other NAME",
		},
		"what is called like it is of a library": {
			"def other(x): return torch.NAME(x)\nNAME = compiled(other)\n", "other NAME",
		},
		"a result is no function": {
			"def other(x): return x\nNAME = other(torch.ones(3))\n", "other",
		},
	})
}

// So it is in CUDA.
func TestCUDAFunctionWithTheOperatorsNameIsJudged(t *testing.T) {
	launches := " { k<<<rows, 1>>>(x, y, rows, cols); }\n"
	tensors := "const float* x, float* y, int rows, int cols"
	other := "__global__ void k(" + tensors + ") {}\nvoid other(" + tensors + ")" + launches
	checkNamesakes(t, "mine.cu", map[string]namesake{
		"a type that triad cannot pass": {
			other + "void NAME(" + tensors + ", Mode mode)" + launches,
			"other NAME",
		},
		"a default in front of what is needed": {
			other + "void NAME(Mode mode = Mode(), " + tensors + ")" + launches, "other NAME",
		},
		"a kernel that is not launched": {
			other + "__global__ void NAME(" + tensors + ") {}\n",
			"other NAME",
		},
		"a kernel that the judged function launches": {
			strings.ReplaceAll(other, "k<<<", "NAME<<<") +
				"__global__ void NAME(" + tensors + ") {}\n", "other",
		},
		"a reference on the host": {
			other + "void NAME(" + tensors + ", Mode mode) {}\n", "other",
		},
		"vectors of the host": {
			other + "void NAME(const std::vector<float>& x, int rows, int cols)" +
				launches, "other",
		},
		"a choice by a number": {
			other + "void NAME(int n, Mode m, " + tensors + ") {\n" +
				"  switch (n) { case 1: other(x, y, rows, cols); break; " +
				"case 2: other(x, y, 1, 1); }\n}\n", "other",
		},
	})
}

func checkNamesakes(t *testing.T, path string, files map[string]namesake) {
	t.Helper()
	s := rowsAndCols(t)
	for name, c := range files {
		r := binding.Request{Path: path, Parse: parsed}
		all, err := Bind(Read(r, strings.ReplaceAll(c.text, "NAME", s.Name), nil), r, s,
			[]op.Pass{op.Forward},
			binding.Options{})
		var several *SeveralError
		var got []string
		if errors.As(err, &several) {
			got = several.Names
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, b := range all {
			got = append(got, b.Function.Name)
		}
		if want := strings.ReplaceAll(c.want, "NAME", s.Name); strings.Join(got, " ") != want {
			t.Errorf("%s: judged %q, want %q", name, got, want)
		}
	}
}
