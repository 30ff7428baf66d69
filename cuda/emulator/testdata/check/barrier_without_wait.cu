// A barrier of shared memory where threads arrive, and read what others wrote before they have waited.
#include <cuda/barrier>
#include <cstdio>

using barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void turn(const float *x, float *y) {
	__shared__ float s[128];
	__shared__ barrier written;
	const int t = threadIdx.x;
	if (t == 0) init(&written, blockDim.x);
	__syncthreads();
	s[t] = x[t];
	barrier::arrival_token token = written.arrive();
#ifdef FIXED
	written.wait(std::move(token));
#endif
	y[t] = s[127 - t];   // BUG(race)
}

int main() {
	float h[128] = {}, *x, *y;
	cudaMalloc(&x, sizeof h);
	cudaMalloc(&y, sizeof h);
	cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
	turn<<<1, 128>>>(x, y);
	cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
	printf("%g\n", h[0] - h[0]);
	cudaFree(x);
	cudaFree(y);
}
