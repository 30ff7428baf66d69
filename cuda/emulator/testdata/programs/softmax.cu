// Softmax of rows, a block a row, with max and sum in shared memory.
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

__global__ void softmax(const float *x, float *y, int cols) {
	__shared__ float red[128];
	const float *row = x + blockIdx.x * cols;
	int t = threadIdx.x;
	float most = -INFINITY;
	for (int c = t; c < cols; c += blockDim.x) most = fmaxf(most, row[c]);
	red[t] = most;
	__syncthreads();
	for (int k = blockDim.x / 2; k > 0; k >>= 1) {
		if (t < k) red[t] = fmaxf(red[t], red[t + k]);
		__syncthreads();
	}
	most = red[0];
	__syncthreads();
	float sum = 0;
	for (int c = t; c < cols; c += blockDim.x) sum += __expf(row[c] - most);
	red[t] = sum;
	__syncthreads();
	for (int k = blockDim.x / 2; k > 0; k >>= 1) {
		if (t < k) red[t] += red[t + k];
		__syncthreads();
	}
	for (int c = t; c < cols; c += blockDim.x) y[blockIdx.x * cols + c] = __expf(row[c] - most) / red[0];
}

bool near(double a, double b) { return fabs(a - b) <= 1e-4 * (1 + fabs(b)); }

int main() {
	bool right = true;
	const int rows = 9, cols = 300;
	std::vector<float> x(rows * cols);
	for (int i = 0; i < rows * cols; i++) x[i] = i % 19 * 0.3f;
	Array<float> dx(x), dy(rows * cols);
	softmax<<<rows, 128>>>(dx.data, dy.data, cols);
	std::vector<float> y = dy.host();
	for (int r = 0; r < rows; r++) {
		double sum = 0;
		for (int c = 0; c < cols; c++) sum += exp(x[r * cols + c]);
		for (int c = 0; c < cols; c++) right = right && near(y[r * cols + c], exp(x[r * cols + c]) / sum);
	}
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
