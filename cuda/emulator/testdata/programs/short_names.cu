// A program calls its constants as headers may call what a template takes: N and B before it includes CUDA's, M behind them.
#define N 1000
#define B 128
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <mma.h>
#define M 3

namespace cg = cooperative_groups;

__global__ void sum(const int *x, int *y) {
	auto warp = cg::tiled_partition<32>(cg::this_thread_block());
	const int i = blockIdx.x * B + threadIdx.x;
	const int part = cg::reduce(warp, i < N ? M * x[i] : 0, cg::plus<int>());
	if (warp.thread_rank() == 0) cuda::atomic_ref<int, cuda::thread_scope_device>(*y).fetch_add(part);
}

int main() {
	int *x, *y;
	cudaMallocManaged(&x, N * sizeof(int));
	cudaMallocManaged(&y, sizeof(int));
	for (int i = 0; i < N; i++) x[i] = i % 10;
	*y = 0;
	sum<<<(N + B - 1) / B, B>>>(x, y);
	cudaDeviceSynchronize();
	puts(*y == M * 4500 ? "right" : "wrong");
	cudaFree(x);
	cudaFree(y);
}
