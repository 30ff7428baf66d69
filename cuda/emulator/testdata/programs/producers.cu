// One warp of a block fills buffers, the others empty them; four barriers of shared memory say which may be used.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cstdio>
#include <vector>

using barrier = cuda::barrier<cuda::thread_scope_block>;

const int CHUNK = 96, CHUNKS = 7;

__global__ void squares(const int *x, int *y) {
	__shared__ int buffer[2][CHUNK];
	#pragma nv_diag_suppress static_var_with_dynamic_init
	__shared__ barrier filled[2], emptied[2];
	auto block = cooperative_groups::this_thread_block();
	if (block.thread_rank() < 2) {
		init(&filled[block.thread_rank()], block.size());
		init(&emptied[block.thread_rank()], block.size());
	}
	block.sync();
	if (block.thread_rank() < 32) {
		for (int c = 0; c < CHUNKS; c++) {
			if (c >= 2) emptied[c % 2].arrive_and_wait();
			for (int i = block.thread_rank(); i < CHUNK; i += 32) buffer[c % 2][i] = x[c * CHUNK + i];
			barrier::arrival_token token = filled[c % 2].arrive();
		}
		return;
	}
	for (int c = 0; c < CHUNKS; c++) {
		filled[c % 2].arrive_and_wait();
		const int i = block.thread_rank() - 32;
		if (i < CHUNK) y[c * CHUNK + i] = buffer[c % 2][i] * buffer[c % 2][CHUNK - 1 - i];
		if (c + 2 < CHUNKS) barrier::arrival_token token = emptied[c % 2].arrive();
	}
}

int main() {
	const int n = CHUNK * CHUNKS;
	std::vector<int> x(n), got(n);
	for (int i = 0; i < n; i++) x[i] = i % 19 - 4;
	int *dx, *dy;
	cudaMalloc(&dx, n * sizeof(int));
	cudaMalloc(&dy, n * sizeof(int));
	cudaMemcpy(dx, x.data(), n * sizeof(int), cudaMemcpyHostToDevice);
	squares<<<1, 32 + CHUNK>>>(dx, dy);
	cudaMemcpy(got.data(), dy, n * sizeof(int), cudaMemcpyDeviceToHost);
	bool right = true;
	for (int i = 0; i < n; i++) right = right && got[i] == x[i] * x[i / CHUNK * CHUNK + CHUNK - 1 - i % CHUNK];
	cudaFree(dx);
	cudaFree(dy);
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
