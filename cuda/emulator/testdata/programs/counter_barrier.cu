// A barrier for all blocks made by hand: each counts itself in and waits until all have.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

__device__ unsigned int arrivals;

__device__ void meet(unsigned int phase) {
	__syncthreads();
	if (threadIdx.x == 0) {
		__threadfence();
		atomicAdd(&arrivals, 1);
		while (atomicAdd(&arrivals, 0) < phase * gridDim.x) {
		}
		__threadfence();
	}
	__syncthreads();
}

__global__ void rotate(const int *x, int *y, int *z, int n) {
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) y[(i + 100) % n] = x[i];
	meet(1);
	if (i < n) z[(i + 200) % n] = y[i];
	meet(2);
	if (i < n) y[(i + 300) % n] = z[i];
}

int main() {
	const int n = 700;
	std::vector<int> x(n), got(n);
	for (int i = 0; i < n; i++) x[i] = i * i;
	int *dx, *dy, *dz;
	for (int **p : {&dx, &dy, &dz}) cudaMalloc(p, n * sizeof(int));
	cudaMemcpy(dx, x.data(), n * sizeof(int), cudaMemcpyHostToDevice);
	rotate<<<(n + 63) / 64, 64>>>(dx, dy, dz, n);
	cudaMemcpy(got.data(), dy, n * sizeof(int), cudaMemcpyDeviceToHost);
	bool right = true;
	for (int i = 0; i < n; i++) right = right && got[(i + 600) % n] == x[i];
	for (int *p : {dx, dy, dz}) cudaFree(p);
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
