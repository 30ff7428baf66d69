// softmax/online: maximum and sum in one pass.
#include <cuda_runtime.h>
#include <math.h>

// A warp has a row.
__global__ void softmax(const float *x, float *y, int rows, int cols) {
	int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	int lane = threadIdx.x % 32;
	if (row >= rows) return;
	x += (long long)row * cols;
	y += (long long)row * cols;
	float max = -INFINITY, sum = 0;
	for (int c = lane; c < cols; c += 32) {
		float v = x[c];
		if (v > max) {
			sum = sum + expf(v - v);
			max = v;
		} else if (v != -INFINITY) {
			sum += expf(v - max);
		}
	}
	for (int d = 16; d > 0; d /= 2) {
		float other_max = __shfl_xor_sync(0xffffffff, max, d);
		float other_sum = __shfl_xor_sync(0xffffffff, sum, d);
		float larger = fmaxf(max, other_max);
		sum = (max == larger ? sum : sum * expf(max - larger)) +
		      (other_max == larger ? other_sum : other_sum * expf(other_max - larger));
		max = larger;
	}
	for (int c = lane; c < cols; c += 32) y[c] = expf(x[c] - max) / sum;
}

// triad: softmax(x=x, y=y, rows=rows, cols=cols)
extern "C" void solve(const float *x, float *y, int rows, int cols) {
	softmax<<<(rows + 3) / 4, 128>>>(x, y, rows, cols);
}
