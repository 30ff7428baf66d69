// sm90_tma.cuh: gemm of 16-bit operands on Hopper's tensor cores by the pipeline of hopper/pair_product.cuh: tiles of 128 x 256, clusters of two
// that share a tile of b. Operands may lie along the reduction or across it, so that both layouts of b and both gradients are one kernel.
#ifndef TRIAD_GEMM_SM90_TMA_CUH
#define TRIAD_GEMM_SM90_TMA_CUH
#include "product.cuh"
#include "hopper/arithmetic.cuh"
#include "hopper/pair_product.cuh"
#include "hopper/wgmma_wide.cuh"
#include "quad.cuh"
#include "sm80_mma.cuh"

namespace triad {
namespace gemm {

using TmaTile = hopper::PairTile<2, 4>;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// multiply_stage: d = a b, plus d if add, for 64 of the reduction from two addresses of shared memory on.
template <class T, bool AlongKA, bool AlongKB>
__device__ inline void multiply_stage(float (&d)[TmaTile::n / 8][4], uint32_t a_tile, uint32_t b_tile, bool add) {
	const uint64_t a = AlongKA ? hopper::tile_descriptor(a_tile) : hopper::across_descriptor(a_tile, TmaTile::panel_bytes);
	const uint64_t b = AlongKB ? hopper::tile_descriptor(b_tile) : hopper::across_descriptor(b_tile, TmaTile::panel_bytes);
	constexpr int across = 16 * hopper::tile_row_bytes; // to the next 16 of the reduction
#pragma unroll
	for (int i = 0; i < TmaTile::k / 16; i++)
		hopper::multiply_wide<T, !AlongKA, !AlongKB>(
			d, hopper::advanced(a, i * (AlongKA ? hopper::mma_k_bytes : across)),
			hopper::advanced(b, i * (AlongKB ? hopper::mma_k_bytes : across)), add || i > 0);
}

// store_each: oneelement at a time, col is this thread's first column.
template <class T, int Eights>
__device__ inline void store_each(const float (&d)[Eights][4], const Product<T> &p, int64_t matrix, int64_t row, int64_t col) {
#pragma unroll
	for (int half = 0; half < 2; half++) {
		const int64_t r = row + 8 * half;
		const int columns = r < p.m ? static_cast<int>(min(p.n - col, static_cast<int64_t>(8 * Eights))) : 0;
		int64_t at = (matrix * p.m + r) * p.n + col;
#pragma unroll
		for (int j = 0; j < Eights; j++, at = hopper::fresh(at + 8)) {
#pragma unroll
			for (int e = 0; e < 2; e++) {
				if (8 * j + e >= columns) continue;
				float value = p.alpha * d[j][2 * half + e];
				if (p.c != nullptr) value += p.beta * to_float(p.c[at + e]);
				p.y[at + e] = from_float<T>(value);
			}
		}
	}
}

// store writes y: `row` is this thread's first row, the other one is 8 below. wide: rows of y are whole vectors of 16 bytes.
template <class T, int Eights>
__device__ inline void store_product(const float (&d)[Eights][4], const Product<T> &p, int64_t matrix, int64_t row, int64_t col0, bool wide) {
	const int lane = static_cast<int>(threadIdx.x) % 4;
	if (p.c != nullptr || !wide) return store_each(d, p, matrix, row, col0 + 2 * lane);
#pragma unroll
	for (int half = 0; half < 2; half++) {
		const int64_t r = row + 8 * half;
		const int columns = r < p.m ? static_cast<int>(min(p.n - col0, static_cast<int64_t>(8 * Eights))) : 0;
		T *const line = p.y + (matrix * p.m + r) * p.n + col0 + 8 * lane;
#pragma unroll
		for (int group = 0; group < Eights / 4; group++) {
			uint32_t words[4];
#pragma unroll
			for (int j = 0; j < 4; j++) {
				const float(&pair)[4] = d[4 * group + j];
				words[j] = pair_of(T(), p.alpha * pair[2 * half], p.alpha * pair[2 * half + 1]);
			}
			transpose_quad(words, lane);
			if (32 * group + 8 * lane < columns)
				__stcs(reinterpret_cast<uint4 *>(line + 32 * group), make_uint4(words[0], words[1], words[2], words[3]));
		}
	}
}
#endif

// wide: rows of y can be written 16 bytes at a time.
template <class T, bool AlongKA, bool AlongKB>
__global__ void __launch_bounds__(TmaTile::threads, 1)
    gemm_tma(const __grid_constant__ Product<T> p, bool wide, const __grid_constant__ hopper::PairWork work) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	extern __shared__ __align__(128) unsigned char gemm_tiles[];
	using Sums = float[TmaTile::n / 8][4];
	hopper::run_pair<TmaTile, AlongKA, AlongKB>(
		work, gemm_tiles,
		[](Sums &d, uint32_t a, uint32_t b, bool add) { multiply_stage<T, AlongKA, AlongKB>(d, a, b, add); },
		[&](const Sums &d, int64_t matrix, int64_t row, int64_t col) { store_product(d, p, matrix, row, col, wide); });
#endif
}

template <class T, bool AlongKA, bool AlongKB> int launch_tma(const Product<T> &p, cudaStream_t stream) {
	constexpr int64_t height = 8; // rows of tiles of clusters that are in flight together
	const auto source = [](const Operand<T> &x, bool along) {
		return hopper::PairSource{x.data, x.batch_stride, along ? x.row_stride : x.k_stride, along};
	};
	hopper::PairWork work = {};
	if (const int status = hopper::map_pair<TmaTile>(&work, source(p.a, AlongKA), source(p.b, AlongKB), p.batch, p.m, p.n, p.k, height))
		return status;
	const bool wide = p.n % 8 == 0 && reinterpret_cast<uintptr_t>(p.y) % 16 == 0;
	return hopper::launch_pair<TmaTile>(gemm_tma<T, AlongKA, AlongKB>, work, stream, p, wide);
}

template <class T> int sm90_tma(const triad_call *call) {
	return each_product<T>(call, [](const Product<T> &p, cudaStream_t stream) {
		const bool a = lies_along_k(p.a, p.k), b = lies_along_k(p.b, p.k);
		const auto launch = a ? (b ? launch_tma<T, true, true> : launch_tma<T, true, false>)
		                      : (b ? launch_tma<T, false, true> : launch_tma<T, false, false>);
		return launch(p, stream);
	});
}

// check_tma is a limit beside check_packs: what the copy engine's maps can say.
inline void check_tma(Check &check, const triad_call *call) {
	static const char *const names[] = {"a", "b", "grad_y"};
	for (int i = 0; i < (is_backward(call) ? 3 : 2); i++) {
		const triad_tensor &t = call->in[i];
		const bool across = t.stride[2] != 1 || t.shape[2] % Mma::chunk != 0;
		const int beside = across ? 2 : 1;
		const long long rows = t.shape[1], columns = t.shape[2];
		check.that(elements(t) > 0, "%s has no elements", names[i]);
		check.that(rows < INT32_MAX && columns < INT32_MAX && t.shape[0] < INT32_MAX, "%s has %lld x %lld elements: want below 2^31 - 1",
		           names[i], rows, columns);
		check.that(t.shape[beside] == 1 || (t.stride[beside] > 0 && t.stride[beside] < int64_t{1} << 38),
		           "%s has a stride of %lld, want 1 to 2^38", names[i], static_cast<long long>(t.stride[beside]));
		check.that(t.shape[0] == 1 || (t.stride[0] >= 0 && t.stride[0] < int64_t{1} << 38),
		           "the matrices of %s have a stride of %lld, want 0 to 2^38", names[i], static_cast<long long>(t.stride[0]));
	}
}

} // namespace gemm
} // namespace triad
#endif
