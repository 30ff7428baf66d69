package ownfile

import (
	"strings"
	"testing"

	"triad/internal/ownfile/binding"
)

const inlineFile = `"""Calls load_inline(...) with __global__ kernels."""
from torch.utils.cpp_extension import load_inline
TILE = 32
begin = "#include <cuda.h>\n"
source = begin + f"""
#define TILE 32
__global__ void k(float *x) {{ printf("%d\\n", TILE); }}
torch::Tensor run(torch::Tensor x) {{ k<<<1, TILE>>>(x.data_ptr<float>()); return x; }}
torch::Tensor helper(torch::Tensor x) {{ return x; }}"""
names = ['run']  # of functions
module = load_inline(name="k", cpp_sources=['torch::Tensor run('
    'torch::Tensor x);'], cuda_sources=source, functions=names)
`

// The text that a Python file passes to load_inline is read as an extension on the same lines: braces
// and escapes as Python means them, the named functions bound, docstrings left out.
func TestInlineSources(t *testing.T) {
	code, ok, err := InlineSources(parsed(inlineFile))
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	lines := strings.Split(code, "\n")
	for n, want := range map[int]string{
		1: "#include <torch/extension.h>", 4: " #include <cuda.h>", 6: "#define TILE 32",
		7:  `__global__ void k(float *x) { printf("%d\n", TILE); }`,
		11: " torch::Tensor run(torch::Tensor x);",
	} {
		if lines[n-1] != want {
			t.Errorf("line %d is %q, want %q", n, lines[n-1], want)
		}
	}
	file := Read(binding.Request{Path: "k.py", Inline: true}, code, nil)
	for _, fn := range file.Functions {
		if want := map[string]string{"run": "run"}[fn.Name]; fn.BoundName != want {
			t.Errorf("%s is bound as %q, want %q", fn.Name, fn.BoundName, want)
		}
	}
}

// A string that only the running file knows is refused with its line, and what to do.
func TestInlineSourcesMadeWhileItRuns(t *testing.T) {
	for _, made := range []struct{ old, new, want string }{
		{"#define TILE 32", "#define TILE {TILE}", "line 5 is made while the file runs, by {TILE}"},
		{`return x; }}"""`, `return x; }}""".replace("a", "b")`, "by .replace("},
		{`return x; }}"""`, `return x; }}""" + str(TILE)`, "by + str(TILE)"},
		{"cuda_sources=source", "cuda_sources=source.replace('a', 'b')", "by .replace("},
		{"cuda_sources=source", "cuda_sources=source % TILE", "by %"},
	} {
		text := strings.Replace(inlineFile, made.old, made.new, 1)
		if _, _, err := InlineSources(parsed(text)); err == nil || !strings.Contains(err.Error(), made.want) {
			t.Errorf("%v, want %q", err, made.want)
		}
	}
	if _, ok, err := InlineSources(parsed("def softmax(x):\n    return x\n")); ok || err != nil {
		t.Error("a file without load_inline is plain Python", ok, err)
	}
}
