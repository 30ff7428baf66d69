// wgmma_blocks.cuh: the product of two fp8 matrices with a scale for each 128 of the reduction on Hopper's tensor cores. The ring of stages is that of
// wgmma.cuh. A tile of c is 128 x 128; two warpgroups have 64 rows each. The sum over a stage is scaled and added in fp32 by one FFMA, which takes as
// long as half of its product. So a warpgroup has two partial sums, and one of them always has a product in flight:
//
//     part 0   | product s          | scale, add | product s + 2      | ...
//     part 1              | product s + 1        | scale, add | product s + 3
//
//   Four stages at a time are written out, since ptxas lets no product be in flight from one pass of a loop to the next.
#ifndef TRIAD_FP8_GEMM_WGMMA_BLOCKS_CUH
#define TRIAD_FP8_GEMM_WGMMA_BLOCKS_CUH
#include "block_factors.cuh"
#include "wgmma.cuh"

namespace triad {

// BlockConsumer is a warpgroup that multiplies: where it is in the ring, and its share of the tile at hand.
template <int32_t FormatA, int32_t FormatB, class Tile> struct BlockConsumer {
	uint32_t memory;
	int consumer;
	RingPlace<Tile::stages> next, last;   // the stage whose product is started next, and the one whose product is added next
	float sum[accumulators];

	__device__ void start(float (&part)[accumulators]) {
		hopper::barrier_wait(memory + Tile::full(next.stage), next.parity);
		multiply_stage<FormatA, FormatB, Tile>(part, memory, next.stage, consumer, 0);
		next.next();
	}

	// add takes up a product of which at most Pending younger ones are in flight.
	template <int Pending> __device__ void add(float (&part)[accumulators], const RowFactors &factors) {
		hopper::wait<Pending>(part);
		hand_back<Tile>(memory, last.stage);
		last.next();
		add_scaled(sum, part, factors);
	}

	// pass hands back the stages of a tile in which this consumer has no rows. By whole warps.
	__device__ void pass(int k_blocks) {
		for (int k_block = 0; k_block < k_blocks; k_block++, next.next()) {
			hopper::barrier_wait(memory + Tile::full(next.stage), next.parity);
			hand_back<Tile>(memory, next.stage);
		}
		last = next;
	}

	// add_up adds the products of all stages of a tile.
	__device__ void add_up(const Product &p, QuadFactors &factors, int k_blocks) {
#pragma unroll
		for (int i = 0; i < accumulators; i++) sum[i] = 0;
		float even[accumulators], odd[accumulators];
		int k_block = 0;
#pragma unroll 1
		for (; k_block + QuadFactors::stages <= k_blocks; k_block += QuadFactors::stages) {
			start(even);
			factors.turn(p);
#pragma unroll
			for (int stage = 0; stage < QuadFactors::stages; stage += 2) {
				RowFactors by = factors.take(stage);
				start(odd);
				add<1>(even, by);
				by = factors.take(stage + 1);
				if (stage + 2 < QuadFactors::stages) {
					start(even);
					add<1>(odd, by);
				} else {
					add<0>(odd, by);
				}
			}
		}
		if (k_block == k_blocks) return;
		factors.turn(p);
#pragma unroll 1
		for (int stage = 0; stage < k_blocks - k_block; stage++) {
			start(even);
			add<0>(even, factors.take(stage));
		}
	}
};

// What a consumer does. The first scales of a tile are fetched before the tile before it is written.
template <int32_t FormatA, int32_t FormatB, class Tile>
__device__ inline void consume_blocks(const Product &p, const TileOrder &order, uint32_t memory, int k_blocks, int consumer, bool wide) {
	const int first_row = Tile::row(consumer, 0, static_cast<int>(threadIdx.x) % warpgroup, 0);
	const auto row_of = [&](const TilePlace &place) { return place.m * static_cast<int64_t>(Tile::m) + first_row; };
	const auto col_of = [&](const TilePlace &place) { return place.n * static_cast<int64_t>(tile_n); };
	BlockConsumer<FormatA, FormatB, Tile> own = {memory, consumer, {}, {}, {}};
	TilePlace place = order.place(blockIdx.x);
	QuadFactors factors(p, row_of(place), col_of(place), 0, k_blocks);
	for (int64_t tile = blockIdx.x; tile < order.count(); tile += gridDim.x) {
		own.add_up(p, factors, k_blocks);
		const int64_t row = row_of(place), col0 = col_of(place);
		if (tile + gridDim.x < order.count()) {
			place = order.place(tile + gridDim.x);
			factors = QuadFactors(p, row_of(place), col_of(place), 0, k_blocks);
		}
		store_sums(p, row, col0, own.sum, wide);
	}
}

// wide: rows of c can be written 16 bytes at a time.
template <int32_t FormatA, int32_t FormatB, class Loader>
__global__ void __launch_bounds__(SmallTile::threads, 1)
    product_wgmma_blocks(const __grid_constant__ Product p, const __grid_constant__ Loader loader, const __grid_constant__ TileOrder order, bool wide) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	using Tile = SmallTile;
	const Ring ring = begin_ring<Tile>(loader);
	const int k_blocks = static_cast<int>((p.k + tile_k - 1) / tile_k);
	const int group = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / warpgroup, 0);   // one value a warp, and the compiler knows
	if (group == 0) {
		hopper::give_registers<Loader::block_registers>();
		produce<false, Tile>(p, loader, order, ring, k_blocks);
	} else {
		hopper::take_registers<(504 - Loader::block_registers) / 2>();   // 504: those of three warpgroups
		consume_blocks<FormatA, FormatB, Tile>(p, order, ring.memory, k_blocks, group - 1, wide);
	}
#endif
}

} // namespace triad
#endif
