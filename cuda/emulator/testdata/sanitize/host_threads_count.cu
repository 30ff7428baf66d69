// Two threads of the host prepare halves of the input, and count what they have done in one number.
#include <atomic>
#include <cstdio>
#include <cuda_runtime.h>
#include <thread>

__global__ void twice(float *x, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) x[i] *= 2;
}

#ifdef FIXED
std::atomic<int> done;
#else
int done;
#endif

static void prepare(float *h, int from, int to) {
	for (int i = from; i < to; i++) {
		h[i] = i;
		done++;   // BUG(thread host-race)
	}
}

int main() {
	static float h[64];
	std::thread first(prepare, h, 0, 32), second(prepare, h, 32, 64);
	first.join();
	second.join();
	float *x;
	cudaMalloc(&x, sizeof h);
	cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
	twice<<<1, 64>>>(x, 64);
	cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
	printf("%g %d\n", h[63], done > 0);
	cudaFree(x);
}
