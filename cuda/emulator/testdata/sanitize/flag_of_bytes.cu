// Numbers are copied over a bool, which may be 0 or 1 and nothing else.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

struct Answer {
	float value;
	bool found;
};

__global__ void count(int *y) { atomicAdd(y, 1); }

int main() {
	int *y, n = 0;
	cudaMalloc(&y, sizeof n);
	cudaMemset(y, 0, sizeof n);
	count<<<1, 32>>>(y);
	cudaMemcpy(&n, y, sizeof n, cudaMemcpyDeviceToHost);
	Answer answer = {1, false};
#ifdef FIXED
	answer.found = n != 0;
#else
	memcpy(&answer.found, &n, 1);
#endif
	printf("%s\n", answer.found ? "found" : "not found");   // BUG(undefined undefined)
	cudaFree(y);
}
