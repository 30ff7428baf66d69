#include <cstdio>
#include <cuda_runtime.h>

// One thread for each element; the last block has more threads than elements.
__global__ void vectorAdd(const float *a, const float *b, float *c, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	c[i] = a[i] + b[i];
}

int main() {
	const int n = 1000;
	float *a, *b, *c;
	cudaMallocManaged(&a, n * sizeof(float));
	cudaMallocManaged(&b, n * sizeof(float));
	cudaMallocManaged(&c, n * sizeof(float));
	for (int i = 0; i < n; i++) {
		a[i] = i;
		b[i] = 2 * i;
	}
	vectorAdd<<<(n + 255) / 256, 256>>>(a, b, c, n);
	cudaDeviceSynchronize();
	printf("c[10] = %f\n", c[10]);
	cudaFree(a);
	cudaFree(b);
	cudaFree(c);
}
