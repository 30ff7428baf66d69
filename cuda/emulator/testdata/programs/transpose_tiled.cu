// A transpose through a padded tile, with a border.
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

const int TILE = 32, ROWS = 8;
__global__ void transpose(const float *x, float *y, int width, int height) {
	__shared__ float tile[TILE][TILE + 1];
	int c = blockIdx.x * TILE + threadIdx.x, r = blockIdx.y * TILE + threadIdx.y;
	for (int j = 0; j < TILE; j += ROWS)
		if (c < width && r + j < height) tile[threadIdx.y + j][threadIdx.x] = x[(r + j) * width + c];
	__syncthreads();
	c = blockIdx.y * TILE + threadIdx.x;
	r = blockIdx.x * TILE + threadIdx.y;
	for (int j = 0; j < TILE; j += ROWS)
		if (c < height && r + j < width) y[(r + j) * height + c] = tile[threadIdx.x][threadIdx.y + j];
}

bool near(double a, double b) { return fabs(a - b) <= 1e-4 * (1 + fabs(b)); }

int main() {
	bool right = true;
	const int w = 70, h = 45;
	std::vector<float> x(w * h);
	for (int i = 0; i < w * h; i++) x[i] = i;
	Array<float> dx(x), dy(w * h);
	dim3 grid((w + TILE - 1) / TILE, (h + TILE - 1) / TILE), block(TILE, ROWS);
	transpose<<<grid, block>>>(dx.data, dy.data, w, h);
	std::vector<float> y = dy.host();
	for (int r = 0; r < h; r++)
		for (int c = 0; c < w; c++) right = right && y[c * h + r] == x[r * w + c];
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
