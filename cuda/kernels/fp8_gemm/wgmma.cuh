// wgmma.cuh: the product of two scaled fp8 matrices on Hopper's tensor cores (sm_90a), with a scale a tensor or a row.
//   A persistent block takes tiles of c in turn. Its first warpgroup keeps a ring of stages in shared memory filled, each with 128 of the
//   reduction; the others multiply: each owns Waves x 64 rows and all 128 columns of a tile, sums 64 rows over one stage in the tensor
//   core (its accumulator keeps about 14 bits, so no longer), then adds that in fp32 to its share of the result. While one of them adds, the
//   others' products run. Tiles of c:
//       256 x 128  two warpgroups of 128 rows        192 x 128  three of 64        128 x 128  two of 64, where there are few tiles
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
#include "tile_scales.cuh"
#include "wgmma_tile.cuh"

namespace triad {

using LargeTile = WgmmaTile<2>;
using TripleTile = WgmmaTile<1, 3>;
using SmallTile = WgmmaTile<1>;
constexpr int warpgroup = LargeTile::warpgroup, tile_k = LargeTile::k;
static_assert(tile_k == scale_block, "a stage is what the tensor core may sum, and has one scale");

// ---- loaders: fill stage memory with block k_block of the operands for the tile at (row, col); `full` learns when it is there

struct CopyLoader {
	static constexpr int arrivals = 1, threads = 1;   // one thread issues all
	static constexpr int block_registers = 24;        // of a thread, see wgmma_blocks.cuh
	hopper::ByteMap a, b;

	__device__ void prepare() const {
		hopper::prefetch_map(&a);
		hopper::prefetch_map(&b);
	}
	template <class Tile> __device__ void fill(uint32_t a_tile, uint32_t full, int64_t row, int64_t col, int k_block) const {
		hopper::barrier_arrive_expecting(full, Tile::stage_bytes);
		hopper::copy_box(a_tile, &a, static_cast<int32_t>(row), k_block * tile_k, full);
		hopper::copy_box(a_tile + Tile::a_bytes, &b, static_cast<int32_t>(col), k_block * tile_k, full);
	}
};

struct GuardedLoader {
	static constexpr int arrivals = warpgroup, threads = warpgroup, block_registers = 56;
	Fp8Matrix a, b;
	int64_t m, n, k;

