// Dynamic shared memory that is declared outside functions: a kernel and a function that it calls see the same memory.
#include <cstdio>

extern __shared__ int numbers[];

struct Half {
	int low, high;
};

__device__ int sum_of(int n) {
	int sum = 0;
	for (int i = 0; i < n; i++) sum += numbers[i];
	return sum;
}

__global__ void turn_round(const int *x, int *y, int *total, int n) {
	const int i = threadIdx.x;
	numbers[i] = x[blockIdx.x * n + i];
	__syncthreads();
	y[blockIdx.x * n + i] = *(numbers + n - 1 - i);
	if (i == 0) total[blockIdx.x] = sum_of(n);
	__syncthreads();
	Half *halves = blockIdx.x % 2 ? (Half *)numbers : reinterpret_cast<Half *>(numbers);
	if (i < n / 2) halves[i].high = halves[i].low;
	__syncthreads();
	int *again = numbers;
	if (again[i] != again[i & ~1]) total[blockIdx.x] = -1;
}

int main() {
	const int n = 64, blocks = 3;
	int *x, *y, *total;
	cudaMallocManaged(&x, n * blocks * sizeof(int));
	cudaMallocManaged(&y, n * blocks * sizeof(int));
	cudaMallocManaged(&total, blocks * sizeof(int));
	for (int i = 0; i < n * blocks; i++) x[i] = i;
	turn_round<<<blocks, n, n * sizeof(int)>>>(x, y, total, n);
	if (cudaDeviceSynchronize() != cudaSuccess) return 1;
	int wrong = 0;
	for (int b = 0; b < blocks; b++) {
		for (int i = 0; i < n; i++) wrong += y[b * n + i] != b * n + n - 1 - i;
		wrong += total[b] != n * (2 * b * n + n - 1) / 2;
	}
	puts(wrong == 0 ? "right" : "wrong");
	cudaFree(x);
	cudaFree(y);
	cudaFree(total);
	return wrong != 0;
}
