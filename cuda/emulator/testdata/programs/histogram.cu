// A histogram with bins in shared memory.
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

__global__ void histogram(const unsigned char *x, unsigned int *bins, int n) {
	__shared__ unsigned int local[256];
	for (int b = threadIdx.x; b < 256; b += blockDim.x) local[b] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[x[i]], 1u);
	__syncthreads();
	for (int b = threadIdx.x; b < 256; b += blockDim.x)
		if (local[b]) atomicAdd(&bins[b], local[b]);
}

bool near(double a, double b) { return fabs(a - b) <= 1e-4 * (1 + fabs(b)); }

int main() {
	bool right = true;
	std::vector<unsigned char> x(20000);
	std::vector<unsigned int> want(256);
	for (size_t i = 0; i < x.size(); i++) want[x[i] = i * i % 251]++;
	Array<unsigned char> dx(x);
	Array<unsigned int> bins(256);
	histogram<<<10, 128>>>(dx.data, bins.data, x.size());
	right = bins.host() == want;
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
