// The number of bytes of a large image does not fit into an int, and comes out negative.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void fill(float *y) { y[threadIdx.x] = threadIdx.x; }

int main(int argc, char **) {
	const int width = 30000 * argc, height = 20000 * argc;
#ifdef FIXED
	const long long bytes = static_cast<long long>(width) * height * 4;
#else
	const long long bytes = width * height * 4;   // BUG(undefined overflow)
#endif
	float *y, h[32];
	cudaMalloc(&y, sizeof h);
	fill<<<1, 32>>>(y);
	cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
	printf("%g, %s\n", h[31], bytes > (1ll << 30) ? "in parts" : "at once");
	cudaFree(y);
}
