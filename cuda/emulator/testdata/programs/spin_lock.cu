// A critical section by a spin lock that keeps the rules.
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

__device__ int taken = 0;

__global__ void add(int *list, int *count) {
	if (threadIdx.x != 0) return;
	while (atomicCAS(&taken, 0, 1) != 0) {
	}
	__threadfence();
	int at = *count;
	list[at] = blockIdx.x;
	*count = at + 1;
	__threadfence();
	atomicExch(&taken, 0);
}

bool near(double a, double b) { return fabs(a - b) <= 1e-4 * (1 + fabs(b)); }

int main() {
	bool right = true;
	Array<int> list(40), count(1);
	add<<<40, 64>>>(list.data, count.data);
	std::vector<int> all = list.host(), seen(40);
	for (int b : all) seen[b]++;
	right = count.host()[0] == 40;
	for (int b : seen) right = right && b == 1;
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
