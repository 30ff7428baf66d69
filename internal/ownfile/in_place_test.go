package ownfile

import (
	"slices"
	"strings"
	"testing"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/shim"
)

// formCases holds the functions of testdata/forms.toml, with what their shims must and must not contain.
type formCases struct{ Forms []form }

type form struct {
	Name, Operator, Pass, Text string
	Said                       string // the contract that the user says
	Has, Lacks                 []string
}

func TestForms(t *testing.T) {
	for _, c := range readTable[formCases](t, "forms.toml").Forms {
		var pass op.Pass
		if err := pass.UnmarshalText([]byte(c.Pass)); err != nil {
			t.Fatal(err)
		}
		all, err := Bind(cfacts.ReadCUDA(c.Text), binding.Request{}, spec(t, c.Operator), []op.Pass{pass},
			binding.Options{Contract: c.Said})
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		shim := shim.CUDAShim("mine.cu", "mine/mine", all)
		shim = shim[strings.Index(shim, "#include \"mine.cu\""):] + givenIn(t, all[0])
		for _, words := range c.Has {
			if !strings.Contains(shim, words) {
				t.Errorf("%s: no %q in\n%s", c.Name, words, shim)
			}
		}
		for _, words := range c.Lacks {
			if strings.Contains(shim, words) {
				t.Errorf("%s: %q in\n%s", c.Name, words, shim)
			}
		}
	}
}

// Several functions that fit are all named, so that each can be judged.
func TestSeveralFunctions(t *testing.T) {
	const text = `extern "C" void one(const float* x, float* y, int rows, int cols) {}
extern "C" void two(const float* x, float* y, int rows, int cols) {}
extern "C" void choose(int which, const float* x, float* y, int rows, int cols) {}
extern "C" void third_backward(const float* y, const float* dy, float* dx, int rows, int cols) {}`
	_, err := Bind(cfacts.ReadCUDA(text), binding.Request{}, rowsAndCols(t),
		[]op.Pass{op.Forward, op.Backward},
		binding.Options{})
	several, ok := err.(*SeveralError)
	if !ok || strings.Join(several.Names, " ") != "one two third_backward" {
		t.Errorf("%v, want one, two and third_backward", err)
	}
}

// A function that returns one output and writes another over an input is refused for that: it is not reported
// as wrong for changing its input.
func TestReturnsAndWritesInPlace(t *testing.T) {
	const text = `#include <torch/extension.h>
__global__ void k(const float *a, float *b, const float *c, float *o) {
	float sum = a[threadIdx.x] + b[threadIdx.x];
	b[threadIdx.x] = sum;
	o[threadIdx.x] = sum * c[threadIdx.x];
}
torch::Tensor run(torch::Tensor x, torch::Tensor residual, torch::Tensor weight, float eps) {
	auto y = torch::empty_like(x);
	k<<<x.size(0), x.size(1)>>>(x.data_ptr<float>(), residual.data_ptr<float>(), weight.data_ptr<float>(),
		y.data_ptr<float>());
	return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run); }
`
	r := binding.Request{Path: "mine.cu"}
	found := false
	for _, name := range catalog.Names() {
		s := spec(t, name)
		over := s.Own.InPlace[s.OutputSpecs[len(s.OutputSpecs)-1].Name]
		if len(s.OutputSpecs) < 2 || over != "residual" {
			continue
		}
		found = true
		_, err := Bind(Read(r, text, nil), r, s, []op.Pass{op.Forward}, binding.Options{})
		if err == nil || !strings.Contains(err.Error(), "it returns something and writes in the place") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !found {
		t.Error("no operator writes a sum in the place of an input")
	}
}

// A function that returns the tensor it has changed works in place if the operator's definition pairs the
// output with the input, and if every call does so: a name that stands for another tensor in some calls does
// not.
func TestReturnsWhatItChanges(t *testing.T) {
	for lines, want := range map[string]bool{
		"q.mul_(2)\nk.mul_(2)\nreturn q, k":                                        true,
		"q[0] = 1\nk[0] = 1\nif q.numel() == 0:\n    return (q, k)\nreturn (q, k)": true,
		"q.mul_(2)\nk.mul_(2)\nreturn k, q":                                        false,
		"q = q.contiguous()\nq.mul_(2)\nk.mul_(2)\nreturn q, k":                    false,
		"q, k = q.contiguous(), k.contiguous()\nq.mul_(2)\nk.mul_(2)\nreturn q, k": false,
		"q.mul_(2)\nk.mul_(2)\nreturn q.clone(), k":                                false,
		"q.mul_(2)\nreturn q, k":                                                   false,
	} {
		text := "def rotate(q, k, cos, sin):\n    " + strings.ReplaceAll(lines, "\n", "\n    ") + "\n"
		r, s := binding.Request{Path: "mine.py", Parse: parsed}, paired(t, "q", "k")
		all, err := Bind(Read(r, text, nil), r, s, []op.Pass{op.Forward}, binding.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := all[0].InPlace(); got != want {
			t.Errorf("%s: in place: %t, want %t", lines, got, want)
		}
	}
	const over = "def f(x):\n    x.mul_(2)\n    return x\n"
	r := binding.Request{Path: "mine.py", Parse: parsed}
	all, err := Bind(Read(r, over, nil), r, rowsAndCols(t), []op.Pass{op.Forward}, binding.Options{})
	if err != nil || all[0].InPlace() {
		t.Errorf("an output that the definition does not pair with its input: in place, or %v", err)
	}
}

// paired returns the spec of an operator whose definition pairs all outputs with these inputs.
func paired(t *testing.T, inputs ...string) *op.Spec {
	t.Helper()
	for _, o := range catalog.All() {
		var names []string
		for _, output := range o.Spec.OutputSpecs {
			names = append(names, o.Spec.Own.InPlace[output.Name])
		}
		if slices.Equal(names, inputs) {
			return o.Spec
		}
	}
	t.Fatal("no operator pairs its outputs so")
	return nil
}
