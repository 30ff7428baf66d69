package ownfile

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/shim"
)

const autogradFile = `
class Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, normalized_shape, weight, bias=None, eps=1e-5):
        return x

    @staticmethod
    def backward(ctx, dy):
        return dy, None, dy, dy, None
`

// bindPython reads a file and matches it to the first operator of the catalog with these inputs.
func bindPython(t *testing.T, inputs, request, text string) ([]*binding.Binding, error) {
	t.Helper()
	r, err := ParseRequest(request)
	if err != nil {
		t.Fatal(err)
	}
	r.Parse = parsed
	var s *op.Spec
	for _, o := range catalog.All() {
		if s == nil && binding.TensorNames(o.Spec.InputSpecs) == inputs {
			s = o.Spec
		}
	}
	if s == nil {
		t.Fatalf("no operator has the inputs %s", inputs)
	}
	return Bind(Read(r, text, nil), r, s, s.Passes(), binding.Options{})
}

var pythonForms = map[string]struct {
	inputs, text string
	want         []string // in the code that is written
	without      string
}{
	"an autograd function": {
		"x, weight, bias", autogradFile, []string{
			`_MODULE.Norm.apply(in_x, (dim_cols,), in_weight, in_bias, attributes["eps"])`,
			`_backward = ThroughAutograd(_forward, 3, (0, 1, 2,))`, `recomputes=True`,
			`gradients=("grad_x", "grad_weight", "grad_bias",)`,
		}, "",
	},
	"a name for its apply": {
		"x, weight, bias", autogradFile + "\nlayer_norm = Norm.apply\n",
		[]string{`_MODULE.layer_norm(in_x, (dim_cols,)`},
		"Norm.apply",
	},
	"a function that calls it": {
		"x", "class S(Function):\n    def forward(ctx, x):\n        return x\n\n" +
			"    def backward(ctx, dy):\n        return dy\n\ndef softmax(x):\n    return S.apply(x)\n",
		[]string{"_MODULE.softmax(in_x)", "ThroughAutograd(_forward, 1, (0,))"},
		"S.apply",
	},
	"a default in the middle": {
		"x, residual, weight", "class N(Function):\n    def forward(ctx, x, mode=None, weight=None, " +
			"out_dtype=None):\n        return x\n",
		[]string{`_MODULE.N.apply(in_x, default(_MODULE.N.forward, "mode"), in_weight)`},
		"out_dtype",
	},
	"a module": {
		"x, residual, weight", "class Norm(nn.Module):\n" +
			"    def __init__(self, dim: int, eps: float = 1e-6):\n" +
			"        self.g = nn.Parameter(torch.ones(dim))\n\n    def forward(self, x):\n        return x\n",
		[]string{
			`Module(_MODULE, "Norm", {"dim": dim_cols, "eps": attributes["eps"]}, ("g",))` +
				`.call({"g": in_weight}, {"x": in_x})`, ".has_others()",
		},
		"ThroughAutograd",
	},
	"a module of a layer, beside its model": {
		"x, weight, bias", "class Model(nn.Module):\n    def forward(self, x, weight, bias):\n" +
			"        return x\n\n" +
			"class ModelNew(nn.Module):\n    def __init__(self, normalized_shape: tuple):\n" +
			"        self.ln = nn.LayerNorm(normalized_shape).to(\"cuda\")\n\n    def forward(self, x):\n" +
			"        return self.ln(x)\n",
		[]string{
			`{"normalized_shape": (dim_cols,)}, ("ln.weight", "ln.bias",))` +
				`.call({"ln.weight": in_weight, "ln.bias": in_bias}, {"x": in_x})`,
		},
		`"Model"`,
	},
	"an axis with a default": {
		"x", "def softmax(x, dim=1):\n    return torch.softmax(x, dim)\n",
		[]string{"_MODULE.softmax(in_x)"},
		"",
	},
	"an axis whose default is the last": {
		"x", "def softmax(x, dim=-1):\n    return torch.softmax(x, dim)\n",
		[]string{"_MODULE.softmax(in_x)"},
		"",
	},
	"a name that could be a size": {
		"gate, up", "def swiglu(a, b):\n    return a * b\n",
		[]string{"_MODULE.swiglu(in_gate, in_up)"},
		"",
	},
	"data that is unpacked": {
		"gate, up", "def custom_kernel(data: input_t) -> output_t:\n    (gate, up, out) = data\n" +
			"    return out\n",
		[]string{"_MODULE.custom_kernel((in_gate, in_up, out_y,))"},
		"",
	},
	"addresses": {
		"gate, up", "@triton.jit\ndef k(a, n):\n    a = a.to(tl.pointer_type(tl.float32))\n" +
			"    tl.store(a, 0)\n\n" +
			"def solve(gate_ptr: int, up_ptr: int, out_ptr: int, n: int):\n    k[(1,)](gate_ptr, n)\n",
		[]string{
			"in_gate.data_ptr(), in_up.data_ptr(), out_y.data_ptr(), " +
				"dim_rows * dim_cols",
		},
		"",
	},
	"a kernel that nothing launches": {
		"gate, up", "# grid = (M,)\n@triton.jit\n" +
			"def k(X, U, Y, stride_xm, stride_y_row, M, N, BLOCK: tl.constexpr):\n" +
			"    row = tl.program_id(0)\n    cols = tl.arange(0, BLOCK)\n    X += row * stride_xm\n" +
			"    x = tl.load(X + cols, mask=cols < N)\n    u = tl.load(U + cols)\n" +
			"    tl.store(Y + row * stride_y_row + cols, x)\n\n" +
			"def test():\n    pass\n",
		[]string{
			"_MODULE.k[(dim_rows,)](X=in_gate, U=in_up, Y=out_y, stride_xm=in_gate.stride(0), " +
				"stride_y_row=out_y.stride(0), " +
				"M=dim_rows, N=dim_cols, BLOCK=power_of_2(",
		},
		"",
	},
	"data that are one tensor": {
		"x", "def custom_kernel(data):\n    return data.softmax(-1)\n",
		[]string{"_MODULE.custom_kernel(in_x)"},
		"",
	},
}

