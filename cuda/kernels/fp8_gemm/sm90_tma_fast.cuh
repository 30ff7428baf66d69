// sm90_tma_fast.cuh: the product of two scaled fp8 matrices on Hopper under the contract fast: the tensor cores sum the whole reduction, in about 14
// bits, and nothing is added outside of them. By the pipeline of hopper/pair_product.cuh: tiles of 128 x 256, clusters of two that share a tile of b.
// A scale a tensor or a row is applied to the sums in the end.
#ifndef TRIAD_FP8_GEMM_SM90_TMA_FAST_CUH
#define TRIAD_FP8_GEMM_SM90_TMA_FAST_CUH
#include "accumulators.cuh"
#include "capability.cuh"
#include "register.cuh"
#include "hopper/finish.cuh"
#include "hopper/pair_product.cuh"
#include "hopper/wgmma_wide.cuh"

namespace triad {

using FastTile = hopper::PairTile<2, 4>;   // its words hold two codes each

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
using FastSums = float[FastTile::n / 8][4];

// multiply_fast: d = a b, plus d if add, for 128 of the reduction from two addresses of shared memory on.
template <int32_t FormatA, int32_t FormatB>
__device__ inline void multiply_fast(FastSums &d, uint32_t a_tile, uint32_t b_tile, bool add) {
	const uint64_t a = hopper::tile_descriptor(a_tile), b = hopper::tile_descriptor(b_tile);
#pragma unroll
	for (int k = 0; k < hopper::tile_row_bytes; k += hopper::mma_k_bytes)
		hopper::multiply_wide_fp8<FormatA, FormatB>(d, hopper::advanced(a, k), hopper::advanced(b, k), add || k > 0);
}

// ColumnScales are the scales of a tile's columns, eight a lane: with g and q a lane's group of four and its place there, those of the columns
// 8 (g + 8 t) + 2 q + e. A lane needs two of each eight columns, 64 loads; so it fetches eight, and shuffles give it the others.
struct ColumnScales {
	float own[4][2];

	__device__ ColumnScales(const Product &p, int64_t col0) {
		const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
		for (int t = 0; t < 4; t++)
#pragma unroll
			for (int e = 0; e < 2; e++) {
				const int64_t col = col0 + 8 * (lane / 4 + 8 * t) + lane % 4 * 2 + e;
				own[t][e] = p.scale_b.scale[min(col, p.n - 1) * p.scale_b.row_stride];
			}
	}
	__device__ bool moderate() const {
		bool all = true;
#pragma unroll
		for (int t = 0; t < 4; t++) all = all && triad::moderate(own[t][0]) && triad::moderate(own[t][1]);
		return all;
	}
	// of: the scale of this lane's column e of the eight columns j. By whole warps.
	__device__ float of(int j, int e) const {
		return __shfl_sync(0xffffffffu, own[j / 8][e], j % 8 * 4 + static_cast<int>(threadIdx.x) % 4);
	}
};

// scale_fast multiplies a thread's sums by the scales of their rows and columns; `row` is its first row, the other one is 8 below, col0 the tile's
// first column. One branch for all sums: the code of both ways is longer than what an SM keeps of code.
__device__ inline void scale_fast(FastSums &d, const Product &p, int64_t row, int64_t col0) {
	constexpr int eights = FastTile::n / 8;
	const float one = p.scale_a.scale[0] * p.scale_b.scale[0];
	if (p.scaling == tensor_scaling && plain(one)) {
#pragma unroll
		for (int j = 0; j < eights; j++)
#pragma unroll
			for (int i = 0; i < 4; i++) d[j][i] *= one;
		return;
	}
	float a[2];
#pragma unroll
	for (int half = 0; half < 2; half++) a[half] = p.scale_a.scale[min(row + 8 * half, p.m - 1) * p.scale_a.row_stride];
	const ColumnScales b(p, col0);
	if (__all_sync(0xffffffffu, b.moderate() && moderate(a[0]) && moderate(a[1]))) {
#pragma unroll
		for (int j = 0; j < eights; j++) {
			const float columns[2] = {b.of(j, 0), b.of(j, 1)};
#pragma unroll
			for (int i = 0; i < 4; i++) d[j][i] *= a[i / 2] * columns[i % 2];
		}
		return;
	}
	const SplitScale rows[2] = {split_scale(a[0]), split_scale(a[1])};
#pragma unroll
	for (int j = 0; j < eights; j++) {
		const SplitScale columns[2] = {split_scale(b.of(j, 0)), split_scale(b.of(j, 1))};
#pragma unroll
		for (int i = 0; i < 4; i++) {
			const Factor f = joined(rows[i / 2], columns[i % 2]);
			d[j][i] = d[j][i] * f.first * f.second;
			hopper::finish(d[j][i]);   // else the factors of all sums wait in registers
		}
	}
}

// store_wide writes a thread's sums as 16-bit values, 16 bytes at a time: the lanes of a quad exchange their columns first.
template <class T> __device__ inline void store_wide(const FastSums &d, const Product &p, int64_t row, int64_t col0) {
	const int lane = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
	for (int half = 0; half < 2; half++) {
		const int64_t r = row + 8 * half;
		const int columns = r < p.m ? static_cast<int>(min(p.n - col0, static_cast<int64_t>(FastTile::n))) : 0;
		T *const line = static_cast<T *>(p.c) + r * p.n + col0 + 8 * lane;
#pragma unroll
		for (int group = 0; group < FastTile::n / 32; group++) {
			uint32_t words[4];
#pragma unroll
			for (int j = 0; j < 4; j++) words[j] = pair_of(T(), d[4 * group + j][2 * half], d[4 * group + j][2 * half + 1]);
			transpose_quad(words, lane);
			if (32 * group + 8 * lane < columns)
				__stcs(reinterpret_cast<uint4 *>(line + 32 * group), make_uint4(words[0], words[1], words[2], words[3]));
		}
	}
}

// store_each: one element at a time; col is this thread's first column.
template <class T> __device__ inline void store_each(const FastSums &d, const Product &p, int64_t row, int64_t col) {
#pragma unroll
	for (int half = 0; half < 2; half++) {
		const int64_t r = row + 8 * half;
		const int columns = r < p.m ? static_cast<int>(min(p.n - col, static_cast<int64_t>(FastTile::n))) : 0;
		T *const line = static_cast<T *>(p.c) + r * p.n + col;
#pragma unroll
		for (int j = 0; j < FastTile::n / 8; j++)
#pragma unroll
			for (int e = 0; e < 2; e++)
				if (8 * j + e < columns) line[8 * j + e] = from_float<T>(d[j][2 * half + e]);
	}
}

// store_fast scales and writes a thread's sums; `row` is its first row, col0 the tile's first column.
__device__ inline void store_fast(FastSums &d, const Product &p, int64_t row, int64_t col0, bool wide) {
	const int64_t col = col0 + static_cast<int64_t>(threadIdx.x % 4) * 2;
	scale_fast(d, p, row, col0);
	if (p.out == TRIAD_F32) store_each<float>(d, p, row, col);
	else if (p.out == TRIAD_F16) wide ? store_wide<__half>(d, p, row, col0) : store_each<__half>(d, p, row, col);
	else wide ? store_wide<__nv_bfloat16>(d, p, row, col0) : store_each<__nv_bfloat16>(d, p, row, col);
}
#endif

// wide: rows of c can be written 16 bytes at a time.
template <int32_t FormatA, int32_t FormatB>
__global__ void __launch_bounds__(FastTile::threads, 1)
    product_tma_fast(const __grid_constant__ Product p, bool wide, const __grid_constant__ hopper::PairWork work) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	extern __shared__ __align__(128) unsigned char fast_tiles[];
	hopper::run_pair<FastTile, true, true>(
		work, fast_tiles, [](FastSums &d, uint32_t a, uint32_t b, bool add) { multiply_fast<FormatA, FormatB>(d, a, b, add); },
		[&](FastSums &d, int64_t, int64_t row, int64_t col) { store_fast(d, p, row, col, wide); });
#endif
}

