// Functions of the runtime that programs use here and there: a launch by pointer, callbacks, mapped memory.
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

__constant__ float factor;

__global__ void scale(const float *x, float *y, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) y[i] = factor * x[i];
}

__global__ void bytes(const unsigned *x, unsigned *y, int *count) {
	y[threadIdx.x] = __vadd4(x[threadIdx.x], 0x01010101u);
	atomicAdd_block(count, 1);
	atomicMax_system(count + 1, int(threadIdx.x));
	atomicCAS_block(count + 2, 0, 7);
}

void called(void *data) { *static_cast<int *>(data) += 1; }

bool near(double a, double b) { return fabs(a - b) <= 1e-4 * (1 + fabs(b)); }

int main() {
	bool right = true;
	int n = 100, calls = 0;
	float *x, *y, f = 3;
	cudaSetDeviceFlags(cudaDeviceMapHost);
	cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 1 << 20);
	cudaHostAlloc(&x, n * sizeof(float), cudaHostAllocMapped);
	for (int i = 0; i < n; i++) x[i] = i;
	float *mapped;
	cudaHostGetDevicePointer(&mapped, x, 0);
	cudaMalloc((void **)&y, n * sizeof(float));
	cudaMemcpyToSymbolAsync(factor, &f, sizeof f);
	void *args[] = {&mapped, &y, &n};
	right = cudaLaunchKernel(scale, dim3(2), dim3(64), args) == cudaSuccess;
	cudaLaunchHostFunc(0, called, &calls);
	std::vector<float> h(n);
	cudaMemcpy(h.data(), y, n * sizeof(float), cudaMemcpyDeviceToHost);
	for (int i = 0; i < n; i++) right = right && h[i] == 3 * i;
	cudaFreeHost(x);
	cudaFree(y);
	Array<unsigned> words(std::vector<unsigned>{0x00ff7f10u, 1u}), more(2);
	Array<int> count(3);
	bytes<<<1, 2>>>(words.data, more.data, count.data);
	right = right && more.host() == std::vector<unsigned>{0x01008011u, 0x01010102u} && count.host() == std::vector<int>{2, 1, 7} && calls == 1;
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
