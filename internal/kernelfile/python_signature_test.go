package kernelfile

import (
	"testing"

	"triad/internal/op"
)

func TestPythonFunctionsAreRead(t *testing.T) {
	f := ReadPython(`import torch
@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    pass

def _hidden(x): pass

def solve(x: torch.Tensor,  # a comment, with a comma
          weight, bias=None, *, eps: float = 1e-5, text="a,b)"):
    def inner(y): pass
`)
	if len(f.Functions) != 1 || f.Functions[0].Name != "solve" || len(f.Functions[0].Params) != 5 ||
		f.Functions[0].Line != 8 {
		t.Fatalf("%+v", f.Functions)
	}
	all, err := Bind(f, Request{Path: "a.py"}, spec(t, "layernorm"), []op.Pass{op.Forward}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := all[0].Matched(), "x is x, weight is weight, bias is bias, eps is eps"; got != want {
		t.Errorf("matched %q, want %q", got, want)
	}
}
