// main() takes two sizes on its command line, and not one word more.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

__global__ void multiply(const float *A, const float *x, float *y, int M, int N) {
	int row = blockIdx.x * blockDim.y + threadIdx.y;
	if (row >= M) return;
	float sum = 0;
	for (int at = threadIdx.x; at < N; at += 32) sum += A[row * N + at] * x[at];
	for (int far = 16; far > 0; far /= 2) sum += __shfl_down_sync(0xffffffff, sum, far);
	if (threadIdx.x == 0) y[row] = sum;
}

int main(int argc, char **argv) {
	if (argc != 3) {
		printf("usage: %s rows cols\n", argv[0]);
		return 0;
	}
	int M = atoi(argv[1]), N = atoi(argv[2]);
	float *A, *x, *y;
	cudaMalloc(&A, sizeof(float) * M * N);
	cudaMalloc(&x, sizeof(float) * N);
	cudaMalloc(&y, sizeof(float) * M);
	dim3 grid((M + 3) / 4), block(32, 4);
	multiply<<<grid, block>>>(A, x, y, M, N);
	cudaDeviceSynchronize();
}
