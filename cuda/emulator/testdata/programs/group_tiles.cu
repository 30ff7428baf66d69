// Tiles of more threads than a warp has, and tiles of tiles: each knows where it lies in its parent, and sums what its threads hold.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
#include <vector>

namespace cg = cooperative_groups;

const int THREADS = 256;

struct Place {
	unsigned wide_rank, wide_size, narrow_rank, narrow_size, erased_rank, sum, first, any, all;
};

// Tiles of 128 turn a part of the array round, each at its own pace: the second tile does so twice.
__global__ void tiles(const unsigned *x, Place *places, unsigned *turned) {
	__shared__ unsigned s[THREADS];
	__shared__ cg::block_tile_memory<THREADS> memory;
	cg::thread_block block = cg::this_thread_block(memory);
	auto wide = cg::tiled_partition<128>(block);
	auto narrow = cg::tiled_partition<8>(wide);
	cg::thread_block_tile<8> erased = narrow;
	auto half = cg::tiled_partition<64>(wide);

	const unsigned t = block.thread_rank(), base = wide.meta_group_rank() * wide.size();
	s[t] = x[t];
	for (unsigned turn = 0; turn <= wide.meta_group_rank(); turn++) {
		wide.sync();
		unsigned mine = s[base + wide.size() - 1 - wide.thread_rank()];
		wide.sync();
		s[t] = mine;
	}
	turned[t] = s[t];

	Place p;
	p.wide_rank = wide.meta_group_rank();
	p.wide_size = wide.meta_group_size();
	p.narrow_rank = narrow.meta_group_rank();
	p.narrow_size = narrow.meta_group_size();
	p.erased_rank = erased.meta_group_rank();
	p.sum = cg::reduce(half, x[t], cg::plus<unsigned>());
	p.first = wide.shfl(x[t], 65);
	p.any = wide.any(x[t] == 200);
	p.all = wide.all(x[t] < 128);
	places[t] = p;
}

int main() {
	std::vector<unsigned> x(THREADS), turned(THREADS);
	std::vector<Place> places(THREADS);
	for (unsigned i = 0; i < THREADS; i++) x[i] = i;
	unsigned *dx, *dt;
	Place *dp;
	cudaMalloc(&dx, THREADS * sizeof(unsigned));
	cudaMalloc(&dt, THREADS * sizeof(unsigned));
	cudaMalloc(&dp, THREADS * sizeof(Place));
	cudaMemcpy(dx, x.data(), THREADS * sizeof(unsigned), cudaMemcpyHostToDevice);
	tiles<<<1, THREADS>>>(dx, dp, dt);
	cudaMemcpy(turned.data(), dt, THREADS * sizeof(unsigned), cudaMemcpyDeviceToHost);
	cudaMemcpy(places.data(), dp, THREADS * sizeof(Place), cudaMemcpyDeviceToHost);
	bool right = true;
	for (unsigned t = 0; t < THREADS; t++) {
		const Place &p = places[t];
		const unsigned half = t / 64 * 64;
		right = right && p.wide_rank == t / 128 && p.wide_size == 2;
		right = right && p.narrow_rank == t % 128 / 8 && p.narrow_size == 16 && p.erased_rank == p.narrow_rank;
		right = right && p.sum == 64 * half + 63 * 32 && p.first == t / 128 * 128 + 65;
		right = right && (p.any != 0) == (t >= 128) && (p.all != 0) == (t < 128);
		right = right && turned[t] == (t < 128 ? 127 - t : t);
	}
	cudaFree(dx);
	cudaFree(dt);
	cudaFree(dp);
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
