package ownfile

import (
	"slices"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/extents"
	"triad/internal/ownfile/shim"
)

// A Python function gets tensors of the rank that its lines unpack or assert, with an additional leading
// size; if they say nothing, or contradict each other, it gets the operator's.
func TestRankThatTheLinesSay(t *testing.T) {
	s := rowsAndCols(t)
	for _, c := range []struct {
		body string
		more bool
	}{
		{"a, b, c = x.shape", true},
		{"(a, b, c) = x.size()  # three", true},
		{"assert x.ndim == 3", true},
		{"assert len(x.shape) == 3, 'three'", true},
		{"a, b = x.shape", false},
		{"assert x.dim() == 3\n    a, b = x.shape", false},
		{"x = x.contiguous().to(torch.float32)\n    a, b, c = x.shape", true},
		{"x = x.unsqueeze(0)\n    a, b, c = x.shape", false},
		{"a, b, c = w.shape", false},
		{"(a, b,\n     c) = x.shape", true},
		{"s = \"\"\"\n    a, b, c = x.shape\n    \"\"\"", false},
		{"if x.ndim != 3:\n        raise ValueError(x)", true},
		{"if x.dtype != torch.float32 or len(x.shape) != 3: raise ValueError(x)", true},
		{"if x.ndim != 3 and x.is_contiguous():\n        raise ValueError(x)", false},
		{"if x.ndim != 3:\n        x = x[None]", false},
		{"return x", false},
	} {
		r := binding.Request{Path: "mine.py", Parse: parsed}
		file := Read(r, "import torch\ndef f(x):\n    "+c.body+"\n    return torch.exp(x)\n", nil)
		bindings, err := Bind(file, r, s, s.Passes(), binding.Options{})
		if err != nil {
			t.Fatal(err)
		}
		code := shim.PythonShim("mine.py", "mine/mine", bindings)
		if more := strings.Contains(code, "in_x = in_x.reshape((1, dim_rows, dim_cols,))"); more != c.more {
			t.Errorf("%s: one more size %v, want %v:\n%s", c.body, more, c.more, code)
		}
	}
}

// pythonReadings holds the functions of testdata/python_readings.toml.
type pythonReadings struct {
	Cases []struct {
		Name, Operator, Text string
		Has, Lacks           []string
	}
}

