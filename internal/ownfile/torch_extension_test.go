package ownfile

import (
	"strings"
	"testing"

	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/shim"
)

const extensionFile = `#include <torch/extension.h>
template <typename T> __global__ void k(const T* x, T* y, int n) {}
torch::Tensor run_cuda(const torch::Tensor& x) {
	auto y = torch::empty_like(x);
	AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "run", ([&] { k<scalar_t><<<1, 1>>>(0, 0, 1); }));
	return y;
}
std::vector<at::Tensor> run_cuda_backward(torch::Tensor grad_y, c10::optional<torch::Tensor> mask,
                                          at::Tensor y) {
	return {grad_y};
}
void helper(torch::Tensor t) { k<float><<<1, 1>>>(t.data<float>(), 0, 1); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
	m.def("forward", &run_cuda, "runs");
	m.def("backward", torch::wrap_pybind_function(run_cuda_backward));
}
`

// A PyTorch extension is judged by the functions that it binds, on the dtypes that it dispatches over;
// tensors carry their sizes, and returned values are stored.
func TestPyTorchExtension(t *testing.T) {
	r := binding.Request{Path: "mine.cu"}
	s := rowsAndCols(t)
	bindings, err := Bind(Read(r, extensionFile, nil), r, s, s.Passes(), binding.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := bindings[0].Matched() + " in " + strings.Join(bindings[0].DTypes(), " ")
	if got != "x is x in fp32 fp16" {
		t.Errorf("matched %q", got)
	}
	code := shim.CUDAShim("mine.cu", "mine/mine", bindings)
	for _, want := range []string{
		`#include "own_extension.cuh"`,
		"triad_own_tensor_0 = triad_own::tensor(triad_own::tensor_of(triad_own_call, 0));",
		"triad_own::store(triad_own_call, {0}, ::run_cuda(triad_own_tensor_0))", "/*outputs*/ 1u",
	} {
		if !strings.Contains(code, want) {
			t.Errorf("the code does not have %q:\n%s", want, code)
		}
	}
}

// A tensor that a function receives and returns is its output: if --map makes it an input, the refusal names
// it.
func TestGivesBackWhatItWasHanded(t *testing.T) {
	r := binding.Request{Path: "mine.cu"}
	s := pairOfRows(t)
	const text = `#include <torch/extension.h>
__global__ void k(const float* a, float* c) { c[0] *= a[0]; }
torch::Tensor forward(torch::Tensor A, torch::Tensor C) {
	k<<<1, 1>>>(A.data_ptr<float>(), C.data_ptr<float>());
	return C;
}
`
	_, err := Bind(Read(r, text, nil), r, s, s.Passes(),
		binding.Options{Map: map[string]string{"A": "z", "C": "x"}})
	if err == nil || !strings.Contains(err.Error(), "(z=A, x=C, y=?)") {
		t.Error(err)
	}
}
