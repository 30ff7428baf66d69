// An odd-even sort in shared memory.
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

__global__ void sort(int *x, int n) {
	extern __shared__ int s[];
	int t = threadIdx.x;
	for (int i = t; i < n; i += blockDim.x) s[i] = x[i];
	__syncthreads();
	for (int pass = 0; pass < n; pass++) {
		int i = 2 * t + pass % 2;
		if (i + 1 < n && s[i] > s[i + 1]) {
			int kept = s[i];
			s[i] = s[i + 1];
			s[i + 1] = kept;
		}
		__syncthreads();
	}
	for (int i = t; i < n; i += blockDim.x) x[i] = s[i];
}

bool near(double a, double b) { return fabs(a - b) <= 1e-4 * (1 + fabs(b)); }

int main() {
	bool right = true;
	std::vector<int> x(101);
	for (int i = 0; i < 101; i++) x[i] = (i * 37) % 101;
	Array<int> dx(x);
	sort<<<1, 64, 101 * sizeof(int)>>>(dx.data, 101);
	std::vector<int> y = dx.host();
	for (int i = 0; i < 101; i++) right = right && y[i] == i;
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
