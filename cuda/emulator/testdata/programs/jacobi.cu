// Laplace's equation on a square, with a residual by a reduction that says when it is done; errors of calls are looked at.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(call)                                                                    \
	do {                                                                               \
		cudaError_t error = (call);                                                    \
		if (error != cudaSuccess) {                                                    \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
			exit(1);                                                                   \
		}                                                                              \
	} while (0)

const int N = 34;

__global__ void relax(const float *a, float *b, float *most) {
	__shared__ float s[64];
	const int x = blockIdx.x * 8 + threadIdx.x + 1, y = blockIdx.y * 8 + threadIdx.y + 1, t = threadIdx.y * 8 + threadIdx.x;
	const int i = y * N + x;
	b[i] = 0.25f * (a[i - 1] + a[i + 1] + a[i - N] + a[i + N]);
	s[t] = fabsf(b[i] - a[i]);
	__syncthreads();
	for (int k = 32; k > 0; k >>= 1) {
		if (t < k) s[t] = fmaxf(s[t], s[t + k]);
		__syncthreads();
	}
	if (t == 0) atomicMax((int *)most, __float_as_int(s[0]));   // not negative: as integers in the same order
}

int main() {
	std::vector<float> grid(N * N, 0), got(N * N);
	for (int i = 0; i < N; i++) {
		grid[i] = grid[i * N] = i;                   // harmonic: x + y on the border
		grid[(N - 1) * N + i] = grid[i * N + N - 1] = N - 1 + i;
	}
	float *a, *b, *most, moved = 1;
	CHECK(cudaMalloc(&a, N * N * sizeof(float)));
	CHECK(cudaMalloc(&b, N * N * sizeof(float)));
	CHECK(cudaMalloc(&most, sizeof(float)));
	CHECK(cudaMemcpy(a, grid.data(), N * N * sizeof(float), cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(b, a, N * N * sizeof(float), cudaMemcpyDeviceToDevice));
	int rounds = 0;
	for (; moved > 2e-3f && rounds < 2000; rounds++) {
		CHECK(cudaMemset(most, 0, sizeof(float)));
		relax<<<dim3(4, 4), dim3(8, 8)>>>(a, b, most);
		CHECK(cudaGetLastError());
		CHECK(cudaMemcpy(&moved, most, sizeof(float), cudaMemcpyDeviceToHost));
		std::swap(a, b);
	}
	CHECK(cudaMemcpy(got.data(), a, N * N * sizeof(float), cudaMemcpyDeviceToHost));
	bool right = rounds < 2000;
	for (int y = 0; y < N; y++)
		for (int x = 0; x < N; x++) right = right && fabsf(got[y * N + x] - (x + y)) < 1.0f;
	CHECK(cudaFree(a));
	CHECK(cudaFree(b));
	CHECK(cudaFree(most));
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
