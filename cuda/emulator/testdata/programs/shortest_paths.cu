// All shortest paths (Floyd and Warshall), one launch a vertex.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>
#include <algorithm>

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

__global__ void relax(int *d, int n, int k) {
	int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
	if (r >= n || c >= n || r == k || c == k) return;
	int through = d[r * n + k] + d[k * n + c];
	if (through < d[r * n + c]) d[r * n + c] = through;
}

bool near(double a, double b) { return fabs(a - b) <= 1e-4 * (1 + fabs(b)); }

int main() {
	bool right = true;
	const int n = 40;
	std::vector<int> d(n * n);
	for (int i = 0; i < n * n; i++) d[i] = i % (n + 1) == 0 ? 0 : 1 + (i * 31) % 97;
	Array<int> dd(d);
	for (int k = 0; k < n; k++) {
		relax<<<dim3(5, 5), dim3(8, 8)>>>(dd.data, n, k);
		for (int r = 0; r < n; r++)
			for (int c = 0; c < n; c++) d[r * n + c] = std::min(d[r * n + c], d[r * n + k] + d[k * n + c]);
	}
	right = dd.host() == d;
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
