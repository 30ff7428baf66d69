// A bitonic sort, one launch a step.
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

__global__ void step(float *x, int j, int k) {
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ j;
	if (other <= i) return;
	bool up = (i & k) == 0;
	if (up == (x[i] > x[other])) {
		float kept = x[i];
		x[i] = x[other];
		x[other] = kept;
	}
}

bool near(double a, double b) { return fabs(a - b) <= 1e-4 * (1 + fabs(b)); }

int main() {
	bool right = true;
	std::vector<float> x(2048);
	for (int i = 0; i < 2048; i++) x[i] = (i * 7919) % 2048;
	Array<float> dx(x);
	for (int k = 2; k <= 2048; k *= 2)
		for (int j = k / 2; j > 0; j /= 2) step<<<8, 256>>>(dx.data, j, k);
	std::vector<float> y = dx.host();
	for (int i = 0; i < 2048; i++) right = right && y[i] == i;
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
