// A dot product: each thread adds as it strides through the grid, each warp by shuffles, and the warps by an atomic.
#include <cmath>
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

__global__ void dot(const double *a, const double *b, double *sum, int n) {
	double mine = 0;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += a[i] * b[i];
	for (int k = warpSize / 2; k > 0; k /= 2) mine += __shfl_down_sync(0xffffffff, mine, k);
	if (threadIdx.x % warpSize == 0) atomicAdd(sum, mine);
}

int main() {
	const int n = 10007;
	std::vector<double> a(n), b(n);
	double want = 0, got;
	for (int i = 0; i < n; i++) {
		a[i] = i % 17 * 0.25;
		b[i] = 3 - i % 5;
		want += a[i] * b[i];
	}
	double *da, *db, *sum;
	cudaMalloc(&da, n * sizeof(double));
	cudaMalloc(&db, n * sizeof(double));
	cudaMalloc(&sum, sizeof(double));
	cudaMemset(sum, 0, sizeof(double));
	cudaMemcpy(da, a.data(), n * sizeof(double), cudaMemcpyHostToDevice);
	cudaMemcpy(db, b.data(), n * sizeof(double), cudaMemcpyHostToDevice);
	dot<<<6, 192>>>(da, db, sum, n);
	cudaMemcpy(&got, sum, sizeof(double), cudaMemcpyDeviceToHost);
	for (double *p : {da, db, sum}) cudaFree(p);
	const bool right = fabs(got - want) < 1e-9 * fabs(want) + 1e-9;
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