// A Python function whose tensors or outputs differ from the operator's is called as its lines show.
func TestReadingsOfPython(t *testing.T) {
	for _, c := range readTable[pythonReadings](t, "python_readings.toml").Cases {
		r := binding.Request{Path: "mine.py", Parse: parsed}
		all, err := Bind(Read(r, c.Text, nil), r, spec(t, c.Operator), []op.Pass{op.Forward},
			binding.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		code := shim.PythonShim("mine.py", "mine/mine", all)
		code = code[strings.Index(code, "_x2}"):] + Describe(all[0])
		for _, words := range c.Has {
			if !strings.Contains(code, words) {
				t.Errorf("%s: no %q in\n%s", c.Name, words, code)
			}
		}
		for _, words := range c.Lacks {
			if strings.Contains(code, words) {
				t.Errorf("%s: %q is in\n%s", c.Name, words, code)
			}
		}
	}
}

// A function that returns one dtype whatever it takes is judged in that.
func TestGivesOneDType(t *testing.T) {
	s := rowsAndCols(t)
	for made, want := range map[string]string{
		"torch.empty(x.shape, dtype=torch.float32)": "fp32",
		"torch.empty(x.shape, dtype=x.dtype)":       "fp32 fp16 bf16",
		"torch.empty_like(x)":                       "fp32 fp16 bf16",
		"torch.empty_like(x)\n    s = torch.zeros((4,),\n        dtype=torch.float16)": "fp32 fp16 bf16",
		"torch.empty(\n        x.shape,\n        dtype=torch.float16,  # half\n    )":  "fp16",
		"torch.zeros(x.shape, dtype=torch.bfloat16)\n    assert x.dtype == y.dtype":    "bf16",
		"torch.empty(x.shape, dtype=torch.half)\n    y = y.float()":                    "fp32 fp16 bf16",
		"torch.empty(x.shape, dtype=torch.half)\n    if a:\n        return x":          "fp32 fp16 bf16",
	} {
		r := binding.Request{Path: "mine.py", Parse: parsed}
		text := "import torch\ndef f(x):\n    y = " + made + "\n    return y\n"
		bindings, err := Bind(Read(r, text, nil), r, s, s.Passes(), binding.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(bindings[0].DTypes(), " "); got != want {
			t.Errorf("%s: judged in %s, want %s", made, got, want)
		}
	}
}

// Tensors of an extension whose sizes are never queried have the sizes of the others.
func TestSizesThatAreNeverAsked(t *testing.T) {
	for body, asks := range map[string]bool{
		"int n = K.size(2);": true, "helper(K);": true, "auto a = K.packed_accessor32<float, 4>();": true,
		"CHECK_INPUT(K); float *p = K.data_ptr<float>();": false, "int n = Q.size(2);": false,
	} {
		text := "#include <torch/extension.h>\n" +
			"torch::Tensor f(torch::Tensor Q, torch::Tensor K) { " + body + " }\n"
		if fn := cfacts.ReadCUDA(text).Functions[0]; extents.AsksSizes(&fn, "K", -1, 0) != asks {
			t.Errorf("%s: asks K for its sizes %v, want %v", body, !asks, asks)
		}
	}
}

// The sizes of a tensor that is only passed to launches, directly or through other functions of the file, are
// never queried; those of a tensor that is queried or passed to PyTorch may be.
func TestSizesThatPythonNeverAsks(t *testing.T) {
	const head = "import torch, triton\n@triton.jit\ndef kernel(a, k):\n    pass\n\n\n" +
		"class Attend(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, a, other):\n" +
		"        ctx.save_for_backward(a, other)\n        kernel[(1,)](a, other)\n        return a\n" +
		"    @staticmethod\n    def backward(ctx, g):\n        a, k = ctx.saved_tensors\n" +
		"        return k.shape\n\n\n"
	for body, asks := range map[string]bool{
		"k = k.contiguous()\n    kernel[(4, 2)](q, k, k.stride(1))": false,
		"kernel[grid](q, k=k, N=k.shape[1])":                        true,
		"kernel[grid](q, q)":                                        true,
		"return Attend.apply(q, k)":                                 false,
		"return torch.matmul(q, k)":                                 true,
		"return q @ k":                                              true,
		"assert q.shape == k.shape\n    kernel[grid](q, k)":         true,
		"kernel[grid](q, k)\n    # k.shape\n    return q":           false,
	} {
		file := ReadPython(head+"def f(q, k):\n    "+body+"\n", parsed)
		b := &binding.Binding{Others: file.Functions}
		at := slices.IndexFunc(file.Functions, func(fn cfacts.Function) bool { return fn.Name == "f" })
		if got := extents.PythonAsks(b, file.Functions[at], "k", extents.AsksDepth); got != asks {
			t.Errorf("%s: asks k for its sizes %v, want %v", body, got, asks)
		}
	}
}

// A kernel without a parameter for a switch, whose lines always compute a mask of its name, has the switch
// on.
func TestMaskThatIsAlwaysThere(t *testing.T) {
	for body, always := range map[string]bool{
		"causal = q[:, None] >= k[None, :]":                             true,
		"causal_mask = q < k":                                           true,
		"non_causal = q < k\n    if not causal: pass":                   false,
		"if causal:\n        causal_mask = q < k":                       false,
		"if plain:\n        return q\n    causal_mask = q < k":          false,
		"if q.numel() == 0:\n        return q\n    causal_mask = q < k": true,
		"causal = True":            false,
		"score = q <= k  # causal": false,
		"mask = q >= k":            false,
		"causal_mask = q >= k\n    s = where(causal_mask, s, 0)": true,
	} {
		text := "@triton.jit\ndef kernel(q, k):\n    " + body + "\n\n\ndef f(q, k):\n    kernel[(1,)](q, k)\n"
		fn := ReadPython(text, parsed).Functions[0]
		if got := binding.MaskedAlways(&fn, "causal"); got != always {
			t.Errorf("%s: causal %v, want %v", body, got, always)
		}
	}
	text := "@triton.jit\ndef kernel(q, k, IS_CAUSAL):\n    causal = q >= k\n\n\n" +
		"def f(q, k):\n    kernel[(1,)](q, k, False)\n"
	inner := "@triton.jit\ndef inner(q, k):\n    causal = q >= k\n\n\n" +
		"@triton.jit\ndef outer(q, k):\n    inner(q, k)\n\n\ndef f(q, k):\n    outer[(1,)](q, k)\n"
	if fn := ReadPython(inner, parsed).Functions[0]; !binding.MaskedAlways(&fn, "causal") {
		t.Error("a kernel that the launched one calls is not read")
	}
	if fn := ReadPython(text, parsed).Functions[0]; binding.MaskedAlways(&fn, "causal") {
		t.Error("a kernel with a parameter for the switch is taken to have it on")
	}
}

// casual is a common misspelling of causal.
func TestMisspelledSwitch(t *testing.T) {
	text := "@triton.jit\ndef k(q):\n    casual_mask = rows >= columns\n\n\ndef f(q):\n    k[(1,)](q)\n"
	fn := ReadPython(text, parsed).Functions[0]
	found := ""
	for _, word := range binding.Spellings("causal") {
		if binding.MaskedAlways(&fn, word) {
			found += word
		}
	}
	if found != "casual" || len(binding.Spellings("add")) != 1 {
		t.Errorf("found %q, want casual", found)
	}
}
