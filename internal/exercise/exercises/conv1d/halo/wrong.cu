// conv1d/halo: a tile and its neighbors.
#include <cuda_runtime.h>

__global__ void conv1d(const float *x, const float *w, float *y, int length, int taps) {
	extern __shared__ float tile[]; // 128 + taps - 1
	int start = blockIdx.x * 128;
	int results = length - taps + 1;
	for (int i = threadIdx.x; i < 128; i += 128) {
		tile[i] = start + i < length ? x[start + i] : 0;
	}
	__syncthreads();
	if (start + threadIdx.x >= results) return;
	float sum = 0;
	for (int t = 0; t < taps; t++) sum += w[t] * tile[threadIdx.x + t];
	y[start + threadIdx.x] = sum;
}

// triad: conv1d(x=x, w=w, y=y, batch=1, channels_in=1, channels_out=1, length=length, taps=taps, with_bias=false, stride=1, padding=0)
extern "C" void solve(const float *x, const float *w, float *y, int length, int taps) {
	int results = length - taps + 1;
	if (results < 1) return;
	conv1d<<<(results + 127) / 128, 128, (128 + taps - 1) * sizeof(float)>>>(x, w, y, length, taps);
}
