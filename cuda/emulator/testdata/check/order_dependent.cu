// Threads take places in a list as they come, and the list is printed as it is; the kernel prints too.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void collect(const float *x, int *list, int *count, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i % 500 == 0) printf("collecting\n");                // which says nothing of the order
	if (i < n && x[i] == 3) list[atomicAdd(count, 1)] = i;
}

#include <algorithm>

int main() {
	const int n = 1000;
	static float h[n];
	static int found[n];
	for (int i = 0; i < n; i++) h[i] = i % 7;
	float *x;
	int *list, *count, most = 0;
	cudaMalloc(&x, sizeof h);
	cudaMalloc(&list, sizeof found);
	cudaMalloc(&count, sizeof(int));
	cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
	cudaMemset(count, 0, sizeof(int));
	collect<<<8, 128>>>(x, list, count, n);
	cudaMemcpy(&most, count, sizeof(int), cudaMemcpyDeviceToHost);
	cudaMemcpy(found, list, most * sizeof(int), cudaMemcpyDeviceToHost);
#ifdef FIXED
	std::sort(found, found + most);
#endif
	for (int i = 0; i < most; i++) printf("%d\n", found[i]);   // BUG(order-dependent)
	cudaFree(x);
	cudaFree(list);
	cudaFree(count);
}