// Each definition of a Python file is called according to its form, and its backward is judged if autograd
// goes through the file.
func TestPythonForms(t *testing.T) {
	for name, c := range pythonForms {
		bindings, err := bindPython(t, c.inputs, "mine.py", c.text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		code := shim.PythonShim("mine.py", "mine/mine", bindings)
		for _, want := range c.want {
			if !strings.Contains(code, want) {
				t.Errorf(
					"%s: the code does not have %q:\n%s",
					name,
					want,
					code[strings.Index(code, "def _forward"):],
				)
			}
		}
		if c.without != "" && strings.Contains(code[strings.Index(code, "_x2}"):], c.without) {
			t.Errorf("%s: the code has %q", name, c.without)
		}
	}
}

// If a kernel takes fewer strides than a tensor has sizes, they are those of the last ones.
func TestStridesOfTheLastSizes(t *testing.T) {
	const kernel = `@triton.jit
def attention(Q, K, V, O, stride_qm, stride_qd, seq_q, seq_kv, head_dim, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    q = tl.load(Q + row * stride_qm + cols * stride_qd, mask=cols < head_dim)
    k = tl.load(K + cols)
    v = tl.load(V + cols)
    tl.store(O + row * stride_qm + cols, q + k + v)
`
	bindings, err := bindPython(t, "q, k, v", "mine.py", kernel)
	if err != nil {
		t.Fatal(err)
	}
	code := shim.PythonShim("mine.py", "mine/mine", bindings)
	for _, want := range []string{"stride_qm=in_q.stride(2)", "stride_qd=in_q.stride(3)"} {
		if !strings.Contains(code, want) {
			t.Errorf("no %s in\n%s", want, code[strings.Index(code, "def _forward"):])
		}
	}
}

// A backward that is requested alone needs its forward; one of another name yields to autograd's.
func TestAutogradPasses(t *testing.T) {
	text := autogradFile + "\ndef layer_norm_backward(dy, x):\n    return dy\n"
	for request, want := range map[string]string{
		"mine.py": "forward backward", "mine.py:Norm@backward": "forward backward",
		"mine.py:Norm@forward": "forward",
	} {
		bindings, err := bindPython(t, "x, weight, bias", request, text)
		var passes []string
		for _, b := range bindings {
			passes = append(passes, b.Pass.String())
		}
		if got := strings.Join(passes, " "); err != nil || got != want {
			t.Errorf("%s: passes %q %v, want %q", request, got, err, want)
		}
	}
}

// A parameter of a module without a matching tensor of the operator is refused: its value would be a guess.
func TestModuleWithAnotherWeight(t *testing.T) {
	_, err := bindPython(t, "x", "mine.py", "class M(nn.Module):\n    def __init__(self):\n"+
		"        self.proj = nn.Parameter(torch.ones(3))\n\n    def forward(self, x):\n        return x\n")
	var u *op.UsageError
	if !errors.As(err, &u) || !strings.Contains(u.Message, "proj") {
		t.Errorf("%v, want it to name proj", err)
	}
}

// An autograd function has a backward if one is written that returns something.
func TestHasBackward(t *testing.T) {
	for body, want := range map[string]bool{
		"        return dy\n": true,
		"        \"\"\"The gradient.\"\"\"\n        return dy\n": true,
		"        raise NotImplementedError(\"no\")\n":            false,
		"        \"\"\"To do.\"\"\"\n        pass\n":             false,
		"        raise NotImplementedError\n        return dy\n": false,
	} {
		class := "class S(Function):\n    def forward(ctx, x):\n        return x\n\n    @staticmethod\n" +
			"    def backward(ctx, dy):\n" + body
		if got := ReadPython(class, parsed).Functions[0].Parsed().Backward; got != want {
			t.Errorf("%q: %v, want %v", body, got, want)
		}
	}
	without := "class S(Function):\n    def forward(ctx, x):\n        return x\n"
	if ReadPython(without, parsed).Functions[0].Parsed().Backward {
		t.Error("a class without a backward has one")
	}
	of := "class S(Function):\n    @classmethod\n    def forward(cls, ctx, x, n):\n        return x\n"
	params := binding.ParameterNames(&ReadPython(of, parsed).Functions[0])
	if !slices.Equal(params, []string{"x", "n"}) {
		t.Errorf("a class method takes %q", params)
	}
}
