// An exclusive scan up and down a tree (Blelloch).
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

__global__ void scan(int *x, int n) {
	extern __shared__ int s[];
	int t = threadIdx.x, step = 1;
	s[2 * t] = x[2 * t];
	s[2 * t + 1] = x[2 * t + 1];
	for (int d = n / 2; d > 0; d /= 2, step *= 2) {
		__syncthreads();
		if (t < d) s[step * (2 * t + 2) - 1] += s[step * (2 * t + 1) - 1];
	}
	if (t == 0) s[n - 1] = 0;
	for (int d = 1; d < n; d *= 2) {
		step /= 2;
		__syncthreads();
		if (t < d) {
			int a = step * (2 * t + 1) - 1, b = step * (2 * t + 2) - 1, kept = s[a];
			s[a] = s[b];
			s[b] += kept;
		}
	}
	__syncthreads();
	x[2 * t] = s[2 * t];
	x[2 * t + 1] = s[2 * t + 1];
}

bool near(double a, double b) { return fabs(a - b) <= 1e-4 * (1 + fabs(b)); }

int main() {
	bool right = true;
	std::vector<int> x(512);
	for (int i = 0; i < 512; i++) x[i] = i % 9;
	Array<int> dx(x);
	scan<<<1, 256, 512 * sizeof(int)>>>(dx.data, 512);
	std::vector<int> y = dx.host();
	for (int i = 0, sum = 0; i < 512; sum += x[i++]) right = right && y[i] == sum;
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
