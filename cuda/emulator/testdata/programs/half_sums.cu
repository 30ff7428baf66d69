// fp16 input, fp32 sums, half2 arithmetic.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>
#include <cuda_fp16.h>

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

__global__ void scale(__half2 *x, float a, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) x[i] = __hmul2(x[i], __float2half2_rn(a));
}

__global__ void sum(const __half *x, float *y, int n) {
	float v = 0;
	for (int i = threadIdx.x; i < n; i += 32) v += __half2float(x[i]);
	for (int k = 16; k; k >>= 1) v += __shfl_xor_sync(~0u, v, k);
	if (threadIdx.x == 0) *y = v;
}

bool near(double a, double b) { return fabs(a - b) <= 1e-4 * (1 + fabs(b)); }

int main() {
	bool right = true;
	const int n = 1000;
	std::vector<__half> x(n);
	double want = 0;
	for (int i = 0; i < n; i++) x[i] = __float2half(i % 8), want += 2 * (i % 8);
	Array<__half> dx(x);
	Array<float> dy(1);
	scale<<<4, 128>>>(reinterpret_cast<__half2 *>(dx.data), 2.0f, n / 2);
	sum<<<1, 32>>>(dx.data, dy.data, n);
	right = near(dy.host()[0], want);
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
