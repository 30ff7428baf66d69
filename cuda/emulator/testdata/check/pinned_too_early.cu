// The host reads what an asynchronous copy is still writing.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void fill(float *y) { y[threadIdx.x] = 1; }

int main() {
	float *y, *h;
	cudaStream_t stream;
	cudaStreamCreate(&stream);
	cudaMalloc(&y, 32 * sizeof(float));
	cudaMallocHost(&h, 32 * sizeof(float));
	fill<<<1, 32, 0, stream>>>(y);
	cudaMemcpyAsync(h, y, 32 * sizeof(float), cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
	cudaStreamSynchronize(stream);
#endif
	printf("%g\n", h[3]);   // BUG(not-waited-for)
	cudaStreamDestroy(stream);
	cudaFreeHost(h);
	cudaFree(y);
}
