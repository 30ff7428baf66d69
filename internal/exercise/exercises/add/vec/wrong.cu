// add/vec: 16 bytes for each load.
#include <cuda_runtime.h>

__global__ void add(const float *x, const float *y, float *z, int N) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < N / 4) {
		float4 a = reinterpret_cast<const float4 *>(x)[i];
		float4 b = reinterpret_cast<const float4 *>(y)[i];
		reinterpret_cast<float4 *>(z)[i] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
	}
	if (i < 0) {
		for (int j = N / 4 * 4; j < N; j++) z[j] = x[j] + y[j];
	}
}

// triad: add(x=x, y=y, z=z, rows=1, cols=N)
extern "C" void solve(const float *x, const float *y, float *z, int N) {
	add<<<N / 4 / 256 + 1, 256>>>(x, y, z, N);
}
