// A blur in two passes, along rows and along columns, with a halo in shared memory.
#include <cmath>
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

const int RADIUS = 3, TILE = 32;
__constant__ float weights[2 * RADIUS + 1];

__device__ int within(int i, int n) { return min(max(i, 0), n - 1); }

// step: how far the next element of a line lies; lines: how far the next line.
__global__ void pass(const float *x, float *y, int n, int step, int lines) {
	__shared__ float s[TILE + 2 * RADIUS];
	const int first = blockIdx.x * TILE, t = threadIdx.x;
	const float *line = x + blockIdx.y * lines;
	for (int i = t; i < TILE + 2 * RADIUS; i += TILE) s[i] = line[within(first + i - RADIUS, n) * step];
	__syncthreads();
	if (first + t >= n) return;
	float sum = 0;
#pragma unroll
	for (int k = 0; k <= 2 * RADIUS; k++) sum += weights[k] * s[t + k];
	y[blockIdx.y * lines + (first + t) * step] = sum;
}

int main() {
	const int w = 70, h = 41;
	std::vector<float> x(w * h), got(w * h);
	for (int i = 0; i < w * h; i++) x[i] = i * 31 % 101;
	float f[7] = {0.05f, 0.1f, 0.2f, 0.3f, 0.2f, 0.1f, 0.05f}, *a, *b;
	cudaMemcpyToSymbol(weights, f, sizeof f);
	cudaMalloc(&a, w * h * sizeof(float));
	cudaMalloc(&b, w * h * sizeof(float));
	cudaMemcpy(a, x.data(), w * h * sizeof(float), cudaMemcpyHostToDevice);
	pass<<<dim3((w + TILE - 1) / TILE, h), TILE>>>(a, b, w, 1, w);
	pass<<<dim3((h + TILE - 1) / TILE, w), TILE>>>(b, a, h, w, 1);
	cudaMemcpy(got.data(), a, w * h * sizeof(float), cudaMemcpyDeviceToHost);
	bool right = true;
	auto in = [](int i, int n) { return i < 0 ? 0 : i >= n ? n - 1 : i; };
	for (int i = 0; i < h; i++)
		for (int j = 0; j < w; j++) {
			float sum = 0;
			for (int p = 0; p < 7; p++)
				for (int q = 0; q < 7; q++) sum += f[p] * f[q] * x[in(i + p - 3, h) * w + in(j + q - 3, w)];
			right = right && fabsf(got[i * w + j] - sum) < 1e-3f;
		}
	cudaFree(a);
	cudaFree(b);
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
