// The game of life on a torus, with byte cells.
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

__global__ void step(const unsigned char *from, unsigned char *to, int w, int h) {
	int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
	if (c >= w || r >= h) return;
	int alive = 0;
	for (int i = -1; i <= 1; i++)
		for (int j = -1; j <= 1; j++)
			if (i || j) alive += from[(r + i + h) % h * w + (c + j + w) % w];
	to[r * w + c] = alive == 3 || (alive == 2 && from[r * w + c]);
}

bool near(double a, double b) { return fabs(a - b) <= 1e-4 * (1 + fabs(b)); }

int main() {
	bool right = true;
	const int w = 40, h = 30;
	std::vector<unsigned char> x(w * h), next(w * h);
	for (int i = 0; i < w * h; i++) x[i] = i * i % 7 < 3;
	Array<unsigned char> a(x), b(w * h);
	for (int i = 0; i < 10; i++) {
		step<<<dim3(3, 4), dim3(16, 8)>>>(i % 2 ? b.data : a.data, i % 2 ? a.data : b.data, w, h);
		for (int r = 0; r < h; r++)
			for (int c = 0; c < w; c++) {
				int alive = 0;
				for (int k = 0; k < 9; k++)
					if (k != 4) alive += x[(r + k / 3 - 1 + h) % h * w + (c + k % 3 - 1 + w) % w];
				next[r * w + c] = alive == 3 || (alive == 2 && x[r * w + c]);
			}
		x = next;
	}
	right = a.host() == x;
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
