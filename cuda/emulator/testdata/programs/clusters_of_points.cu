// k-means of points in the plane: centres in constant memory, sums of a block in shared memory.
#include <cmath>
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

const int K = 4;
__constant__ float2 centres[K];

__global__ void assign(const float2 *points, int *nearest, float *sums, int n) {
	__shared__ float s[K * 3];
	const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
	if (t < K * 3) s[t] = 0;
	__syncthreads();
	if (i < n) {
		int best = 0;
		float least = 1e30f;
		for (int k = 0; k < K; k++) {
			const float dx = points[i].x - centres[k].x, dy = points[i].y - centres[k].y, d = dx * dx + dy * dy;
			if (d < least) least = d, best = k;
		}
		nearest[i] = best;
		atomicAdd(&s[best * 3], points[i].x);
		atomicAdd(&s[best * 3 + 1], points[i].y);
		atomicAdd(&s[best * 3 + 2], 1.0f);
	}
	__syncthreads();
	if (t < K * 3) atomicAdd(&sums[t], s[t]);
}

int main() {
	const int n = 400;
	std::vector<float2> points(n);
	std::vector<int> nearest(n);
	for (int i = 0; i < n; i++) points[i] = make_float2((i % 2) * 10 + i % 7 * 0.1f, (i / 2 % 2) * 10 + i % 5 * 0.1f);
	float2 c[K] = {{1, 1}, {6, 2}, {2, 7}, {8, 9}}, *d;
	int *near;
	float *sums, s[K * 3];
	cudaMalloc(&d, n * sizeof(float2));
	cudaMalloc(&near, n * sizeof(int));
	cudaMalloc(&sums, sizeof s);
	cudaMemcpy(d, points.data(), n * sizeof(float2), cudaMemcpyHostToDevice);
	for (int round = 0; round < 5; round++) {
		cudaMemcpyToSymbol(centres, c, sizeof c);
		cudaMemset(sums, 0, sizeof s);
		assign<<<(n + 95) / 96, 96>>>(d, near, sums, n);
		cudaMemcpy(s, sums, sizeof s, cudaMemcpyDeviceToHost);
		for (int k = 0; k < K; k++)
			if (s[k * 3 + 2] > 0) c[k] = make_float2(s[k * 3] / s[k * 3 + 2], s[k * 3 + 1] / s[k * 3 + 2]);
	}
	cudaMemcpy(nearest.data(), near, n * sizeof(int), cudaMemcpyDeviceToHost);
	bool right = true;
	for (int i = 0; i < n; i++) right = right && nearest[i] == i % 2 + 2 * (i / 2 % 2);
	for (int k = 0; k < K; k++) right = right && s[k * 3 + 2] == n / K;
	cudaFree(d);
	cudaFree(near);
	cudaFree(sums);
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
