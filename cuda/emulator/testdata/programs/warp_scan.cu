// An exclusive scan of a block by scans of its warps, in three kernels for any length.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

const int BLOCK = 256;

__device__ int scan_of_warp(int v) {
	const int lane = threadIdx.x & 31;
	for (int k = 1; k < 32; k *= 2) {
		const int below = __shfl_up_sync(0xffffffff, v, k);
		if (lane >= k) v += below;
	}
	return v;
}

__device__ int scan_of_block(int v) {
	__shared__ int warps[BLOCK / 32];
	const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
	v = scan_of_warp(v);
	if (lane == 31) warps[warp] = v;
	__syncthreads();
	if (warp == 0) {
		const int sum = scan_of_warp(lane < BLOCK / 32 ? warps[lane] : 0);
		if (lane < BLOCK / 32) warps[lane] = sum;
	}
	__syncthreads();
	return warp ? v + warps[warp - 1] : v;
}

__global__ void parts(const int *x, int *y, int *sums, int n) {
	const int i = blockIdx.x * BLOCK + threadIdx.x, mine = i < n ? x[i] : 0, upto = scan_of_block(mine);
	if (i < n) y[i] = upto - mine;
	if (threadIdx.x == BLOCK - 1) sums[blockIdx.x] = upto;
}

__global__ void of_sums(int *sums, int n) {
	const int mine = threadIdx.x < n ? sums[threadIdx.x] : 0, upto = scan_of_block(mine);
	if (threadIdx.x < n) sums[threadIdx.x] = upto - mine;
}

__global__ void add(int *y, const int *sums, int n) {
	const int i = blockIdx.x * BLOCK + threadIdx.x;
	if (i < n) y[i] += sums[blockIdx.x];
}

int main() {
	const int n = 4321, blocks = (n + BLOCK - 1) / BLOCK;
	std::vector<int> x(n), got(n);
	for (int i = 0; i < n; i++) x[i] = i * 29 % 41 - 15;
	int *dx, *dy, *sums;
	cudaMalloc(&dx, n * sizeof(int));
	cudaMalloc(&dy, n * sizeof(int));
	cudaMalloc(&sums, blocks * sizeof(int));
	cudaMemcpy(dx, x.data(), n * sizeof(int), cudaMemcpyHostToDevice);
	parts<<<blocks, BLOCK>>>(dx, dy, sums, n);
	of_sums<<<1, BLOCK>>>(sums, blocks);
	add<<<blocks, BLOCK>>>(dy, sums, n);
	cudaMemcpy(got.data(), dy, n * sizeof(int), cudaMemcpyDeviceToHost);
	bool right = true;
	for (int i = 0, sum = 0; i < n; sum += x[i++]) right = right && got[i] == sum;
	for (int *p : {dx, dy, sums}) cudaFree(p);
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