struct TmaFast {
	template <int32_t FormatA, int32_t FormatB> static int launch(const Product &p, const triad_call *, cudaStream_t stream) {
		constexpr int64_t height = 8;   // rows of tiles of clusters that are in flight together
		const auto source = [&](const Fp8Matrix &x, int64_t rows) {
			return hopper::PairSource{x.codes, 0, rows == 1 ? (p.k + 15) / 16 * 8 : x.row_stride / 2, true};
		};
		hopper::PairWork work = {};
		if (const int status = hopper::map_pair<FastTile>(&work, source(p.a, p.m), source(p.b, p.n), 1, p.m, p.n, p.k / 2, height)) return status;
		const bool wide = p.n % 8 == 0 && reinterpret_cast<uintptr_t>(p.c) % 16 == 0;
		return hopper::launch_pair<FastTile>(product_tma_fast<FormatA, FormatB>, work, stream, p, wide);
	}

	static Limits limits() {
		return {wgmma_capability(), limit("a scale a tensor or a row", check_scaling),
		        limit("rows that begin at multiples of 16 bytes; no size 0; an even number of sums", check_operands)};
	}

private:
	// A scale for each 128 of the reduction cannot wait until its end.
	static void check_scaling(Check &check, const triad_call *call) {
		check.that(call->attr[scaling_attribute] != block_scaling, "scaling is block: want tensor or row");
	}

	// check_operands: what the copy engine's maps can say of the operands of a call.
	static void check_operands(Check &check, const triad_call *call) {
		for (int i = 0; i < 4 * call->n_out; i += 2) {
			const triad_tensor &t = call->in[i];
			const long long rows = t.shape[0], k = t.shape[1], stride = t.stride[0];
			check.that(rows > 0 && k > 0 && k % 2 == 0, "operand %d is %lld x %lld: want none empty, and an even number of sums", i, rows, k);
			check.that(rows < INT32_MAX && k < INT32_MAX, "operand %d is %lld x %lld: want below 2^31 - 1", i, rows, k);
			check.that(t.stride[1] == 1 && reinterpret_cast<uintptr_t>(t.data) % 16 == 0 &&
			               (rows == 1 || (stride >= k && stride % 16 == 0 && stride < int64_t{1} << 39)),
			           "operand %d has strides %lld, %lld: want rows that begin at multiples of 16 bytes", i, stride, static_cast<long long>(t.stride[1]));
		}
	}
};

} // namespace triad
#endif
