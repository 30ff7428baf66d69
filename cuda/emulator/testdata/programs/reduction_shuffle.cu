// A sum by warp shuffles, then one atomic a block.
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

__inline__ __device__ float warp_sum(float v) {
	for (int k = 16; k > 0; k /= 2) v += __shfl_down_sync(0xffffffffu, v, k);
	return v;
}

__global__ void sum(const float *x, float *y, int n) {
	__shared__ float part[32];
	float v = 0;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
	v = warp_sum(v);
	int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	if (lane == 0) part[warp] = v;
	__syncthreads();
	if (warp == 0) {
		v = lane < blockDim.x / 32 ? part[lane] : 0;
		v = warp_sum(v);
		if (lane == 0) atomicAdd(y, v);
	}
}

bool near(double a, double b) { return fabs(a - b) <= 1e-4 * (1 + fabs(b)); }

int main() {
	bool right = true;
	std::vector<float> x(10007);
	double want = 0;
	for (size_t i = 0; i < x.size(); i++) want += x[i] = (i * 7 % 31) * 0.25f;
	Array<float> dx(x), dy(1);
	sum<<<8, 256>>>(dx.data, dy.data, x.size());
	right = near(dy.host()[0], want);
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
