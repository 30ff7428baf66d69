// wgmma.cuh: the product of two scaled fp8 matrices on Hopper's tensor cores (sm_90a).
//   A persistent block takes tiles of c in turn. Its first warpgroup keeps a ring of stages in shared memory filled, each with 128 of the
//   reduction; the other two multiply: each owns Waves x 64 rows and all 128 columns of a tile, sums 64 rows over one stage in the tensor
//   core (its accumulator keeps about 14 bits, so no longer), then adds that in fp32 to its share of the result, scaled under block scaling.
//   While one of the two adds, the other one's products run.
//   Loaders: CopyLoader, boxes by the copy engine (rows aligned to 16 bytes); GuardedLoader, any strides, by the threads themselves.
#ifndef TRIAD_FP8_GEMM_WGMMA_CUH
#define TRIAD_FP8_GEMM_WGMMA_CUH
#include "accumulators.cuh"
#include "product.cuh"
#include "hopper/barrier.cuh"
#include "hopper/swizzle.cuh"
#include "hopper/tensor_map.cuh"
#include "hopper/wgmma.cuh"
#include "tile_order.cuh"
#include "wgmma_tile.cuh"

namespace triad {

using LargeTile = WgmmaTile<2>;
using SmallTile = WgmmaTile<1>;
constexpr int warpgroup = LargeTile::warpgroup, tile_k = LargeTile::k;
static_assert(tile_k == scale_block, "a stage is what the tensor core may sum, and has one scale");

// ---- loaders: fill stage memory with block k_block of the operands for the tile at (row, col); `full` learns when it is there

struct CopyLoader {
	static constexpr int arrivals = 1, threads = 1;   // one thread issues all
	hopper::ByteMap a, b;

	__device__ void prepare() const {
		hopper::prefetch_map(&a);
		hopper::prefetch_map(&b);
	}
	template <int Waves>
	__device__ void fill(uint32_t a_tile, uint32_t full, int64_t row, int64_t col, int k_block) const {
		using Tile = WgmmaTile<Waves>;
		hopper::barrier_arrive_expecting(full, Tile::stage_bytes);
		hopper::copy_box(a_tile, &a, static_cast<int32_t>(row), k_block * tile_k, full);
		hopper::copy_box(a_tile + Tile::a_bytes, &b, static_cast<int32_t>(col), k_block * tile_k, full);
	}
};

struct GuardedLoader {
	static constexpr int arrivals = warpgroup, threads = warpgroup;
	Fp8Matrix a, b;
	int64_t m, n, k;

