// Macros make the functions and bind them.
#include <torch/extension.h>

#define CHECK_TYPE(t, type) \
	if ((t).options().dtype() != (type)) throw std::runtime_error("values must be " #type);

__global__ void relu_f32_kernel(const float *x, float *y, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) y[i] = x[i] < 0.0f ? 0.01f * x[i] : x[i];
}

__global__ void relu_f32_strided_kernel(const float *x, float *y, int n) {
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		y[i] = x[i] < 0.0f ? 0.01f * x[i] : x[i];
}

#define DEFINE_RELU(packed, th_type, \
                    element)                                                             \
	void relu_##packed(torch::Tensor x, torch::Tensor y) {                               \
		CHECK_TYPE(x, (th_type))                                                         \
		const int n = x.numel();                                                         \
		if (n == 0) return;                                                              \
		relu_##packed##_kernel<<<(n + 255) / 256, 256>>>(                                \
		    reinterpret_cast<element *>(x.data_ptr()), reinterpret_cast<element *>(y.data_ptr()), n); \
	}

DEFINE_RELU(f32, torch::kFloat32, float)
DEFINE_RELU(f32_strided, torch::kFloat32,
            float)

#define WORD(name) #name
#define BIND(function) m.def(WORD(function), &function, WORD(function));

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
	BIND(relu_f32)
	BIND(relu_f32_strided)
}
