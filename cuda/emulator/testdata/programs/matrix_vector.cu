// A matrix times a vector, one warp a row, by cooperative groups.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

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

namespace cg = cooperative_groups;
__global__ void product(const float *a, const float *x, float *y, int rows, int cols) {
	cg::thread_block block = cg::this_thread_block();
	cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
	int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
	if (row >= rows) return;
	float sum = 0;
	for (int c = warp.thread_rank(); c < cols; c += warp.size()) sum += a[row * cols + c] * x[c];
	sum = cg::reduce(warp, sum, cg::plus<float>());
	if (warp.thread_rank() == 0) y[row] = sum;
}

bool near(double a, double b) { return fabs(a - b) <= 1e-4 * (1 + fabs(b)); }

int main() {
	bool right = true;
	const int rows = 45, cols = 77;
	std::vector<float> a(rows * cols), x(cols);
	for (int i = 0; i < rows * cols; i++) a[i] = i % 11;
	for (int i = 0; i < cols; i++) x[i] = i % 3;
	Array<float> da(a), dx(x), dy(rows);
	product<<<(rows + 3) / 4, 128>>>(da.data, dx.data, dy.data, rows, cols);
	std::vector<float> y = dy.host();
	for (int r = 0; r < rows; r++) {
		float sum = 0;
		for (int c = 0; c < cols; c++) sum += a[r * cols + c] * x[c];
		right = right && y[r] == sum;
	}
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
