// wgmma_few_rows.cuh: the product of two scaled fp8 matrices on Hopper's tensor cores where c has few tiles, as with a batch of 64 tokens. What then
// counts is how fast b comes from memory, so every multiprocessor must read a part of it.
//   The blocks of a cluster have one tile of c, of 64 rows, and divide its reduction. A block's fifth warp keeps a ring of stages filled by the
//   copy engine, the other four multiply as in wgmma.cuh. At the end each block sends its sums to the others, by columns:
//
//       block 0  [ 0 1 2 3 ]     columns 32 c to 32 c + 32 of all blocks' sums go to one block, which adds
//       block 1  [ 0 1 2 3 ] ->  them in the order of the blocks, so that the bits do not depend on the
//       ...                      schedule, scales and writes them
#ifndef TRIAD_FP8_GEMM_WGMMA_FEW_ROWS_CUH
#define TRIAD_FP8_GEMM_WGMMA_FEW_ROWS_CUH
#include "block_factors.cuh"
#include "wgmma.cuh"
#include "hopper/arithmetic.cuh"
#include "hopper/cluster.cuh"

namespace triad {

// FewRows divides a tile of 64 x 64 and the shared memory: the ring, its barriers, what comes from other blocks.
struct FewRows {
	static constexpr int m = hopper::mma_rows, n = 64, threads = warpgroup + 32, stages = 12, most_splits = 4;
	static constexpr int a_bytes = m * tile_k, stage_bytes = a_bytes + n * tile_k, sums = n / 2; // a thread's
	static constexpr int full = stages * stage_bytes, empty = full + 8 * stages, inbox = empty + 8 * stages, slots = inbox + 16;
	static constexpr int chunk_columns = 32, chunks = n / chunk_columns, chunk_sums = sums / chunks;
	static constexpr int chunk_bytes = warpgroup * chunk_sums * static_cast<int>(sizeof(float));