	__device__ void prepare() const {}
	template <class Tile> __device__ void fill(uint32_t a_tile, uint32_t full, int64_t row, int64_t col, int k_block) const {
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

// Ring is the shared memory of a block, as a pointer and as an address.
struct Ring {
	uint8_t *start;
	uint32_t memory;
};

// begin_ring is what all threads of a block do first; then the barriers are there.
template <class Tile, class Loader> __device__ inline Ring begin_ring(const Loader &loader) {
	extern __shared__ uint8_t dynamic_shared[];
	constexpr uint32_t aligned = hopper::tile_alignment;
	uint8_t *const start = dynamic_shared + (aligned - hopper::shared_address(dynamic_shared) % aligned) % aligned;
	const uint32_t memory = hopper::shared_address(start);
	if (threadIdx.x == 0) {
		loader.prepare();
		for (int s = 0; s < Tile::stages; s++) {
			hopper::barrier_init(memory + Tile::full(s), Loader::arrivals);
			hopper::barrier_init(memory + Tile::empty(s), Tile::consumers * warpgroup / 32);   // one arrival a warp
		}
		TileScales<Tile>::init(memory);
		hopper::fence_init();
	}
	__syncthreads();
	return {start, memory};
}

// What the first warpgroup does: the threads that the loader wants fill stage after stage, and two warps bring the scales of each tile, if those
// are of tiles.
template <bool OfTiles, class Tile, class Loader>
__device__ inline void produce(const Product &p, const Loader &loader, const TileOrder &order, const Ring &ring, int k_blocks) {
	const bool loads = static_cast<int>(threadIdx.x) < Loader::threads;
	const bool scales = OfTiles && static_cast<int>(threadIdx.x) >= TileScales<Tile>::first_thread;
	if ((!loads && !scales) || k_blocks == 0) return;
	TileScales<Tile> of_tile(ring.start, ring.memory);
	RingPlace<Tile::stages> at;
	for (int64_t tile = blockIdx.x; tile < order.count(); tile += gridDim.x) {
		const TilePlace place = order.place(tile);
		if (scales) of_tile.bring(p, place);
		if (!loads) continue;
		for (int k_block = 0; k_block < k_blocks; k_block++, at.next()) {
			hopper::barrier_wait(ring.memory + Tile::empty(at.stage), at.parity ^ 1);
			loader.template fill<Tile>(ring.memory + Tile::a(at.stage), ring.memory + Tile::full(at.stage), place.m * static_cast<int64_t>(Tile::m),
			                           place.n * static_cast<int64_t>(tile_n), k_block);
		}
	}
}

// multiply_stage starts the product of a consumer's 64 rows of a wave with all columns over a stage, which is there; the first of the
// instructions overwrites part.
template <int32_t FormatA, int32_t FormatB, class Tile>
__device__ inline void multiply_stage(float (&part)[accumulators], uint32_t memory, int stage, int consumer, int wave) {
	const uint64_t a = hopper::tile_descriptor(memory + Tile::wave_a(stage, consumer, wave)), b = hopper::tile_descriptor(memory + Tile::b(stage));
	hopper::fence();
#pragma unroll
	for (int k = 0; k < tile_k; k += hopper::mma_k_bytes)
		hopper::mma_fp8<FormatA, FormatB>(part, hopper::advanced(a, k), hopper::advanced(b, k), k > 0);
	hopper::commit();
}

// hand_back: this warp has read a stage.
template <class Tile> __device__ inline void hand_back(uint32_t memory, int stage) {
	if (threadIdx.x % 32 == 0) hopper::barrier_arrive(memory + Tile::empty(stage));
}

// What the other warpgroups do; `consumer` counts them.
template <int32_t FormatA, int32_t FormatB, int Waves, class Tile>
__device__ inline void consume(const Product &p, const TileOrder &order, const Ring &ring, int k_blocks, int consumer, bool wide) {
	const uint32_t memory = ring.memory;
	TileScales<Tile> scales(ring.start, memory);
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
		for (int k_block = 0; k_block < k_blocks; k_block++, at.next()) {
			hopper::barrier_wait(memory + Tile::full(at.stage), at.parity);
#pragma unroll
			for (int w = 0; w < Waves; w++) {
				float part[accumulators];
				multiply_stage<FormatA, FormatB, Tile>(part, memory, at.stage, consumer, w);
				hopper::wait<0>(part);
				if (w == Waves - 1) hand_back<Tile>(memory, at.stage);
#pragma unroll
				for (int i = 0; i < accumulators; i++) sum[w][i] += part[i];
			}
		}
		if (k_blocks > 0) scales.scale(sum, consumer);
#pragma unroll
		for (int w = 0; w < Waves; w++) store_sums(p, row0 + w * hopper::mma_rows, col0, sum[w], wide);
	}
}

// What the threads of a warpgroup hold where they are handed over: all of a block's registers, which are the producer's and the consumers'.
template <class Tile, int Waves> struct Registers {
	static constexpr bool hand_over = Waves == 2 || Tile::consumers == 3;
	static constexpr int of_launch = (64 << 10) / Tile::threads / 8 * 8, all = of_launch * (1 + Tile::consumers);
	static constexpr int consumer = Tile::consumers == 3 ? 152 : 232, producer = all - consumer * Tile::consumers;
};

// wide: rows of c can be written 16 bytes at a time.
template <int32_t FormatA, int32_t FormatB, int Waves, int Consumers, class Loader>
__global__ void __launch_bounds__(WgmmaTile<Waves, Consumers>::threads, 1)
    product_wgmma(const __grid_constant__ Product p, const __grid_constant__ Loader loader, const __grid_constant__ TileOrder order, bool wide) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	using Tile = WgmmaTile<Waves, Consumers>;
	using Held = Registers<Tile, Waves>;
	const Ring ring = begin_ring<Tile>(loader);
	const int k_blocks = static_cast<int>((p.k + tile_k - 1) / tile_k);
	const int group = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / warpgroup, 0);   // one value a warp, and the compiler knows
	if (group == 0) {
		if constexpr (Held::hand_over) hopper::give_registers<Held::producer>();
		produce<true, Tile>(p, loader, order, ring, k_blocks);
	} else {
		if constexpr (Held::hand_over) hopper::take_registers<Held::consumer>();
		consume<FormatA, FormatB, Waves, Tile>(p, order, ring, k_blocks, group - 1, wide);
	}
#endif
}

} // namespace triad
#endif
