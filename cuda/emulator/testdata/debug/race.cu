// A reduction without a barrier in its loop: warp 0 adds what warp 1 has not written yet.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void sum(const int *x, int *y) {
	__shared__ int s[128];
	int t = threadIdx.x;
	s[t] = x[t];
	__syncthreads();
	for (int k = 64; k > 0; k /= 2) {
		if (t < k) s[t] += s[t + k];
	}
	if (t == 0) *y = s[0];
}

int main() {
	int h[128], *x, *y;
	for (int &v : h) v = 1;
	cudaMalloc(&x, sizeof h);
	cudaMalloc(&y, sizeof(int));
	cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
	sum<<<1, 128>>>(x, y);
	cudaMemcpy(h, y, sizeof(int), cudaMemcpyDeviceToHost);
	printf("%d\n", h[0]);
	cudaFree(x);
	cudaFree(y);
}
