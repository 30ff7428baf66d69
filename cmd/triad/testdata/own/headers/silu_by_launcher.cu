// The function that launches stands in a header.
#include "launch.cuh"

template <int EACH> __global__ void silu_kernel(const float *x, float *y, int n) {
	const int first = (blockIdx.x * blockDim.x + threadIdx.x) * EACH;
	for (int i = first; i < first + EACH && i < n; i++) y[i] = x[i] / (1.0f + expf(-x[i]));
}

inline void silu(const float *x, float *y, int n) {
	constexpr int each = 4, threads = 128;
	launch_with(silu_kernel<each>, (n + each * threads - 1) / (each * threads), threads, x, y, n);
}
