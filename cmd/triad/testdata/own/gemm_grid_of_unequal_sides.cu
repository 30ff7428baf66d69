// main() hands sizes that nobody can tell, with the rows along x; the kernel has its columns there. The block has unequal sides.
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void product(int *A, int *B, int *C, int M, int K, int N) {
	int x = blockDim.x * blockIdx.x + threadIdx.x, y = blockDim.y * blockIdx.y + threadIdx.y;
	if (y < M && x < N) {
		int sum = 0;
		for (int k = 0; k < K; k++) sum += A[K * y + k] * B[N * k + x];
		C[N * y + x] = sum;
	}
}

int main(int, char **argv) {
	int m = atoi(argv[1]), k = atoi(argv[2]), n = atoi(argv[3]);
	int *A, *B, *C;
	cudaMalloc(&A, m * k * sizeof(int));
	cudaMalloc(&B, k * n * sizeof(int));
	cudaMalloc(&C, m * n * sizeof(int));
	dim3 threads(8, 4);
	dim3 blocks((m + threads.x - 1) / threads.x, (n + threads.y - 1) / threads.y);
	product<<<blocks, threads>>>(A, B, C, m, k, n);
	return cudaDeviceSynchronize();
}
