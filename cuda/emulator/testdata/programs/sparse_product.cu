// A sparse matrix (CSR) times a vector.
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

__global__ void product(const int *row, const int *col, const float *value, const float *x, float *y, int n) {
	int r = blockIdx.x * blockDim.x + threadIdx.x;
	if (r >= n) return;
	float sum = 0;
	for (int e = row[r]; e < row[r + 1]; e++) sum += value[e] * __ldg(&x[col[e]]);
	y[r] = sum;
}

bool near(double a, double b) { return fabs(a - b) <= 1e-4 * (1 + fabs(b)); }

int main() {
	bool right = true;
	const int n = 500;
	std::vector<int> row(n + 1), col;
	std::vector<float> value, x(n), want(n);
	for (int r = 0; r < n; r++) x[r] = r % 9;
	for (int r = 0; r < n; r++) {
		for (int c = r % 5; c < n; c += 37) col.push_back(c), value.push_back(c % 4 + 1), want[r] += value.back() * x[c];
		row[r + 1] = col.size();
	}
	Array<int> drow(row), dcol(col);
	Array<float> dvalue(value), dx(x), dy(n);
	product<<<(n + 127) / 128, 128>>>(drow.data, dcol.data, dvalue.data, dx.data, dy.data, n);
	right = dy.host() == want;
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
