// A sum by a cooperative launch: blocks write their parts, meet at the grid's barrier, and the first adds them. A second
// kernel smooths an array in place, ten times, with the grid's barrier between the steps.
#include <cmath>
#include <cooperative_groups.h>
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

__global__ void sum(const float *x, float *part, float *y, int n) {
	cg::grid_group grid = cg::this_grid();
	cg::thread_block block = cg::this_thread_block();
	extern __shared__ float s[];
	float v = 0;
	for (int i = grid.thread_rank(); i < n; i += grid.size()) v += x[i];
	s[block.thread_rank()] = v;
	block.sync();
	for (unsigned k = block.size() / 2; k > 0; k /= 2) {
		if (block.thread_rank() < k) s[block.thread_rank()] += s[block.thread_rank() + k];
		block.sync();
	}
	if (block.thread_rank() == 0) part[blockIdx.x] = s[0];
	cg::sync(grid);
	if (grid.thread_rank() == 0) {
		float total = 0;
		for (unsigned b = 0; b < gridDim.x; b++) total += part[b];
		*y = total;
	}
}

template <int steps> __global__ void smooth(float *a, float *b, int n) {
	auto grid = cg::this_grid();
	for (int step = 0; step < steps; step++) {
		for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
			float left = a[i > 0 ? i - 1 : i], right = a[i < n - 1 ? i + 1 : i];
			b[i] = 0.25f * left + 0.5f * a[i] + 0.25f * right;
		}
		grid.sync();
		float *kept = a;
		a = b;
		b = kept;
	}
}

int main() {
	const int n = 5000;
	int sms, blocks, can;
	cudaDeviceGetAttribute(&can, cudaDevAttrCooperativeLaunch, 0);
	cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
	cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, sum, 256, 256 * sizeof(float));
	dim3 grid(sms * blocks), threads(256);
	std::vector<float> x(n), want(n), next(n), got(n);
	for (int i = 0; i < n; i++) want[i] = x[i] = i * 7 % 11;
	float *a, *b, *part, *y, total = 0, expected = 0;
	for (float v : x) expected += v;
	cudaMalloc(&a, n * sizeof(float));
	cudaMalloc(&b, n * sizeof(float));
	cudaMalloc(&part, grid.x * sizeof(float));
	cudaMalloc(&y, sizeof(float));
	cudaMemcpy(a, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
	int count = n;
	void *sum_args[] = {&a, &part, &y, &count};
	bool right = can && cudaLaunchCooperativeKernel((void *)sum, grid, threads, sum_args, 256 * sizeof(float), 0) == cudaSuccess;
	cudaMemcpy(&total, y, sizeof(float), cudaMemcpyDeviceToHost);
	right = right && total == expected;
	void *args[] = {&a, &b, &count};
	right = right && cudaLaunchCooperativeKernel((void *)smooth<10>, dim3(5), dim3(96), args) == cudaSuccess;
	cudaMemcpy(got.data(), a, n * sizeof(float), cudaMemcpyDeviceToHost);
	for (int step = 0; step < 10; step++) {
		for (int i = 0; i < n; i++)
			next[i] = 0.25f * want[i > 0 ? i - 1 : i] + 0.5f * want[i] + 0.25f * want[i < n - 1 ? i + 1 : i];
		want.swap(next);
	}
	for (int i = 0; i < n; i++) right = right && fabsf(got[i] - want[i]) < 1e-4f;
	for (float *p : {a, b, part, y}) cudaFree(p);
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
