// Two queues are locked in one order by one function, and in the other order by another: two threads may wait for each other.
#include <cstdio>
#include <cuda_runtime.h>
#include <mutex>
#include <thread>

__global__ void fill(float *y, float v) { y[threadIdx.x] = v; }

static std::mutex input, output;
static int batches;

static void forward() {
	std::lock_guard<std::mutex> a(input);
	std::lock_guard<std::mutex> b(output);   // BUG(thread host-locks)
	batches++;
}

static void back() {
#ifdef FIXED
	std::lock_guard<std::mutex> a(input);
	std::lock_guard<std::mutex> b(output);
#else
	std::lock_guard<std::mutex> b(output);
	std::lock_guard<std::mutex> a(input);   // BUG(thread host-locks)
#endif
	batches--;
}

int main() {
	std::thread(forward).join();
	std::thread(back).join();
	float *y, h[32];
	cudaMalloc(&y, sizeof h);
	fill<<<1, 32>>>(y, batches + 1);
	cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
	printf("%g\n", h[31]);
	cudaFree(y);
}