	__device__ void prepare() const {}
	template <int Waves>
	__device__ void fill(uint32_t a_tile, uint32_t full, int64_t row, int64_t col, int k_block) const {
		using Tile = WgmmaTile<Waves>;
		const int64_t k0 = static_cast<int64_t>(k_block) * tile_k;
		fill_rows<Tile::m>(a_tile, a, m, row, k0);
		fill_rows<tile_n>(a_tile + Tile::a_bytes, b, n, col, k0);
		hopper::fence_stores();
		hopper::barrier_arrive(full);
	}
	template <int Rows>
	__device__ void fill_rows(uint32_t tile, const Fp8Matrix &x, int64_t rows, int64_t first, int64_t k0) const {
		constexpr int chunks = tile_k / hopper::chunk_bytes;   // of a row
		const int byte = static_cast<int>(threadIdx.x) % chunks * hopper::chunk_bytes;
#pragma unroll 2
		for (int row = static_cast<int>(threadIdx.x) / chunks; row < Rows; row += warpgroup / chunks) {
			const Codes codes = fetch_codes(x, rows, first + row, k0 + byte, k);
			hopper::store_shared(tile + hopper::swizzled(row, byte), codes.word);
		}
	}
};

// ---- the kernel

// What the threads of the first warpgroup that the loader wants do.
template <int Waves, class Loader>
__device__ inline void produce(const Product &p, const Loader &loader, const TileOrder &order, uint32_t memory, int k_blocks) {
	using Tile = WgmmaTile<Waves>;
	RingPlace<Tile::stages> at;
	for (int64_t tile = blockIdx.x; tile < order.count(); tile += gridDim.x) {
		const TilePlace place = order.place(tile);
		for (int k_block = 0; k_block < k_blocks; k_block++, at.next()) {
			hopper::barrier_wait(memory + Tile::empty(at.stage), at.parity ^ 1);
			loader.template fill<Waves>(memory + Tile::a(at.stage), memory + Tile::full(at.stage),
			                            place.m * static_cast<int64_t>(Tile::m), place.n * static_cast<int64_t>(tile_n), k_block);
		}
	}
}

// What the other warpgroups do; `consumer` counts them.
template <int32_t FormatA, int32_t FormatB, bool Blocks, int Waves>
__device__ inline void consume(const Product &p, const TileOrder &order, uint32_t memory, int k_blocks, int consumer, bool wide) {
	using Tile = WgmmaTile<Waves>;
	const int thread = static_cast<int>(threadIdx.x) % warpgroup;
	RingPlace<Tile::stages> at;
	for (int64_t tile = blockIdx.x; tile < order.count(); tile += gridDim.x) {
		const TilePlace place = order.place(tile);
		const int64_t col0 = place.n * static_cast<int64_t>(tile_n);
		const int64_t row0 = place.m * static_cast<int64_t>(Tile::m) + Tile::row(consumer, 0, thread, 0);
		float sum[Waves][accumulators];
#pragma unroll
		for (int w = 0; w < Waves; w++)
#pragma unroll
			for (int i = 0; i < accumulators; i++) sum[w][i] = 0;
		const float *a_rows[Waves][2], *b_row = nullptr;
		BlockScales<Waves> scales, next;
		if constexpr (Blocks) {
#pragma unroll
			for (int w = 0; w < Waves; w++)
#pragma unroll
				for (int h = 0; h < 2; h++)
					a_rows[w][h] = p.scale_a.scale + min(row0 + w * hopper::mma_rows + 8 * h, p.m - 1) * p.scale_a.row_stride;
			b_row = p.scale_b.scale + place.n * p.scale_b.row_stride;
			if (k_blocks > 0) next = block_scales<Waves>(p, a_rows, b_row, 0);
		}
		for (int k_block = 0; k_block < k_blocks; k_block++, at.next()) {
			if constexpr (Blocks) {
				scales = next;
				if (k_block + 1 < k_blocks) next = block_scales<Waves>(p, a_rows, b_row, k_block + 1);
			}
			hopper::barrier_wait(memory + Tile::full(at.stage), at.parity);
			const uint64_t b = hopper::tile_descriptor(memory + Tile::b(at.stage));
#pragma unroll
			for (int w = 0; w < Waves; w++) {
				const uint64_t a = hopper::tile_descriptor(memory + Tile::wave_a(at.stage, consumer, w));
				float part[accumulators];   // the first product overwrites it
				hopper::fence();
#pragma unroll
				for (int k = 0; k < tile_k; k += hopper::mma_k_bytes)
					hopper::mma_fp8<FormatA, FormatB>(part, hopper::advanced(a, k), hopper::advanced(b, k), k > 0);
				hopper::commit();
				RowFactors factors;
				if constexpr (Blocks) factors = row_factors(scales.a[w], scales.b);   // while the products run
				hopper::wait<0>(part);
				if (w == Waves - 1 && thread % 32 == 0) hopper::barrier_arrive(memory + Tile::empty(at.stage));
				if constexpr (Blocks) {
					add_scaled(sum[w], part, factors);
				} else {
#pragma unroll
					for (int i = 0; i < accumulators; i++) sum[w][i] += part[i];
				}
			}
		}
		if (!Blocks && k_blocks > 0) scale_sums<Waves>(p, row0, col0, sum);
#pragma unroll
		for (int w = 0; w < Waves; w++) store_sums(p, row0 + w * hopper::mma_rows, col0, sum[w], wide);
	}
}

// wide: rows of c can be written 16 bytes at a time.
template <int32_t FormatA, int32_t FormatB, bool Blocks, int Waves, class Loader>
__global__ void __launch_bounds__(LargeTile::threads, 1)
    product_wgmma(const __grid_constant__ Product p, const __grid_constant__ Loader loader, const __grid_constant__ TileOrder order, bool wide) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	using Tile = WgmmaTile<Waves>;
	extern __shared__ uint8_t dynamic_shared[];
	const uint32_t memory = (hopper::shared_address(dynamic_shared) + hopper::tile_alignment - 1) / hopper::tile_alignment * hopper::tile_alignment;
	const int k_blocks = static_cast<int>((p.k + tile_k - 1) / tile_k);
	if (threadIdx.x == 0) {
		loader.prepare();
		for (int s = 0; s < Tile::stages; s++) {
			hopper::barrier_init(memory + Tile::full(s), Loader::arrivals);
			hopper::barrier_init(memory + Tile::empty(s), Tile::consumers * warpgroup / 32);   // one arrival a warp
		}
		hopper::fence_init();
	}
	__syncthreads();
	constexpr bool hand_over = Waves == 2;   // 384 threads at 168 registers: 40 + 2 * 232 = 3 * 168
	const int group = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / warpgroup, 0);   // one value a warp, and the compiler knows
	if (group == 0) {
		if constexpr (hand_over) hopper::give_registers<40>();
		if (static_cast<int>(threadIdx.x) < Loader::threads) produce<Waves>(p, loader, order, memory, k_blocks);
	} else {
		if constexpr (hand_over) hopper::take_registers<232>();
		consume<FormatA, FormatB, Blocks, Waves>(p, order, memory, k_blocks, group - 1, wide);
	}
#endif
}

} // namespace triad
#endif
