// A knapsack: a launch for each thing, values in managed memory, two rows in turn.
#include <algorithm>
#include <cstdio>
#include <cuda_runtime.h>

__global__ void take(const int *old, int *now, int weight, int value, int room) {
	const int r = blockIdx.x * blockDim.x + threadIdx.x;
	if (r > room) return;
	now[r] = r >= weight ? max(old[r], old[r - weight] + value) : old[r];
}

int main() {
	const int room = 300, things = 25;
	int weights[things], values[things], want[room + 1] = {};
	for (int i = 0; i < things; i++) {
		weights[i] = 5 + i * 11 % 23;
		values[i] = 3 + i * 17 % 29;
		for (int r = room; r >= weights[i]; r--) want[r] = std::max(want[r], want[r - weights[i]] + values[i]);
	}
	int *a, *b;
	cudaMallocManaged(&a, (room + 1) * sizeof(int));
	cudaMallocManaged(&b, (room + 1) * sizeof(int));
	for (int r = 0; r <= room; r++) a[r] = 0;
	for (int i = 0; i < things; i++) {
		take<<<(room + 64) / 64, 64>>>(a, b, weights[i], values[i], room);
		std::swap(a, b);
	}
	cudaDeviceSynchronize();
	const bool right = std::equal(want, want + room + 1, a);
	cudaFree(a);
	cudaFree(b);
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
