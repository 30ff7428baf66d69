// A kernel takes a reference, and what is passed is a variable of the host.
#include <cstdio>

struct Settings {
	float scale, shift;
};

#ifdef FIXED
__global__ void apply(Settings s, float *y) { y[threadIdx.x] = s.scale * threadIdx.x + s.shift; }
#else
__global__ void apply(const Settings &s, float *y) { y[threadIdx.x] = s.scale * threadIdx.x + s.shift; }   // BUG(host-pointer)
#endif

int main() {
	Settings s = {2, 1};
	float h[32], *y;
	cudaMalloc(&y, sizeof h);
	apply<<<1, 32>>>(s, y);
	cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
	printf("%g\n", h[3]);
	cudaFree(y);
}
