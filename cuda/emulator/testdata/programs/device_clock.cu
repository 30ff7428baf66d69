// A kernel that waits for a number of clocks, as in examples of streams: clock() counts as clock64() does, at the rate of the device's properties.
#include <cstdio>

__global__ void wait_for(clock_t clocks, long long *waited) {
	const long long began64 = clock64();
	const clock_t began = clock();
	while (clock() - began < clocks) {
	}
	*waited = clock64() - began64;
}

int main() {
	cudaDeviceProp card;
	cudaGetDeviceProperties(&card, 0);
	const clock_t clocks = (clock_t)card.clockRate * 2;                  // kHz: of two milliseconds
	long long *waited, got;
	cudaMalloc(&waited, sizeof got);
	wait_for<<<1, 1>>>(clocks, waited);
	cudaMemcpy(&got, waited, sizeof got, cudaMemcpyDeviceToHost);
	printf(got >= clocks && got < 1000 * clocks ? "right\n" : "wrong\n");
	cudaFree(waited);
}
