package ownfile

import (
	"strings"
	"testing"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/params"
	"triad/internal/ownfile/shim"
)

// fromXToY is an operator of one size that makes y of x.
func fromXToY(t *testing.T) *op.Spec {
	t.Helper()
	for _, o := range catalog.All() {
		if s := o.Spec; len(s.Dims) == 1 && len(s.InputSpecs) == 1 && s.InputSpecs[0].Name == "x" &&
			s.OutputSpecs[0].Name == "y" && len(s.Attributes) == 0 {
			return s
		}
	}
	t.Fatal("the catalog has no such operator")
	return nil
}

// kernel is the beginning of each CUDA file.
const kernel = "__global__ void f(const float* x, float* y, int n) "

// A file that adds with atomics declares that the bits of its outputs may vary; another does not.
func TestAtomicsMayVary(t *testing.T) {
	for _, c := range []struct {
		cuda   bool
		text   string
		varies bool
	}{
		{true, kernel + "{ atomicAdd(y, x[threadIdx.x]); }", true},
		{true, kernel + "{ /* atomicAdd( */ y[0] = x[0]; }", false},
		{false, "def f(x):\n    tl.atomic_add(y, x)\n    return y\n", true},
		{false, "def f(x):\n    return x\n", false},
	} {
		file := ReadPython(c.text, parsed)
		if c.cuda {
			file = cfacts.ReadCUDA(c.text)
		}
		b, err := params.Match(file, file.Functions[0], fromXToY(t), op.Forward, binding.Options{})
		if err != nil {
			t.Fatal(err)
		}
		code, declared := shim.PythonShim("f.py", "f", []*binding.Binding{b}), `nondeterministic=("y"`
		if c.cuda {
			code, declared = shim.CUDAShim("f.cu", "f", []*binding.Binding{b}), "/*nondeterministic*/ 1u"
		}
		if strings.Contains(code, declared) != c.varies ||
			strings.Contains(Describe(b), "adds with atomics") != c.varies {
			t.Errorf("%s\nvaries %v is not declared:\n%s", c.text, c.varies, Describe(b))
		}
	}
}
