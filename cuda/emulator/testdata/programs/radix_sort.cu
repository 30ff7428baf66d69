// A radix sort of one block, a bit a pass, by votes.
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

__global__ void sort(unsigned *x) {
	__shared__ unsigned s[128], zeros_of[4];
	int t = threadIdx.x, lane = t % 32, warp = t / 32;
	unsigned v = x[t];
	for (int bit = 0; bit < 10; bit++) {
		bool one = v >> bit & 1;
		unsigned zeros = __ballot_sync(~0u, !one);
		if (lane == 0) zeros_of[warp] = __popc(zeros);
		__syncthreads();
		unsigned before = 0, all = 0;
		for (int w = 0; w < 4; w++) {
			if (w < warp) before += zeros_of[w];
			all += zeros_of[w];
		}
		unsigned rank = before + __popc(zeros & ((1u << lane) - 1));
		s[one ? all + t - rank : rank] = v;
		__syncthreads();
		v = s[t];
		__syncthreads();
	}
	x[t] = v;
}

bool near(double a, double b) { return fabs(a - b) <= 1e-4 * (1 + fabs(b)); }

int main() {
	bool right = true;
	std::vector<unsigned> x(128);
	for (int i = 0; i < 128; i++) x[i] = (i * 359) % 1021;
	Array<unsigned> dx(x);
	sort<<<1, 128>>>(dx.data);
	std::vector<unsigned> y = dx.host();
	for (int i = 1; i < 128; i++) right = right && y[i - 1] <= y[i];
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
