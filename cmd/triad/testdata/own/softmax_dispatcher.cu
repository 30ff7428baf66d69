// One function for three kernels: the second one overflows, the third one finds maximum and sum in one loop.
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

__global__ void three_loops(const float *inp, float *out, int N, int C) {
	int row = blockIdx.x * blockDim.x + threadIdx.x;
	if (row >= N) return;
	const float *x = inp + (long)row * C;
	float m = -INFINITY, s = 0;
	for (int j = 0; j < C; j++) m = fmaxf(m, x[j]);
	for (int j = 0; j < C; j++) s += expf(x[j] - m);
	for (int j = 0; j < C; j++) out[(long)row * C + j] = expf(x[j] - m) / s;
}

__global__ void no_maximum(const float *inp, float *out, int N, int C) {
	int row = blockIdx.x * blockDim.x + threadIdx.x;
	if (row >= N) return;
	const float *x = inp + (long)row * C;
	float s = 0;
	for (int j = 0; j < C; j++) s += expf(x[j]);
	for (int j = 0; j < C; j++) out[(long)row * C + j] = expf(x[j]) / s;
}

__global__ void online(const float *inp, float *out, int N, int C) {
	int row = blockIdx.x * blockDim.x + threadIdx.x;
	if (row >= N) return;
	const float *x = inp + (long)row * C;
	float m = -INFINITY, s = 0;
	for (int j = 0; j < C; j++) {
		if (x[j] == -INFINITY) continue;
		float larger = fmaxf(m, x[j]);
		if (larger > m) s *= expf(m - larger), m = larger;
		s += expf(x[j] - m);
	}
	for (int j = 0; j < C; j++) out[(long)row * C + j] = expf(x[j] - m) / s;
}

void softmax_forward(int kernel_num, float *out, const float *inp, int N, int C, const int block_size) {
	const int blocks = (N + block_size - 1) / block_size;
	switch (kernel_num) {
	case 1: three_loops<<<blocks, block_size>>>(inp, out, N, C); break;
	case 2: no_maximum<<<blocks, block_size>>>(inp, out, N, C); break;
	case 3: online<<<blocks, block_size>>>(inp, out, N, C); break;
	default:
		printf("Invalid kernel number\n");
		exit(1);
	}
}
