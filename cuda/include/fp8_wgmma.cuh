// fp8_wgmma.cuh: the product of two scaled fp8 matrices on Hopper's tensor cores (sm_90a).
//   A persistent block takes tiles of c in turn. Its first warpgroup keeps a ring of stages in shared memory filled, each with 128 of the
//   reduction; the other two multiply: each owns Waves x 64 rows and all 128 columns of a tile, sums 64 rows over one stage in the tensor
//   core (its accumulator keeps about 14 bits, so no longer), then adds that in fp32 to its share of the result, scaled under block scaling.
//   While one of the two adds, the other one's products run.
//   Loaders: CopyLoader, boxes by the copy engine (rows aligned to 16 bytes); GuardedLoader, any strides, by the threads themselves.
#ifndef TRIAD_FP8_WGMMA_CUH
#define TRIAD_FP8_WGMMA_CUH
#include "fp8_product.cuh"
#include "hopper/barrier.cuh"
#include "hopper/swizzle.cuh"
#include "hopper/tensor_map.cuh"
#include "hopper/wgmma.cuh"
#include "tile_order.cuh"

namespace triad {

constexpr int warpgroup = 128;          // threads
constexpr int consumers = 2;            // warpgroups that multiply
constexpr int wgmma_threads = warpgroup * (1 + consumers);
constexpr int tile_n = 128, tile_k = scale_block;
constexpr int accumulators = 64;        // of a thread, for 64 x 128 elements

// The sizes that follow from the waves of a warpgroup: 64 rows each, one after the other.
template <int Waves> struct WgmmaTile {
	static constexpr int m = consumers * Waves * hopper::mma_rows;
	static constexpr int a_bytes = m * tile_k, b_bytes = tile_n * tile_k, stage_bytes = a_bytes + b_bytes;
	static constexpr int stages = (192 << 10) / stage_bytes;
	static constexpr int shared_bytes = hopper::tile_alignment + stages * (stage_bytes + 2 * 8);   // two barriers a stage
};

// Ring: which stage comes next, and the parity of its current round.
template <int Stages> struct RingPlace {
	int stage = 0;
	uint32_t parity = 0;
	__device__ void next() {
		if (++stage < Stages) return;
		stage = 0;
		parity ^= 1;
	}
};

// ---- loaders: fill stage memory with block k_block of the operands for the tile at (row, col); `full` learns when it is there

struct CopyLoader {
	static constexpr int arrivals = 1, threads = 1;   // one thread issues all
	CUtensorMap a, b;

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

// ---- scales

// A factor that may lie outside fp32's range, as two: x * first * second rounds as one product with the factor would. Plain: second is 1.
struct Factor {
	float first, second;
};

// plain: the factor leaves room for every product of codes, and for 2^31 of them added up.
__device__ inline bool plain(float factor) {
	const float size = fabsf(factor);
	return size >= 0x1p-80f && size <= 0x1p80f;
}

// The product of two scales. Where it is not plain the exponent is spread over both factors; beyond +-240 the result is 0 or infinite anyway.
__device__ inline Factor product_of_scales(float a, float b) {
	const float product = a * b;
	if (plain(product)) return {product, 1.0f};
	const SplitScale x = split_scale(a), y = split_scale(b);
	const int exponent = max(-240, min(240, x.exponent + y.exponent)), half = exponent / 2;
	return {x.mantissa * y.mantissa * __int_as_float((half + 127) << 23), __int_as_float((exponent - half + 127) << 23)};
}

// The scales that a thread needs under block scaling for one stage: of its two rows in each wave, and of the tile's columns.
template <int Waves> struct BlockScales {
	float a[Waves][2], b;
};

template <int Waves>
__device__ inline BlockScales<Waves> block_scales(const Product &p, const float *const (&a_rows)[Waves][2], const float *b_row, int k_block) {
	BlockScales<Waves> r;
#pragma unroll
	for (int w = 0; w < Waves; w++)
#pragma unroll
		for (int h = 0; h < 2; h++) r.a[w][h] = a_rows[w][h][k_block * p.scale_a.block_stride];
	r.b = b_row[k_block * p.scale_b.block_stride];
	return r;
}

// sum += part, times the factor of the row.
__device__ inline void add_scaled(float (&sum)[accumulators], const float (&part)[accumulators], const float (&a)[2], float b) {
	const bool simple = plain(a[0] * b) && plain(a[1] * b);
	const Factor f[2] = {product_of_scales(a[0], b), product_of_scales(a[1], b)};
	if (__all_sync(0xffffffffu, simple)) {
#pragma unroll
		for (int i = 0; i < accumulators; i++) sum[i] += part[i] * f[i / 2 % 2].first;
	} else {
#pragma unroll
		for (int i = 0; i < accumulators; i++) sum[i] += part[i] * f[i / 2 % 2].first * f[i / 2 % 2].second;
	}
}

// ---- epilogue

__device__ inline uint32_t pair_of(__nv_bfloat16, float low, float high) {
	const __nv_bfloat162 v = __floats2bfloat162_rn(low, high);
	return *reinterpret_cast<const uint32_t *>(&v);
}
__device__ inline uint32_t pair_of(__half, float low, float high) {
	const __half2 v = __floats2half2_rn(low, high);
	return *reinterpret_cast<const uint32_t *>(&v);
}

// The four lanes of a quad hold a 4x4 matrix of words, a row each: afterwards lane i holds what was column i.
__device__ inline void transpose_quad(uint32_t (&x)[4], int lane) {
#pragma unroll
	for (int step = 1; step <= 2; step *= 2) {
		const bool upper = lane & step;
#pragma unroll
		for (int i = 0; i < 4; i++) {
			if (i & step) continue;
			const uint32_t other = __shfl_xor_sync(0xffffffffu, upper ? x[i] : x[i | step], step);
			if (upper) x[i] = other;
			else x[i | step] = other;
		}
	}
}

// Writes one of a thread's two rows in 64 x 128 elements as 16-byte stores of 16-bit values: neighbouring lanes exchange their columns
// first. `row` is null for a row beyond c, n is a multiple of 8.
template <class T> __device__ inline void store_row(T *row, int64_t col0, int64_t n, const float (&y)[accumulators], int h) {
	const int lane = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
	for (int g = 0; g < tile_n / 32; g++) {
		uint32_t words[4];
#pragma unroll
		for (int j = 0; j < 4; j++) words[j] = pair_of(T(), y[(4 * g + j) * 4 + 2 * h], y[(4 * g + j) * 4 + 2 * h + 1]);
		transpose_quad(words, lane);
		const int64_t col = col0 + 32 * g + 8 * lane;
		if (row != nullptr && col < n) __stcs(reinterpret_cast<uint4 *>(row + col), make_uint4(words[0], words[1], words[2], words[3]));
	}
}

// As above for fp32: a quad's columns fill 32 bytes already.
__device__ inline void store_row(float *row, int64_t col0, int64_t n, const float (&y)[accumulators], int h) {
#pragma unroll
	for (int j = 0; j < tile_n / 8; j++) {
		const int64_t col = col0 + 8 * j + threadIdx.x % 4 * 2;
		if (row != nullptr && col < n) __stcs(reinterpret_cast<float2 *>(row + col), make_float2(y[4 * j + 2 * h], y[4 * j + 2 * h + 1]));
	}
}

template <class T> __device__ inline void store_rows(const Product &p, int64_t row0, int64_t col0, const float (&y)[accumulators]) {
#pragma unroll
	for (int h = 0; h < 2; h++) {
		const int64_t row = row0 + 8 * h;
		store_row(row < p.m ? static_cast<T *>(p.c) + row * p.n : nullptr, col0, p.n, y, h);
	}
}

// Scales the sums by row and column.
__device__ inline void scale_sums(const Product &p, int64_t row0, int64_t col0, float (&y)[accumulators]) {
	float a[2];
#pragma unroll
	for (int h = 0; h < 2; h++) a[h] = p.scale_a.scale[min(row0 + 8 * h, p.m - 1) * p.scale_a.row_stride];
#pragma unroll
	for (int j = 0; j < tile_n / 8; j++)
#pragma unroll
		for (int e = 0; e < 2; e++) {
			const int64_t col = min(col0 + 8 * j + threadIdx.x % 4 * 2 + e, p.n - 1);
			const float b = p.scale_b.scale[col * p.scale_b.row_stride];
#pragma unroll
			for (int h = 0; h < 2; h++) {
				const Factor f = product_of_scales(a[h], b);
				y[4 * j + 2 * h + e] = y[4 * j + 2 * h + e] * f.first * f.second;
				hopper::finish(y[4 * j + 2 * h + e]);   // else the factors of all elements wait in registers
			}
		}
}

// Writes a thread's 64 x 128 share of c from (row0 = its first row, col0 = the tile's first column) on.
__device__ inline void store_sums(const Product &p, int64_t row0, int64_t col0, const float (&y)[accumulators], bool wide) {
	if (!wide) {
#pragma unroll
		for (int i = 0; i < accumulators; i++) {
			const int64_t row = row0 + i / 2 % 2 * 8, col = col0 + i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
			if (row < p.m && col < p.n) store_element(p.c, p.out, row * p.n + col, y[i]);
		}
	} else if (p.out == TRIAD_BF16) {
		store_rows<__nv_bfloat16>(p, row0, col0, y);
	} else if (p.out == TRIAD_F16) {
		store_rows<__half>(p, row0, col0, y);
	} else {
		store_rows<float>(p, row0, col0, y);
	}
}

// ---- the kernel

template <int Waves> __device__ inline uint32_t full_barrier(uint32_t memory, int stage) {
	return memory + WgmmaTile<Waves>::stages * WgmmaTile<Waves>::stage_bytes + 8 * stage;
}
template <int Waves> __device__ inline uint32_t empty_barrier(uint32_t memory, int stage) {
	return full_barrier<Waves>(memory, WgmmaTile<Waves>::stages + stage);
}

// What the threads of the first warpgroup that the loader wants do.
template <int Waves, class Loader>
__device__ inline void produce(const Product &p, const Loader &loader, const TileOrder &order, uint32_t memory, int k_blocks) {
	using Tile = WgmmaTile<Waves>;
	RingPlace<Tile::stages> at;
	for (int64_t tile = blockIdx.x; tile < order.count(); tile += gridDim.x) {
		const TilePlace place = order.place(tile);
		for (int k_block = 0; k_block < k_blocks; k_block++, at.next()) {
			hopper::barrier_wait(empty_barrier<Waves>(memory, at.stage), at.parity ^ 1);
			loader.template fill<Waves>(memory + at.stage * Tile::stage_bytes, full_barrier<Waves>(memory, at.stage),
			                            place.m * static_cast<int64_t>(Tile::m), place.n * static_cast<int64_t>(tile_n), k_block);
		}
	}
}

// What the other warpgroups do; `group` counts them.
template <int32_t FormatA, int32_t FormatB, bool Blocks, int Waves>
__device__ inline void consume(const Product &p, const TileOrder &order, uint32_t memory, int k_blocks, int group, bool wide) {
	using Tile = WgmmaTile<Waves>;
	constexpr int wave_bytes = hopper::mma_rows * tile_k;
	const int thread = static_cast<int>(threadIdx.x) % warpgroup;
	RingPlace<Tile::stages> at;
	for (int64_t tile = blockIdx.x; tile < order.count(); tile += gridDim.x) {
		const TilePlace place = order.place(tile);
		const int64_t col0 = place.n * static_cast<int64_t>(tile_n);
		const int64_t row0 = place.m * static_cast<int64_t>(Tile::m) + group * Waves * hopper::mma_rows + hopper::accumulator_row(thread, 0);
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
			hopper::barrier_wait(full_barrier<Waves>(memory, at.stage), at.parity);
			const uint32_t a_tile = memory + at.stage * Tile::stage_bytes;
			const uint64_t b = hopper::tile_descriptor(a_tile + Tile::a_bytes);
#pragma unroll
			for (int w = 0; w < Waves; w++) {
				const uint64_t a = hopper::tile_descriptor(a_tile + (group * Waves + w) * wave_bytes);
				float part[accumulators];   // the first product overwrites it
				hopper::fence();
#pragma unroll
				for (int k = 0; k < tile_k; k += hopper::mma_k_bytes)
					hopper::mma_fp8<FormatA, FormatB>(part, hopper::advanced(a, k), hopper::advanced(b, k), k > 0);
				hopper::commit();
				hopper::wait<0>(part);
				if (w == Waves - 1 && thread % 32 == 0) hopper::barrier_arrive(empty_barrier<Waves>(memory, at.stage));
				if constexpr (Blocks) {
					add_scaled(sum[w], part, scales.a[w], scales.b);
				} else {
#pragma unroll
					for (int i = 0; i < accumulators; i++) sum[w][i] += part[i];
				}
			}
		}
#pragma unroll
		for (int w = 0; w < Waves; w++) {
			if (!Blocks && k_blocks > 0) scale_sums(p, row0 + w * hopper::mma_rows, col0, sum[w]);
			store_sums(p, row0 + w * hopper::mma_rows, col0, sum[w], wide);
		}
	}
}

// wide: rows of c can be written 16 bytes at a time.
template <int32_t FormatA, int32_t FormatB, bool Blocks, int Waves, class Loader>
__global__ void __launch_bounds__(wgmma_threads, 1)
    product_wgmma(const __grid_constant__ Product p, const __grid_constant__ Loader loader, const __grid_constant__ TileOrder order, bool wide) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	using Tile = WgmmaTile<Waves>;
	extern __shared__ uint8_t dynamic_shared[];
	const uint32_t memory = (hopper::shared_address(dynamic_shared) + hopper::tile_alignment - 1) / hopper::tile_alignment * hopper::tile_alignment;
	const int k_blocks = static_cast<int>((p.k + tile_k - 1) / tile_k);
	if (threadIdx.x == 0) {
		loader.prepare();
		for (int s = 0; s < Tile::stages; s++) {
			hopper::barrier_init(full_barrier<Waves>(memory, s), Loader::arrivals);
			hopper::barrier_init(empty_barrier<Waves>(memory, s), consumers * warpgroup / 32);   // one arrival a warp
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
