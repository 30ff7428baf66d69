package ownfile

import (
	"errors"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/shim"
)

// A template that launches the kernel it is passed is not judged; the function that passes it one is.
func TestLaunchersAreNotJudged(t *testing.T) {
	const text = `#include <torch/extension.h>
__global__ void slow(const float *x, float *y, int rows, int cols) {}
__global__ void fast(const float *x, float *y, int rows, int cols) {}
template <typename K> torch::Tensor launch(const torch::Tensor &x, K kernel) {
	auto y = torch::empty_like(x);
	kernel<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
	return y;
}
torch::Tensor by_slow(const torch::Tensor &x) { return launch(x, slow); }
torch::Tensor by_fast(const torch::Tensor &x) { return launch(x, fast); }`
	_, err := Bind(cfacts.ReadCUDA(text), binding.Request{}, rowsAndCols(t), []op.Pass{op.Forward},
		binding.Options{})
	several := &SeveralError{}
	if !errors.As(err, &several) || strings.Join(several.Names, " ") != "by_slow by_fast" {
		t.Errorf("%v, want by_slow and by_fast", err)
	}
}

// A stream in PyTorch's form is that of the call.
func TestStreamOfPyTorch(t *testing.T) {
	for _, kind := range []string{"at::cuda::CUDAStream", "c10::optional<at::cuda::CUDAStream>"} {
		text := `#include <torch/extension.h>
__global__ void k(const float *x, float *y, int rows, int cols) {}
void run(const torch::Tensor &x, torch::Tensor &y, ` + kind + ` stream) {
	k<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
}`
		all, err := Bind(cfacts.ReadCUDA(text), binding.Request{}, rowsAndCols(t), []op.Pass{op.Forward},
			binding.Options{})
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		shim := shim.CUDAShim("mine.cu", "mine/mine", all)
		if !strings.Contains(shim, "::at::cuda::getCurrentCUDAStream())") {
			t.Errorf("%s: the stream of the call is not passed:\n%s", kind, shim)
		}
	}
}
