// gemm/backward: the gradients of a product are products.
#include <cuda_runtime.h>

__global__ void gradient_of_a(const float *B, const float *grad_c, float *grad_a, int M, int N, int K) {
	int k = blockIdx.x * blockDim.x + threadIdx.x;
	int i = blockIdx.y * blockDim.y + threadIdx.y;
	if (i >= M || k >= K) return;
	float sum = 0;
	for (int j = 0; j < N; j++) sum += grad_c[(long long)i * N + j] * B[(long long)j * K + k];
	grad_a[(long long)i * K + k] = sum;
}

__global__ void gradient_of_b(const float *A, const float *grad_c, float *grad_b, int M, int N, int K) {
	int j = blockIdx.x * blockDim.x + threadIdx.x;
	int k = blockIdx.y * blockDim.y + threadIdx.y;
	if (k >= K || j >= N) return;
	float sum = 0;
	for (int i = 0; i < M; i++) sum += A[(long long)i * K + k] * grad_c[(long long)i * N + j];
	grad_b[(long long)k * N + j] = sum;
}

// triad: gemm(a=A, b=B, grad_y=grad_c, grad_a=grad_a, grad_b=grad_b, batch=1, m=M, n=N, k=K, pass=backward)
extern "C" void solve(const float *A, const float *B, const float *grad_c, float *grad_a, float *grad_b, int M, int N,
                      int K) {
	dim3 block(16, 16);
	gradient_of_a<<<dim3((K + 15) / 16, (M + 15) / 16), block>>>(B, grad_c, grad_a, M, N, K);
	gradient_of_b<<<dim3((N + 15) / 16, (K + 15) / 16), block>>>(A, grad_c, grad_b, M, N, K);
}
