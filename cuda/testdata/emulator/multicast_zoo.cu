// Bugs with what blocks of a cluster do to each other's asynchronous state, each with its fixed version: `multicast_zoo NAME buggy|fixed`. A report
// names the line that carries BUG(name). What the kernel leaves is printed as a sum, which is the same in all orders.
#include <cstdio>
#include <cstring>

#include "hopper/barrier.cuh"
#include "hopper/cluster.cuh"
#include "hopper/head_map.cuh"

using namespace triad::hopper;

constexpr int tile_bytes = 64 * 128, threads = 128, rounds = 3, blocks = 4;

enum Bug { right, each_not_released, each_early, each_rank, each_nobody, each_unaligned, each_ended, each_other_barrier, bugs };
const char *const names[bugs] = {"right",         "each_not_released", "each_early", "each_rank",
                                 "each_nobody",   "each_unaligned", "each_ended", "each_other_barrier"};

// Block 0 of a pair brings a tile to both in each round; the threads of both add up what they find, and tell block 0.
__global__ void pairs(const __grid_constant__ HeadMap map, unsigned *out, Bug bug) {
	extern __shared__ __align__(128) unsigned char memory[];
	unsigned char *const tile = memory + (tile_alignment - shared_address(memory) % tile_alignment) % tile_alignment;
	const uint32_t to = shared_address(tile), full = to + tile_bytes, empty = full + 8, last = empty + 8, absent = last + 8;
	const int thread = static_cast<int>(threadIdx.x), rank = static_cast<int>(cluster_rank());
	if (thread == 0) {
		barrier_init(full, 1);
		barrier_init(empty, bug == each_not_released ? 1 : 2);
		barrier_init(last, 1);
		if (bug == each_other_barrier && rank == 0) barrier_init(absent, 1);
		fence_init();
	}
	__syncthreads();
	if (bug != each_early) {
		cluster_arrive();
		cluster_wait();
	}
	unsigned sum = 0;
	for (int round = 0; round < rounds; round++) {
		if (thread == 0) barrier_arrive_expecting(full, tile_bytes);
		if (thread == 0 && rank == 0) {
			barrier_wait(empty, static_cast<uint32_t>(round % 2) ^ 1);
			if (bug == each_rank) copy_rows_to_each(to, &map, 0, round, 0, 0, full, 5); // BUG(each_rank)
			else if (bug == each_nobody) copy_rows_to_each(to, &map, 0, round, 0, 0, full, 0); // BUG(each_nobody)
			else if (bug == each_unaligned) copy_rows_to_each(to, &map, 4, round, 0, 0, full, 3); // BUG(each_unaligned)
			else if (bug == each_other_barrier) copy_rows_to_each(to, &map, 0, round, 0, 0, absent, 3); // BUG(each_other_barrier)
			else if (bug == each_early) copy_rows_to_each(to, &map, 0, round, 0, 0, full, 3); // BUG(each_early)
			else copy_rows_to_each(to, &map, 0, round, 0, 0, full, 3); // BUG(each_not_released)
		}
		barrier_wait(full, static_cast<uint32_t>(round % 2));
		for (int row = 0; row < 64; row++) sum += tile[row * 128 + thread];
		__syncthreads();
		if (thread == 0 && !(bug == each_not_released && rank == 1)) barrier_arrive_at(empty, 0);
	}
	if (thread == 0 && rank == 0) {
		barrier_wait(empty, (rounds - 1) % 2); // the other one arrives here no more
		barrier_arrive_at(last, 1); // BUG(each_ended)
	}
	if (thread == 0 && rank == 1 && bug != each_ended) barrier_wait(last, 0);
	out[blockIdx.x * threads + thread] = sum;
}

int main(int count, char **words) {
	int named = 0;
	while (named < bugs && (count < 2 || strcmp(names[named], words[1]) != 0)) named++;
	if (named == bugs) return printf("want NAME buggy|fixed\n"), 2;
	const Bug bug = count > 2 && strcmp(words[2], "buggy") == 0 ? static_cast<Bug>(named) : right;
	unsigned char *source;
	unsigned *out;
	cudaMallocManaged(&source, 2 * tile_bytes);
	cudaMallocManaged(&out, blocks * threads * sizeof(unsigned));
	for (int i = 0; i < 2 * tile_bytes; i++) source[i] = static_cast<unsigned char>(i * 7 + i / 128);
	HeadMap map;
	if (map_heads(&map, source, {1, 1, 128, 64, 0, 0, 64}, 64) != 0) return puts("no map"), 2;
	const int failed = launch_clusters(pairs, blocks / 2, 2, threads, tile_alignment + tile_bytes + 64, nullptr, map, out, bug);
	if (failed != 0 || cudaDeviceSynchronize() != cudaSuccess) return printf("launch: %d\n", failed), 2;
	double sum = 0;
	for (int i = 0; i < blocks * threads; i++) sum += static_cast<double>(out[i]) * (i % 7 + 1);
	printf("sum=%.6g\n", sum);
	return 0;
}
