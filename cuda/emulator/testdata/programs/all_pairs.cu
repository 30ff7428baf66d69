// Shortest ways between all pairs of a graph, one launch for each node in between.
#include <algorithm>
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

__global__ void through(int *d, int k, int n) {
	__shared__ int to_k;
	const int i = blockIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
	if (threadIdx.x == 0) to_k = d[i * n + k];
	__syncthreads();
	if (j >= n || i == k || j == k) return;
	const int way = to_k + d[k * n + j];
	if (way < d[i * n + j]) d[i * n + j] = way;
}

int main() {
	const int n = 45;
	std::vector<int> d(n * n, 100000), got(n * n);
	for (int i = 0; i < n; i++) {
		d[i * n + i] = 0;
		d[i * n + (i + 1) % n] = 3 + i % 4;
		d[i * n + i * i % n] = i == i * i % n ? 0 : 7;
	}
	int *x;
	cudaMalloc(&x, n * n * sizeof(int));
	cudaMemcpy(x, d.data(), n * n * sizeof(int), cudaMemcpyHostToDevice);
	for (int k = 0; k < n; k++) through<<<dim3((n + 31) / 32, n), 32>>>(x, k, n);
	cudaMemcpy(got.data(), x, n * n * sizeof(int), cudaMemcpyDeviceToHost);
	for (int k = 0; k < n; k++)
		for (int i = 0; i < n; i++)
			for (int j = 0; j < n; j++) d[i * n + j] = std::min(d[i * n + j], d[i * n + k] + d[k * n + j]);
	cudaFree(x);
	const bool right = got == d;
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
