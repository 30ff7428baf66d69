// The Mandelbrot set, with a three-dimensional grid of two views.
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

__device__ int steps(float cr, float ci, int most) {
	float zr = 0, zi = 0;
	int i = 0;
	while (i < most && zr * zr + zi * zi < 4.0f) {
		float next = zr * zr - zi * zi + cr;
		zi = 2 * zr * zi + ci;
		zr = next;
		i++;
	}
	return i;
}

__global__ void mandelbrot(int *y, int w, int h) {
	int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y, view = blockIdx.z;
	if (c < w && r < h) y[(view * h + r) * w + c] = steps(-2 + 3.0f * c / w, (-1 + 2.0f * r / h) / (view + 1), 50);
}

bool near(double a, double b) { return fabs(a - b) <= 1e-4 * (1 + fabs(b)); }

int main() {
	bool right = true;
	const int w = 50, h = 30;
	Array<int> dy(2 * w * h);
	mandelbrot<<<dim3(4, 4, 2), dim3(16, 8, 1)>>>(dy.data, w, h);
	std::vector<int> y = dy.host();
	int inside = 0;
	for (int i : y) inside += i == 50;
	right = inside > 100 && inside < 2 * w * h && y[h / 2 * w + w * 2 / 3] == 50 && y[0] < 3;
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
