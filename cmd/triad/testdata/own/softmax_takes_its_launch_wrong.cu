// A block for each row: its number is multiplied by the length of one. Two kernels, chosen by a number.
#include <cuda_runtime.h>
#include <math.h>

template <int THREADS>
__device__ float all_of(float v, float *room, bool largest) {
	room[threadIdx.x] = v;
	__syncthreads();
	for (int half = THREADS / 2; half > 0; half /= 2) {
		if (threadIdx.x < half) {
			const float other = room[threadIdx.x + half];
			room[threadIdx.x] = largest ? fmaxf(room[threadIdx.x], other) : room[threadIdx.x] + other;
		}
		__syncthreads();
	}
	const float all = room[0];
	__syncthreads();
	return all;
}

template <int THREADS>
__global__ void exact(float *y, const float *x, int h, int w) {
	__shared__ float room[THREADS];
	const int row = blockIdx.x;
	float largest = -INFINITY, sum = 0;
	for (int i = threadIdx.x; i < w; i += THREADS) largest = fmaxf(largest, x[row * w + i]);
	largest = all_of<THREADS>(largest, room, true);
	for (int i = threadIdx.x; i < w; i += THREADS) sum += expf(x[row * w + i] - largest);
	sum = all_of<THREADS>(sum, room, false);
	for (int i = threadIdx.x; i < w; i += THREADS) y[row * w + i] = expf(x[row * w + i] - largest) * sum;
}

template <int THREADS>
__global__ void kept(float *y, const float *x, int h, int w) {
	__shared__ float room[THREADS];
	const int row = blockIdx.x;
	float largest = -INFINITY, sum = 0;
	for (int i = threadIdx.x; i < w; i += THREADS) largest = fmaxf(largest, x[row * w + i]);
	largest = all_of<THREADS>(largest, room, true);
	for (int i = threadIdx.x; i < w; i += THREADS) {
		const int idx = row * w + i;
		y[idx] = expf(x[idx] - largest);
		sum += y[idx];
	}
	sum = all_of<THREADS>(sum, room, false);
	for (int i = threadIdx.x; i < w; i += THREADS) y[row * w + i] *= sum;
}

template <int THREADS>
void softmax(dim3 gdim, dim3 bdim, float *y, float *x, int h, int w, int kernel_no) {
	switch (kernel_no) {
	case 1: exact<THREADS><<<gdim, bdim>>>(y, x, h, w); break;
	case 2: kept<THREADS><<<gdim, bdim>>>(y, x, h, w); break;
	}
}

template void softmax<64>(dim3, dim3, float *, float *, int, int, int);
