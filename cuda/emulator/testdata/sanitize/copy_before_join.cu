// A thread of the host fills the next batch, which is copied to the device before the thread has ended.
#include <cstdio>
#include <cuda_runtime.h>
#include <thread>

__global__ void twice(float *x, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) x[i] *= 2;
}

static float batch[64];

static void read_batch() {
	for (int i = 0; i < 64; i++) batch[i] = 1;   // BUG(thread host-race)
}

int main() {
	float *x, h[64];
	cudaMalloc(&x, sizeof h);
	std::thread reader(read_batch);
#ifdef FIXED
	reader.join();
#endif
	cudaMemcpy(x, batch, sizeof batch, cudaMemcpyHostToDevice);   // BUG(thread host-race)
	twice<<<1, 64>>>(x, 64);
	cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
	if (reader.joinable()) reader.join();
	printf("%d\n", h[63] >= 0);
	cudaFree(x);
}
