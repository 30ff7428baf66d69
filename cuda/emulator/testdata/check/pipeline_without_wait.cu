// A pipeline of the block whose stage is read after the commit, and before the wait.
#include <cooperative_groups.h>
#include <cuda/pipeline>
#include <cstdio>

__global__ void take(const float *x, float *y) {
	__shared__ float s[128];
	__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 1> state;
	auto block = cooperative_groups::this_thread_block();
	auto pipe = cuda::make_pipeline(block, &state);
	const int t = threadIdx.x;
	pipe.producer_acquire();
	cuda::memcpy_async(&s[t], &x[t], sizeof(float), pipe);   // BUG(trap)
	pipe.producer_commit();
#ifdef FIXED
	pipe.consumer_wait();
#endif
	y[t] = s[t];   // BUG(trap)
#ifndef FIXED
	pipe.consumer_wait();
#endif
	pipe.consumer_release();
}

int main() {
	float h[128] = {}, *x, *y;
	cudaMalloc(&x, sizeof h);
	cudaMalloc(&y, sizeof h);
	cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
	take<<<1, 128>>>(x, y);
	cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
	printf("%g\n", h[0]);
	cudaFree(x);
	cudaFree(y);
}
