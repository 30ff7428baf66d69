// A sum over blocks of 16 x 16 threads by a function of CUB that is declared for 256 x 1: its ranks are those of threadIdx.x alone.
#include <cstdio>
#include <cub/cub.cuh>

#ifdef FIXED
typedef cub::BlockReduce<float, 16, cub::BLOCK_REDUCE_WARP_REDUCTIONS, 16> Reduce;
#else
typedef cub::BlockReduce<float, 256> Reduce;
#endif

__global__ void plane_sum(const float *x, float *y, int width, int height) {
	__shared__ typename Reduce::TempStorage room;
	const int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
	const float v = c < width && r < height ? x[r * width + c] : 0.0f;
	const float sum = Reduce(room).Sum(v);   // BUG(wrong-block) BUG(race)
	if (threadIdx.x == 0 && threadIdx.y == 0) atomicAdd(y, sum);
}

int main() {
	const int width = 40, height = 24;
	static float h[width * height];
	float *x, *y, sum, want = 0;
	for (int i = 0; i < width * height; i++) want += h[i] = i % 7;
	cudaMalloc(&x, sizeof h);
	cudaMalloc(&y, sizeof sum);
	cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
	cudaMemset(y, 0, sizeof sum);
	plane_sum<<<dim3(3, 2), dim3(16, 16)>>>(x, y, width, height);
	cudaMemcpy(&sum, y, sizeof sum, cudaMemcpyDeviceToHost);
	cudaFree(x);
	cudaFree(y);
	printf("%g of %g\n", sum, want);
}
