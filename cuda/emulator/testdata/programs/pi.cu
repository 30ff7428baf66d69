// Monte Carlo with a generator of its own, and double sums.
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

__global__ void throws(unsigned long long *hits, int each) {
	unsigned state = 12345u + 7919u * (blockIdx.x * blockDim.x + threadIdx.x);
	unsigned long long mine = 0;
	for (int i = 0; i < each; i++) {
		state = state * 1664525u + 1013904223u;
		float x = (state >> 8) / 16777216.0f;
		state = state * 1664525u + 1013904223u;
		float y = (state >> 8) / 16777216.0f;
		mine += x * x + y * y < 1;
	}
	atomicAdd(hits, mine);
}

bool near(double a, double b) { return fabs(a - b) <= 1e-4 * (1 + fabs(b)); }

int main() {
	bool right = true;
	Array<unsigned long long> hits(1);
	throws<<<8, 128>>>(hits.data, 200);
	double pi = 4.0 * hits.host()[0] / (8 * 128 * 200);
	right = fabs(pi - 3.14159) < 0.02;
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
