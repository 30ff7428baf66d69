package advice

import (
	"strings"
	"testing"

	"triad/internal/op"
)

var (
	tried = Tried{Size: "n", Right: []int64{256}, Wrong: []int64{1}}
	mask  = []MaskedLoad{{Line: 10, Other: "0.0"}}
)

// briefCase holds facts, and their cause in half a line.
type briefCase struct {
	name  string
	facts Facts
	says  string
	line  int
	exact bool
}

var briefCases = []briefCase{
	{
		"a limit of a size",
		Facts{Status: op.StatusFail, UpTo: true, Tried: tried, Formula: "y = x"},
		"n = 256 is right, 1 is wrong", 0, false,
	},
	{
		"a launch that was refused",
		Facts{Status: op.StatusFail, Message: launchRefused, Formula: "y = x"},
		"",
		0, false,
	},
	{
		"the first thread works out of bounds",
		Facts{
			Status:  op.StatusOutOfBounds,
			Message: "invalid read: 0 bytes past the end of buffer x, block (0,0,0), thread (0,0,0)",
		},
		"the first thread works past the end of a tensor: its index is too large", 0, false,
	},
	{
		"a result that is no tensor",
		Facts{Status: op.StatusFail, Message: "z is a numpy.ndarray, want a torch.Tensor", Formula: "y = x"},
		"z is a numpy.ndarray, want a torch.Tensor", 0, false,
	},
	{
		"two sizes of a matrix",
		Facts{Status: op.StatusOutOfBounds, Square: [2]string{"n", "k"}},
		"right where n = k alone: an index takes one for the other", 0, true,
	},
	{
		"a transposed result",
		Facts{
			Status: op.StatusFail, Transposed: [2]string{"rows", "cols"},
			Matrix: "y",
		},
		"transposed index: element (i, j) of y lies at i * cols + j", 0, true,
	},
	{
		"masked lanes",
		Facts{Status: op.StatusFail, Masks: mask, PowersOfTwo: true},
		"masked lanes take part with other=0.0", 10, false,
	},
	{
		"masked lanes take no blame where no size is wrong",
		Facts{
			Status: op.StatusFail, Masks: mask,
			Formula: "y = x",
		},
		"compare it with y = x", 0, false,
	},
	{
		"integers divided",
		Facts{Status: op.StatusFail, Divided: []IntegerDivision{{13, "cols"}}},
		"1 / cols divides integers", 13, false,
	},
	{
		"a last block",
		Facts{Status: op.StatusOutOfBounds, Multiple: 256, Tried: tried},
		"a thread works past the end",
		0, false,
	},
	{
		"a store of Triton without a mask",
		Facts{
			Status: op.StatusOutOfBounds, Python: true,
			Message: "tl.store writes element 7 of y, which has 7",
		},
		"tl.store goes past the end of a tensor: give it mask=offsets < n", 0, false,
	},
	{
		"a rounded grid",
		Facts{Status: op.StatusFail, Multiple: 256, Tried: tried},
		"right where n is a multiple of 256 alone: round the number of blocks up, (n + 255) / 256", 0,
		false,
	},
	{
		"special numbers",
		Facts{
			Status: op.StatusFail, OrdinaryPasses: true, Distribution: "large",
			Message: "y[0] is NaN, want 1", SpecialNumbers: "subtract the maximum, and more",
		},
		"NaN on some inputs (large): subtract the maximum", 0, false,
	},
	{
		"one number",
		Facts{
			Status: op.StatusFail, OrdinaryPasses: true, Distribution: "integers", OnlyAt: "x = 0",
			Formula: "grad_x = x <= 0 ? 0 : grad_y",
		},
		"right but at x = 0: grad_x = x <= 0 ? 0 : grad_y", 0, true,
	},
	{
		"a sum in 16 bits",
		Facts{Status: op.StatusFail, DType: "fp16", ULP: 3},
		"sums are kept in fp16",
		0, false,
	},
	{
		"a gradient without its sum",
		Facts{
			Status: op.StatusFail, Pass: op.Backward, NoSum: true,
			DType:   "fp32",
			Formula: "grad_x = y * (grad_y - sum_c y * grad_y)",
		},
		"sum_c y * grad_y is missing: grad_x = y * (grad_y - sum_c y * grad_y)", 0, false,
	},
	{"a gradient with some sum", Facts{
		Status: op.StatusFail, Pass: op.Backward, DType: "fp32",
		Formula: "grad_x = sum_c y",
	}, "compare it with grad_x = sum_c y", 0, false},
}

// The cause in half a line is the most exact that is known, with the line of the source that it blames.
func TestBriefOf(t *testing.T) {
	for _, c := range briefCases {
		got := BriefOf(c.facts)
		if !strings.HasPrefix(got.Text, c.says) || got.Line != c.line || got.Exact != c.exact {
			t.Errorf("%s: %+v, want %q at line %d, exact: %t", c.name, got, c.says, c.line, c.exact)
		}
	}
	f := Facts{
		Status: op.StatusFail, DType: "fp32", Divided: []IntegerDivision{{13, "cols"}},
		Formula: "y = x",
	}
	if got := For(f); !strings.HasPrefix(got, "line 13: 1 / cols divides integers") {
		t.Errorf("the whole advice is %q", got)
	}
}

// 1 / n is 0 where n is an integer; where it may be a float, or the quotient is meant, nothing is blamed.
func TestIntegerDivisions(t *testing.T) {
	for text, line := range map[string]int{
		"void f(int n) {\n\tfloat s = (1 / n) * sum;\n}":              2,
		"void f(int n) {\n\tfloat s = 1/n;\n}":                        2,
		"void f(int n) {\n\tfloat s = 1.0f / n;\n}":                   0,
		"void f(float n) {\n\tfloat s = 1 / n;\n}":                    0,
		"void f(int n) {\n\t// 1 / n\n\tint half = 11 / n;\n}":        0,
		"void f(int n) {\n\tfloat s = 1 / n.x + 1 / n[0] + 1 / n(2);": 0,
		"void g(float n);\nvoid f(int n) {\n\tfloat s = 1 / n;\n}":    0,
		"void f(int n, float *x) {\n\tfloat s = x[1] / n;\n}":         0,
		"void f(int n) {\n\tint k = blocks(1) / n + a.1 / n;\n}":      0,
	} {
		got := IntegerDivisions(text)
		if len(got) > 1 || (len(got) == 1) != (line > 0) || line > 0 && got[0].Line != line {
			t.Errorf("%q: %v, want line %d", text, got, line)
		}
	}
}

// A backward adds nothing up if its own lines have no sum, and call no other function of the file.
func TestAddsNothingUp(t *testing.T) {
	head := "class F(Function):\n    @staticmethod\n    def forward(ctx, x):\n        return x.sum()\n\n" +
		"    @staticmethod\n    def backward(ctx, g):\n"
	for body, want := range map[string]bool{
		"        return g * 2  # the sum is missing\n\n\ndef f(x):\n    return x.sum()\n": true,
		"        return g - (g * y).sum(-1)\n":                                            false,
		"        return g @ w\n":                                                          false,
		"        return helper(g)\n\n\ndef helper(g):\n    return g.mean()\n":             false,
		"        k[(1,)](g)\n        return g\n\n\ndef k(g):\n    pass\n":                 false,
	} {
		if AddsNothingUp(head+body) != want {
			t.Errorf("%t, want %t of\n%s", !want, want, body)
		}
	}
	if AddsNothingUp("def f(x):\n    return x\n") {
		t.Error("a file without a backward")
	}
}
