package ownfile

import (
	"slices"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/shim"
)

// pairOfRows is an operator of two tensors that people hand over in one.
func pairOfRows(t *testing.T) *op.Spec {
	t.Helper()
	copied := *rowsAndCols(t)
	s := &copied
	z := s.InputSpecs[0]
	z.Name = "z"
	s.InputSpecs = append(slices.Clone(s.InputSpecs), z)
	s.Own.Packed = []string{s.InputSpecs[0].Name, "z"}
	return s
}

// A function of one tensor, whose lines halve it, gets both inputs concatenated in each row; one whose lines
// do not is refused, and so is a module with weights of its own.
func TestOneTensorForTwo(t *testing.T) {
	s := pairOfRows(t)
	for _, c := range []struct{ text, call, why string }{
		{
			"def f(both):\n    a, b = both.chunk(2, dim=-1)\n    return a * b\n",
			"_MODULE.f(torch.cat((in_x, in_z), dim=-1))", "",
		},
		{"def f(both):\n    return both * both\n", "", "what both stands for is not clear"},
		{
			"class F(nn.Module):\n    def __init__(self, n):\n        self.w1 = nn.Linear(n, n)\n" +
				"    def forward(self, a):\n        return self.w1(a)\n",
			"", "stands for is not clear",
		},
	} {
		r := binding.Request{Path: "mine.py", Parse: parsed}
		bindings, err := Bind(Read(r, c.text, nil), r, s, s.Passes(), binding.Options{})
		if err != nil {
			if c.why == "" || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%s: %v, want %q", c.text, err, c.why)
			}
			continue
		}
		code := shim.PythonShim("mine.py", "mine/mine", bindings)
		if c.call == "" || !strings.Contains(code, c.call) {
			t.Errorf("%s: it is not called with %q:\n%s", c.text, c.call, code)
		}
	}
}
