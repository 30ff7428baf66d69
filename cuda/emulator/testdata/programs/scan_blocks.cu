// An inclusive scan of many blocks: blocks, their sums, and the sums added.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

// Array is device memory that is given back at the end of its scope.
template <class T> struct Array {
	T *data;
	size_t n;
	explicit Array(size_t n) : n(n) {
		cudaMalloc(&data, n * sizeof(T));
		cudaMemset(data, 0, n * sizeof(T));
	}
	explicit Array(const std::vector<T> &h) : Array(h.size()) { cudaMemcpy(data, h.data(), n * sizeof(T), cudaMemcpyHostToDevice); }
	~Array() { cudaFree(data); }
	std::vector<T> host() const {
		std::vector<T> h(n);
		cudaMemcpy(h.data(), data, n * sizeof(T), cudaMemcpyDeviceToHost);
		return h;
	}
};

__global__ void scan_block(const int *x, int *y, int *sums, int n) {
	__shared__ int s[2][256];
	int t = threadIdx.x, i = blockIdx.x * 256 + t, from = 0;
	s[0][t] = i < n ? x[i] : 0;
	__syncthreads();
	for (int k = 1; k < 256; k *= 2, from ^= 1) {
		s[from ^ 1][t] = s[from][t] + (t >= k ? s[from][t - k] : 0);
		__syncthreads();
	}
	if (i < n) y[i] = s[from][t];
	if (t == 255) sums[blockIdx.x] = s[from][255];
}

__global__ void add_sums(int *y, const int *sums, int n) {
	int i = blockIdx.x * 256 + threadIdx.x;
	if (blockIdx.x > 0 && i < n) y[i] += sums[blockIdx.x - 1];
}

bool near(double a, double b) { return fabs(a - b) <= 1e-4 * (1 + fabs(b)); }

int main() {
	bool right = true;
	const int n = 10000, blocks = (n + 255) / 256;
	std::vector<int> x(n);
	for (int i = 0; i < n; i++) x[i] = i % 5 - 1;
	Array<int> dx(x), dy(n), sums(blocks), scanned(blocks), one(1);
	scan_block<<<blocks, 256>>>(dx.data, dy.data, sums.data, n);
	scan_block<<<1, 256>>>(sums.data, scanned.data, one.data, blocks);
	add_sums<<<blocks, 256>>>(dy.data, scanned.data, n);
	std::vector<int> y = dy.host();
	for (int i = 0, sum = 0; i < n; i++) right = right && y[i] == (sum += x[i]);
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
