// Stream compaction with one atomic a warp.
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

__global__ void compact(const int *x, int *y, int *count, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
	bool keep = i < n && x[i] % 3 == 0;
	unsigned kept = __ballot_sync(0xffffffffu, keep);
	int base = 0;
	if (lane == 0 && kept) base = atomicAdd(count, __popc(kept));
	base = __shfl_sync(0xffffffffu, base, 0);
	if (keep) y[base + __popc(kept & ((1u << lane) - 1))] = x[i];
}

bool near(double a, double b) { return fabs(a - b) <= 1e-4 * (1 + fabs(b)); }

int main() {
	bool right = true;
	std::vector<int> x(5000);
	long long want = 0;
	int most = 0;
	for (int i = 0; i < 5000; i++)
		if ((x[i] = i * 13 % 1000) % 3 == 0) want += x[i], most++;
	Array<int> dx(x), dy(5000), count(1);
	compact<<<20, 256>>>(dx.data, dy.data, count.data, 5000);
	std::vector<int> y = dy.host();
	right = count.host()[0] == most;
	for (int i = 0; i < most; i++) want -= y[i];
	right = right && want == 0;
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
