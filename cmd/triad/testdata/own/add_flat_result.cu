// A PyTorch extension that makes its result by numel().
#include <torch/extension.h>

__global__ void add_kernel(const float *a, const float *b, float *c, int size) {
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < size) c[i] = a[i] + b[i];
}

torch::Tensor add(torch::Tensor a, torch::Tensor b) {
	TORCH_CHECK(a.is_contiguous() && b.is_contiguous(), "want contiguous tensors");
	const int size = a.numel();
	TORCH_CHECK(size == b.numel() && size > 0, "want tensors of one size");
	torch::Tensor c = torch::empty(size, a.options());
	add_kernel<<<(size + 255) / 256, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), size);
	return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("add", &add, "a + b"); }
