package ownfile

import (
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
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
`, parsed)
	if len(f.Functions) != 1 || f.Functions[0].Name != "solve" || len(f.Functions[0].Params) != 5 ||
		f.Functions[0].Line != 8 {
		t.Fatalf("%+v", f.Functions)
	}
	all, err := Bind(f, binding.Request{Path: "a.py"}, spec(t, "layernorm"), []op.Pass{op.Forward},
		binding.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := all[0].Matched(), "x is x, weight is weight, bias is bias, eps is eps"; got != want {
		t.Errorf("matched %q, want %q", got, want)
	}
}

// A file is judged in the dtypes that its lines ask for.
func TestPythonDTypes(t *testing.T) {
	for text, want := range map[string]string{
		"def f(x):\n    assert x.dtype == torch.float32\n":                                "fp32",
		"def f(x):\n    assert x.dtype in (torch.float16, torch.bfloat16), 'half'\n":      "fp16 bf16",
		"@triton.jit\ndef k(p):\n    p = p.to(tl.pointer_type(tl.float32))\n":             "fp32",
		"def f(x):\n    # assert x.dtype == torch.float32\n    y = x.to(torch.float32)\n": "",
		"def f(x):\n    assert x.shape[0] == 3\n    assert x.dtype == y.dtype\n":          "",
	} {
		if got := strings.Join(ReadPython(text, parsed).DTypes, " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	r := binding.Request{Path: "mine.py", Parse: parsed}
	text := "def f(x):\n    assert x.dtype == torch.float32\n    return x\n"
	all, err := Bind(Read(r, text, nil), r, rowsAndCols(t), []op.Pass{op.Forward}, binding.Options{})
	if err != nil || strings.Join(all[0].DTypes(), " ") != "fp32" {
		t.Errorf("%v %v, want fp32", all, err)
	}
}
