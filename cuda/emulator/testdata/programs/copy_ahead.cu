// Sums of rows, each copied to shared memory while the one before is added: with the primitives, with a pipeline of the
// thread, and with one of the block in two stages.
#include <cooperative_groups.h>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
#include <cstdio>
#include <vector>

namespace cg = cooperative_groups;

const int WIDTH = 128, ROWS = 9;

__global__ void primitives(const float *x, float *y) {
	__shared__ alignas(16) float s[2][WIDTH];
	const int t = threadIdx.x;
	float sum = 0;
	__pipeline_memcpy_async(&s[0][t], &x[t], sizeof(float));
	__pipeline_commit();
	for (int row = 0; row < ROWS; row++) {
		if (row + 1 < ROWS) __pipeline_memcpy_async(&s[(row + 1) % 2][t], &x[(row + 1) * WIDTH + t], sizeof(float));
		__pipeline_commit();
		__pipeline_wait_prior(1);
		__syncthreads();
		sum += s[row % 2][WIDTH - 1 - t];
		__syncthreads();
	}
	__pipeline_wait_prior(0);
	y[t] = sum;
}

__global__ void of_thread(const float4 *x, float4 *y) {
	__shared__ float4 s[2][WIDTH / 4];
	const int t = threadIdx.x;
	auto pipe = cuda::make_pipeline();
	float4 sum = make_float4(0, 0, 0, 0);
	for (int row = 0; row < ROWS + 1; row++) {
		if (row < ROWS) {
			pipe.producer_acquire();
			if (row % 2) cuda::memcpy_async(&s[row % 2][t], &x[row * (WIDTH / 4) + t], sizeof(float4), pipe);
			else cuda::memcpy_async(cg::this_thread(), &s[row % 2][t], &x[row * (WIDTH / 4) + t], cuda::aligned_size_t<16>(sizeof(float4)), pipe);
			pipe.producer_commit();
		}
		if (row == 0) continue;
		if (row < ROWS) cuda::pipeline_consumer_wait_prior<1>(pipe);
		else cuda::pipeline_consumer_wait_prior<0>(pipe);
		float4 v = s[(row - 1) % 2][t];
		sum = make_float4(sum.x + v.x, sum.y + v.y, sum.z + v.z, sum.w + v.w);
		pipe.consumer_release();
	}
	y[t] = sum;
}

__global__ void of_block(const float *x, float *y) {
	constexpr int stages = 2;
	extern __shared__ float s[];
	__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
	auto block = cg::this_thread_block();
	auto pipe = cuda::make_pipeline(block, &state);
	float sum = 0;
	for (int row = 0, asked = 0; row < ROWS; row++) {
		for (; asked < ROWS && asked < row + stages; asked++) {
			pipe.producer_acquire();
			cuda::memcpy_async(block, s + asked % stages * WIDTH, x + asked * WIDTH, sizeof(float) * WIDTH, pipe);
			pipe.producer_commit();
		}
		pipe.consumer_wait();
		sum += s[row % stages * WIDTH + WIDTH - 1 - block.thread_rank()];
		pipe.consumer_release();
	}
	y[block.thread_rank()] = sum;
}

int main() {
	std::vector<float> x(WIDTH * ROWS), want(WIDTH), got(WIDTH);
	for (int i = 0; i < WIDTH * ROWS; i++) want[i % WIDTH] += x[i] = i * 7 % 23;
	float *dx, *dy;
	cudaMalloc(&dx, x.size() * sizeof(float));
	cudaMalloc(&dy, WIDTH * sizeof(float));
	cudaMemcpy(dx, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice);
	bool right = true;
	for (int way = 0; way < 3; way++) {
		if (way == 0) primitives<<<1, WIDTH>>>(dx, dy);
		if (way == 1) of_thread<<<1, WIDTH / 4>>>(reinterpret_cast<float4 *>(dx), reinterpret_cast<float4 *>(dy));
		if (way == 2) of_block<<<1, WIDTH, 2 * WIDTH * sizeof(float)>>>(dx, dy);
		cudaMemcpy(got.data(), dy, WIDTH * sizeof(float), cudaMemcpyDeviceToHost);
		for (int i = 0; i < WIDTH; i++) right = right && got[i] == want[way == 1 ? i : WIDTH - 1 - i];
	}
	cudaFree(dx);
	cudaFree(dy);
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
