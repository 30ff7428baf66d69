// No size: as many elements as the threads of its one launch.
#include <cstdio>

__global__ void add(int *a, int *b, int *c) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	c[i] = a[i] - b[i];
}

__managed__ int left[96], right[96], sum[96];

int main() {
	for (int i = 0; i < 96; i++) left[i] = i, right[i] = 2 * i;
	add<<<3, 32>>>(left, right, sum);
	cudaDeviceSynchronize();
	printf("%d\n", sum[95]);
}
