// The sieve of Eratosthenes: one launch for each prime up to the root, and a count by votes.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void strike(unsigned char *composite, int prime, int n) {
	const int k = prime + blockIdx.x * blockDim.x + threadIdx.x;
	if ((long long)k * prime < n) composite[k * prime] = 1;
}

__global__ void count(const unsigned char *composite, int *primes, int n) {
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	const unsigned lanes = __ballot_sync(0xffffffff, i >= 2 && i < n && !composite[i]);
	if (threadIdx.x % 32 == 0) atomicAdd(primes, __popc(lanes));
}

int main() {
	const int n = 5000;
	unsigned char *composite;
	int *primes, got;
	cudaMalloc(&composite, n);
	cudaMalloc(&primes, sizeof(int));
	cudaMemset(composite, 0, n);
	cudaMemset(primes, 0, sizeof(int));
	for (int p = 2; p * p < n; p++) {
		unsigned char struck;
		cudaMemcpy(&struck, composite + p, 1, cudaMemcpyDeviceToHost);
		if (!struck) strike<<<(n / p + 127) / 128, 128>>>(composite, p, n);
	}
	count<<<(n + 255) / 256, 256>>>(composite, primes, n);
	cudaMemcpy(&got, primes, sizeof(int), cudaMemcpyDeviceToHost);
	cudaFree(composite);
	cudaFree(primes);
	const bool right = got == 669;
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
