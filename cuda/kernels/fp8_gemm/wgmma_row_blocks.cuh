// wgmma_row_blocks.cuh: the product of two fp8 matrices on Hopper's tensor cores (sm_90a) where each row of both has a scale for every 128 of the
// reduction. Ring, producer and tiles of 192 x 128 are those of wgmma.cuh.
//   A thread's 64 sums of a stage lie in 2 rows and 32 columns, so each has a factor of its own: a product of two scales and one FFMA, where
//   wgmma_blocks.cuh has the FFMA alone. Two warps of the first warpgroup bring the scales of a stage into shared memory while the copy engine
//   fills it, and arrive at its barrier too. While one of the three consumers adds, the others' products run.
#ifndef TRIAD_FP8_GEMM_WGMMA_ROW_BLOCKS_CUH
#define TRIAD_FP8_GEMM_WGMMA_ROW_BLOCKS_CUH
#include "wgmma_launch.cuh"

namespace triad {

// RowBlockTile has, behind the memory of TripleTile, the scales of each stage: of rows, of columns, and a word of each warp that brings them.
struct RowBlockTile : TripleTile {
	static constexpr int bringers = scale_warps * 32, first_bringer = warpgroup - bringers;   // threads
	static constexpr int scales_each = (m + n) / bringers, rows_each = m / bringers;          // of a thread that brings them; the rows come first
	static_assert(m % bringers == 0 && n % bringers == 0, "a thread brings as many scales as another");
	static constexpr int stage_scales_bytes = (m + n + 2 * scale_warps) * 4;
	static constexpr int shared_bytes = TripleTile::shared_bytes + stages * stage_scales_bytes;