	// A block finishes so many chunks, of each of `splits` blocks.
	__host__ __device__ static constexpr int own_chunks(int splits) { return splits < chunks ? chunks / splits : 1; }
	__host__ __device__ static constexpr int bytes(int splits) {
		return hopper::tile_alignment + slots + (splits > 1 ? own_chunks(splits) * splits * chunk_bytes : 0);
	}
};
static_assert(FewRows::bytes(FewRows::most_splits) <= 227 << 10, "a block's shared memory");

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// SplitPlace is what a block has of the work: a tile, and blocks of the reduction.
struct SplitPlace {
	int64_t row, col;
	int rank, splits, k_begin, k_end;
};

__device__ inline SplitPlace split_place(const Product &p, int splits) {
	const int rank = splits > 1 ? static_cast<int>(hopper::cluster_rank()) : 0;
	const int tiles_m = static_cast<int>((p.m + FewRows::m - 1) / FewRows::m), tile = static_cast<int>(blockIdx.x) / splits;
	const int k_blocks = static_cast<int>((p.k + tile_k - 1) / tile_k), part = (k_blocks + splits - 1) / splits;
	return {static_cast<int64_t>(tile % tiles_m) * FewRows::m, static_cast<int64_t>(tile / tiles_m) * FewRows::n, rank, splits,
	        min(rank * part, k_blocks), min(rank * part + part, k_blocks)};
}

__device__ inline void produce_split(const CopyLoader &loader, const SplitPlace &at, uint32_t memory) {
	RingPlace<FewRows::stages> ring;
	for (int k_block = at.k_begin; k_block < at.k_end; k_block++, ring.next()) {
		const uint32_t stage = memory + ring.stage * FewRows::stage_bytes, full = memory + FewRows::full + 8 * ring.stage;
		hopper::barrier_wait(memory + FewRows::empty + 8 * ring.stage, ring.parity ^ 1);
		hopper::barrier_arrive_expecting(full, FewRows::stage_bytes);
		hopper::copy_box(stage + FewRows::a_bytes, &loader.b, static_cast<int32_t>(at.col), k_block * tile_k, full);
		hopper::copy_box(stage, &loader.a, static_cast<int32_t>(at.row), k_block * tile_k, full);
	}
}

// sum_split: this block's part of the sums, under block scaling scaled.
template <int32_t FormatA, int32_t FormatB, bool Blocks>
__device__ inline void sum_split(const Product &p, const SplitPlace &at, uint32_t memory, float (&sum)[FewRows::sums]) {
	const int thread = static_cast<int>(threadIdx.x);
	const int64_t row0 = at.row + hopper::accumulator_row(thread, 0);
	QuadFactors scales(p, row0, at.col, at.k_begin, Blocks ? at.k_end : at.k_begin);
	RingPlace<FewRows::stages> ring;
	for (int k_block = at.k_begin; k_block < at.k_end; k_block++, ring.next()) {
		hopper::barrier_wait(memory + FewRows::full + 8 * ring.stage, ring.parity);
		const uint64_t a = hopper::tile_descriptor(memory + ring.stage * FewRows::stage_bytes);
		const uint64_t b = hopper::tile_descriptor(memory + ring.stage * FewRows::stage_bytes + FewRows::a_bytes);
		float part[FewRows::sums];   // the first product overwrites it
		hopper::fence();
#pragma unroll
		for (int k = 0; k < tile_k; k += hopper::mma_k_bytes)
			hopper::mma_fp8<FormatA, FormatB>(part, hopper::advanced(a, k), hopper::advanced(b, k), k > 0);
		hopper::commit();
		RowFactors factors;
		if constexpr (Blocks) {
			const int stage = (k_block - at.k_begin) % QuadFactors::stages;
			if (stage == 0) scales.turn(p);
			factors = scales.take(stage);
		}
		hopper::wait<0>(part);
		if (thread % 32 == 0) hopper::barrier_arrive(memory + FewRows::empty + 8 * ring.stage);
		if constexpr (Blocks) {
			add_scaled(sum, part, factors);
		} else {
#pragma unroll
			for (int i = 0; i < FewRows::sums; i++) sum[i] += part[i];
		}
	}
}

// Slots of a block: pairs of sums, [chunk of its own][block that sent them][pair][thread].
__device__ inline int slot(int own_chunk, int splits, int from, int pair) {
	return (((own_chunk * splits + from) * (FewRows::chunk_sums / 2)) + pair) * warpgroup + static_cast<int>(threadIdx.x);
}

__device__ inline void send_sums(const SplitPlace &at, const float (&sum)[FewRows::sums], float2 *slots, hopper::Inbox *inbox) {
	const int own = FewRows::own_chunks(at.splits);
#pragma unroll
	for (int chunk = 0; chunk < FewRows::chunks; chunk++) {
		const unsigned to = static_cast<unsigned>(chunk * at.splits / FewRows::chunks);
#pragma unroll
		for (int pair = 0; pair < FewRows::chunk_sums / 2; pair++) {
			const float *const two = sum + chunk * FewRows::chunk_sums + 2 * pair;
			hopper::send_to_peer(slots + slot(chunk % own, at.splits, at.rank, pair), inbox, to, make_float2(two[0], two[1]));
		}
	}
}

// finish_chunk adds up what has come for one of this block's chunks, scales it and writes it.
template <bool Blocks>
__device__ inline void finish_chunk(const Product &p, const SplitPlace &at, const float2 *slots, int own_chunk, int chunk, bool wide) {
	float y[1][FewRows::chunk_sums] = {};
	for (int from = 0; from < at.splits; from++)
#pragma unroll
		for (int pair = 0; pair < FewRows::chunk_sums / 2; pair++) {
			const float2 two = slots[slot(own_chunk, at.splits, from, pair)];
			y[0][2 * pair] += two.x;
			y[0][2 * pair + 1] += two.y;
		}
	const int64_t row0 = at.row + hopper::accumulator_row(static_cast<int>(threadIdx.x), 0), col0 = at.col + chunk * FewRows::chunk_columns;
	if (!Blocks && p.k > 0) scale_sums(p, row0, col0, y);
	store_sums(p, row0, col0, y[0], wide);
}
// fetch_scales: the scales that finish_chunk will need come into the L2 cache while the products run.
__device__ inline void fetch_scales(const Product &p, const SplitPlace &at) {
	const int thread = static_cast<int>(threadIdx.x);
	if (thread < FewRows::n) hopper::prefetch(p.scale_b.scale + min(at.col + thread, p.n - 1) * p.scale_b.row_stride);
	if (thread < FewRows::m) hopper::prefetch(p.scale_a.scale + min(at.row + thread, p.m - 1) * p.scale_a.row_stride);
}
#endif

// wide: rows of c can be written 16 bytes at a time. One cluster of `splits` blocks a tile.
template <int32_t FormatA, int32_t FormatB, bool Blocks>
__global__ void __launch_bounds__(FewRows::threads, 1)
    product_wgmma_few_rows(const __grid_constant__ Product p, const __grid_constant__ CopyLoader loader, int splits, bool wide) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	extern __shared__ uint8_t dynamic_shared[];
	constexpr uint32_t aligned = hopper::tile_alignment;
	uint8_t *const start = dynamic_shared + (aligned - hopper::shared_address(dynamic_shared) % aligned) % aligned;
	const uint32_t memory = hopper::shared_address(start);
	hopper::Inbox *const inbox = reinterpret_cast<hopper::Inbox *>(start + FewRows::inbox);
	float2 *const slots = reinterpret_cast<float2 *>(start + FewRows::slots);
	const SplitPlace at = split_place(p, splits);
	const int own = FewRows::own_chunks(splits), first = (at.rank * FewRows::chunks + splits - 1) / splits;
	const bool finishes = first < FewRows::chunks && first * splits / FewRows::chunks == at.rank;
	if (threadIdx.x == 0) {
		loader.prepare();
		for (int s = 0; s < FewRows::stages; s++) {
			hopper::barrier_init(memory + FewRows::full + 8 * s, 1);
			hopper::barrier_init(memory + FewRows::empty + 8 * s, warpgroup / 32);   // one arrival a warp
		}
		hopper::fence_init();
		if (splits > 1) inbox->expect(finishes ? static_cast<uint32_t>(own * splits * FewRows::chunk_bytes) : 0);
	}
	__syncthreads();
	if (splits > 1) hopper::cluster_arrive();
	if (__shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0) == warpgroup / 32) {
		if (threadIdx.x % 32 == 0) produce_split(loader, at, memory);
		if (splits > 1) hopper::cluster_wait();
		return;
	}
	if constexpr (!Blocks) fetch_scales(p, at);
	float sum[FewRows::sums] = {};
	sum_split<FormatA, FormatB, Blocks>(p, at, memory, sum);
	if (splits == 1) {
		const int64_t row0 = at.row + hopper::accumulator_row(static_cast<int>(threadIdx.x), 0);
		float (&y)[1][FewRows::sums] = reinterpret_cast<float (&)[1][FewRows::sums]>(sum);
		if (!Blocks && p.k > 0) scale_sums(p, row0, at.col, y);
		store_sums(p, row0, at.col, sum, wide);
		return;
	}
	hopper::cluster_wait();   // the peers' inboxes are there
	send_sums(at, sum, slots, inbox);
	if (!finishes) return;
	inbox->wait();
	for (int i = 0; i < own; i++) finish_chunk<Blocks>(p, at, slots, i, first + i, wide);
#endif
}

} // namespace triad
#endif
