// An extension that is handed its output, and returns it.
#include <cuda_fp16.h>
#include <torch/extension.h>

__global__ void product(const __half *A, const __half *B, __half *C, int M, int N, int K) {
	const int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
	if (row >= M || col >= N) return;
	float sum = 0.0f;
	for (int k = 0; k < K; k++) sum += __half2float(A[row * K + k]) * __half2float(B[k * N + col]);
	C[row * N + col] = __float2half(sum);
}

torch::Tensor forward(torch::Tensor A, torch::Tensor B, torch::Tensor C) {
	const int M = A.size(0), K = A.size(1), N = B.size(1);
	product<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(
		reinterpret_cast<const __half *>(A.data_ptr<at::Half>()),
		reinterpret_cast<const __half *>(B.data_ptr<at::Half>()),
		reinterpret_cast<__half *>(C.data_ptr<at::Half>()), M, N, K);
	return C;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "a product"); }