	__host__ __device__ static constexpr uint32_t stage_scales(int stage) { return scales(scale_buffers) + stage_scales_bytes * stage; }
};
static_assert(RowBlockTile::shared_bytes <= 227 << 10, "a block's shared memory");

struct ScaledLoader : CopyLoader {
	static constexpr int arrivals = CopyLoader::arrivals + RowBlockTile::scale_warps;
};

// bring_scales writes the scales of stage after stage; they are fetched before the stage is free. By the threads from first_bringer on.
__device__ inline void bring_scales(const Product &p, const TileOrder &order, const Ring &ring, int k_blocks) {
	using Tile = RowBlockTile;
	const int thread = static_cast<int>(threadIdx.x) - Tile::first_bringer;
	RingPlace<Tile::stages> at;
	for (int64_t tile = blockIdx.x; tile < order.count(); tile += gridDim.x) {
		const TilePlace place = order.place(tile);
		const float *from[Tile::scales_each];
#pragma unroll
		for (int i = 0; i < Tile::scales_each; i++) {
			const bool row = i < Tile::rows_each;
			const Fp8Scale &scale = row ? p.scale_a : p.scale_b;
			const int64_t line = row ? place.m * Tile::m + thread + i * Tile::bringers : place.n * Tile::n + thread + (i - Tile::rows_each) * Tile::bringers;
			from[i] = scale.scale + min(line, (row ? p.m : p.n) - 1) * scale.row_stride;
		}
		for (int k_block = 0; k_block < k_blocks; k_block++, at.next()) {
			float scale[Tile::scales_each];
			bool simple = true;
#pragma unroll
			for (int i = 0; i < Tile::scales_each; i++) {
				scale[i] = *from[i];
				from[i] += (i < Tile::rows_each ? p.scale_a : p.scale_b).block_stride;
				simple = simple && moderate(scale[i]);
			}
			simple = __all_sync(0xffffffffu, simple);
			hopper::barrier_wait(ring.memory + Tile::empty(at.stage), at.parity ^ 1);
			float *const to = reinterpret_cast<float *>(ring.start + Tile::stage_scales(at.stage));
#pragma unroll
			for (int i = 0; i < Tile::scales_each; i++) to[thread + i * Tile::bringers] = scale[i];
			if (thread % 32 == 0) reinterpret_cast<uint32_t *>(to)[Tile::m + Tile::n + thread / 32] = simple;
			__syncwarp();   // one lane arrives for what all have written
			if (thread % 32 == 0) hopper::barrier_arrive(ring.memory + Tile::full(at.stage));
		}
	}
}

// add_stage adds a consumer's product of a stage to its sums, each times the scales of its row and its column.
__device__ inline void add_stage(float (&sum)[accumulators], const float (&part)[accumulators], const float *scales, int consumer) {
	using Tile = RowBlockTile;
	const int thread = static_cast<int>(threadIdx.x) % warpgroup;
	const float a[2] = {scales[Tile::row(consumer, 0, thread, 0)], scales[Tile::row(consumer, 0, thread, 2)]};
	const float *const columns = scales + Tile::m;
	const uint32_t *const simple = reinterpret_cast<const uint32_t *>(columns + Tile::n);
	const auto pair = [&](int i) { return *reinterpret_cast<const float2 *>(columns + Tile::column(thread, i)); };
	if (simple[0] != 0 && simple[1] != 0) {
#pragma unroll
		for (int i = 0; i < accumulators; i += 4) {
			const float2 b = pair(i);
#pragma unroll
			for (int j = 0; j < 4; j++) sum[i + j] = fmaf(part[i + j], a[j / 2] * (j % 2 ? b.y : b.x), sum[i + j]);
		}
		return;
	}
	const SplitScale rows[2] = {split_scale(a[0]), split_scale(a[1])};
#pragma unroll
	for (int i = 0; i < accumulators; i += 4) {
		const float2 b = pair(i);
#pragma unroll
		for (int j = 0; j < 4; j++) {
			const Factor f = joined(rows[j / 2], split_scale(j % 2 ? b.y : b.x));
			sum[i + j] = fmaf(part[i + j] * f.first, f.second, sum[i + j]);
			hopper::finish(sum[i + j]);   // else the factors of all elements wait in registers
		}
	}
}

// What a consumer does.
template <int32_t FormatA, int32_t FormatB>
__device__ inline void consume_row_blocks(const Product &p, const TileOrder &order, const Ring &ring, int k_blocks, int consumer, bool wide) {
	using Tile = RowBlockTile;
	RingPlace<Tile::stages> at;
	for (int64_t tile = blockIdx.x; tile < order.count(); tile += gridDim.x) {
		const TilePlace place = order.place(tile);
		const int64_t row0 = place.m * static_cast<int64_t>(Tile::m) + Tile::row(consumer, 0, static_cast<int>(threadIdx.x) % warpgroup, 0);
		float sum[accumulators] = {};
		for (int k_block = 0; k_block < k_blocks; k_block++, at.next()) {
			hopper::barrier_wait(ring.memory + Tile::full(at.stage), at.parity);
			float part[accumulators];
			multiply_stage<FormatA, FormatB, Tile>(part, ring.memory, at.stage, consumer, 0);
			hopper::wait<0>(part);
			add_stage(sum, part, reinterpret_cast<const float *>(ring.start + Tile::stage_scales(at.stage)), consumer);
			__syncwarp();   // one lane hands back what all have read
			hand_back<Tile>(ring.memory, at.stage);
		}
		store_sums(p, row0, place.n * static_cast<int64_t>(tile_n), sum, wide);
	}
}

// wide: rows of c can be written 16 bytes at a time.
template <int32_t FormatA, int32_t FormatB>
__global__ void __launch_bounds__(RowBlockTile::threads, 1) product_wgmma_row_blocks(const __grid_constant__ Product p,
		const __grid_constant__ ScaledLoader loader, const __grid_constant__ TileOrder order, bool wide) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	using Tile = RowBlockTile;
	using Held = Registers<TripleTile, 1>;
	const Ring ring = begin_ring<Tile>(loader);
	const int k_blocks = static_cast<int>((p.k + tile_k - 1) / tile_k);
	const int group = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / warpgroup, 0);   // one value a warp, and the compiler knows
	if (group == 0) {
		hopper::give_registers<Held::producer>();
		if (static_cast<int>(threadIdx.x) >= Tile::first_bringer) bring_scales(p, order, ring, k_blocks);
		else produce<false, Tile>(p, loader, order, ring, k_blocks);
	} else {
		hopper::take_registers<Held::consumer>();
		consume_row_blocks<FormatA, FormatB>(p, order, ring, k_blocks, group - 1, wide);
	}
#endif
}

// WgmmaByRows is Wgmma where rows of b may have scales of blocks of their own, in e4m3. Of these it takes what the copy engine can read, and leaves
// the others to ordinary cores.
struct WgmmaByRows {
	template <int32_t FormatA, int32_t FormatB> static int launch(const Product &p, const triad_call *call, cudaStream_t stream) {
		if constexpr (FormatA == TRIAD_E4M3)
			if (p.scaling == block_scaling && p.scale_b.row_group == 1) {
				const bool copyable = Wgmma::copyable(p.a, p.m, p.k) && Wgmma::copyable(p.b, p.n, p.k);
				return copyable ? copied<FormatA, FormatB>(p, stream) : Tiled::launch<FormatA, FormatB>(p, call, stream);
			}
		return Wgmma::launch<FormatA, FormatB>(p, call, stream);
	}

	template <int32_t FormatA, int32_t FormatB> static int copied(const Product &p, cudaStream_t stream) {
		ScaledLoader loader;
		if (const int status = Wgmma::map(&loader.a, p.a, p.m, p.k, RowBlockTile::m)) return status;
		if (const int status = Wgmma::map(&loader.b, p.b, p.n, p.k, tile_n)) return status;
		return Wgmma::run<RowBlockTile>(product_wgmma_row_blocks<FormatA, FormatB>, p, loader, stream);
	}
};

} // namespace triad
#endif
