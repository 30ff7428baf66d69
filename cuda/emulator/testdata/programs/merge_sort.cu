// A merge sort: a launch for each width, where every element finds its place in the other half by bisection.
#include <algorithm>
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

// before counts the elements of a sorted range that go in front of v; equal ones too, if `ties`.
__device__ int before(const int *x, int n, int v, bool ties) {
	int low = 0, high = n;
	while (low < high) {
		const int middle = (low + high) / 2;
		if (x[middle] < v || (ties && x[middle] == v)) low = middle + 1;
		else high = middle;
	}
	return low;
}

__global__ void merge(const int *x, int *y, int width, int n) {
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n) return;
	const int start = i / (2 * width) * (2 * width), middle = min(start + width, n), end = min(start + 2 * width, n);
	const bool left = i < middle;
	const int others = left ? before(x + middle, end - middle, x[i], false) : before(x + start, middle - start, x[i], true);
	y[start + (left ? i - start : i - middle) + others] = x[i];
}

int main() {
	const int n = 1777;
	std::vector<int> x(n), got(n);
	for (int i = 0; i < n; i++) x[i] = i * 7919 % 1009;
	int *a, *b;
	cudaMalloc(&a, n * sizeof(int));
	cudaMalloc(&b, n * sizeof(int));
	cudaMemcpy(a, x.data(), n * sizeof(int), cudaMemcpyHostToDevice);
	for (int width = 1; width < n; width *= 2) {
		merge<<<(n + 255) / 256, 256>>>(a, b, width, n);
		std::swap(a, b);
	}
	cudaMemcpy(got.data(), a, n * sizeof(int), cudaMemcpyDeviceToHost);
	std::sort(x.begin(), x.end());
	cudaFree(a);
	cudaFree(b);
	const bool right = got == x;
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
