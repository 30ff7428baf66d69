// A matrix product with shared tiles, sizes no multiple of the tile.
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

template <int T> __global__ void product(const float *a, const float *b, float *c, int m, int n, int k) {
	__shared__ float sa[T][T], sb[T][T];
	int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
	float sum = 0;
	for (int at = 0; at < k; at += T) {
		sa[threadIdx.y][threadIdx.x] = row < m && at + threadIdx.x < k ? a[row * k + at + threadIdx.x] : 0;
		sb[threadIdx.y][threadIdx.x] = at + threadIdx.y < k && col < n ? b[(at + threadIdx.y) * n + col] : 0;
		__syncthreads();
#pragma unroll
		for (int i = 0; i < T; i++) sum += sa[threadIdx.y][i] * sb[i][threadIdx.x];
		__syncthreads();
	}
	if (row < m && col < n) c[row * n + col] = sum;
}

bool near(double a, double b) { return fabs(a - b) <= 1e-4 * (1 + fabs(b)); }

int main() {
	bool right = true;
	const int m = 37, n = 50, k = 29;
	std::vector<float> a(m * k), b(k * n);
	for (int i = 0; i < m * k; i++) a[i] = i % 7 - 3;
	for (int i = 0; i < k * n; i++) b[i] = i % 5 - 2;
	Array<float> da(a), db(b), dc(m * n);
	product<16><<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(da.data, db.data, dc.data, m, n, k);
	std::vector<float> c = dc.host();
	for (int r = 0; r < m; r++)
		for (int q = 0; q < n; q++) {
			float sum = 0;
			for (int i = 0; i < k; i++) sum += a[r * k + i] * b[i * n + q];
			right = right && c[r * n + q] == sum;
		}
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
