// A kernel that waits for a number of clocks, as in examples of streams: clock() counts as clock64() does, at the rate that the
// runtime tells; CUDA 13 tells it as an attribute alone.
#include <cstdio>

__global__ void wait_for(clock_t clocks, long long *waited) {
	const long long began64 = clock64();
	const clock_t began = clock();
	while (clock() - began < clocks) {
	}
	*waited = clock64() - began64;
}

int main() {
	int rate = 0;
	cudaDeviceGetAttribute(&rate, cudaDevAttrClockRate, 0);
	bool right = rate > 0;
#if CUDART_VERSION < 13000
	cudaDeviceProp card;
	cudaGetDeviceProperties(&card, 0);
	right = right && card.clockRate == rate;
#endif
	const clock_t clocks = (clock_t)rate * 2;                            // kHz: of two milliseconds
	long long *waited, got;
	cudaMalloc(&waited, sizeof got);
	wait_for<<<1, 1>>>(clocks, waited);
	cudaMemcpy(&got, waited, sizeof got, cudaMemcpyDeviceToHost);
	right = right && got >= clocks && got < 1000 * clocks;
	printf(right ? "right\n" : "wrong\n");
	cudaFree(waited);
}
