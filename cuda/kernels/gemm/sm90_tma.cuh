// sm90_tma.cuh: gemm of 16-bit operands on Hopper's tensor cores by the pipeline of hopper/pair_product.cuh: tiles of 128 x 128, which two consumers
// take in turn, in clusters of two that share a tile of b. Operands may lie along the reduction or across it, so that both layouts of b and both
// gradients are one kernel.
#ifndef TRIAD_GEMM_SM90_TMA_CUH
#define TRIAD_GEMM_SM90_TMA_CUH
#include "product.cuh"
#include "hopper/pair_product.cuh"
#include "hopper/store_sums.cuh"
#include "hopper/wgmma_any.cuh"
#include "sm80_mma.cuh"

namespace triad {
namespace gemm {

using TmaTile = hopper::PairTile<2, 6>;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// multiply_stage: d = a b, plus d if add, for 64 of the reduction from two addresses of shared memory on.
template <class T, bool AlongKA, bool AlongKB>
__device__ inline void multiply_stage(TmaTile::Part &d, uint32_t a_tile, uint32_t b_tile, bool add) {
	const uint64_t a = AlongKA ? hopper::tile_descriptor(a_tile) : hopper::across_descriptor(a_tile, TmaTile::panel_bytes);
	const uint64_t b = AlongKB ? hopper::tile_descriptor(b_tile) : hopper::across_descriptor(b_tile, TmaTile::panel_bytes);
	constexpr int across = 16 * hopper::tile_row_bytes; // to the next 16 of the reduction
#pragma unroll
	for (int i = 0; i < TmaTile::k / 16; i++)
		hopper::multiply_any<T, !AlongKA, !AlongKB>(
			d, hopper::advanced(a, i * (AlongKA ? hopper::mma_k_bytes : across)),
			hopper::advanced(b, i * (AlongKB ? hopper::mma_k_bytes : across)), add || i > 0);
}

// StoreProduct is the epilogue: y = alpha d + beta c. wide: rows of y can be written 16 bytes at a time.
template <class T> struct StoreProduct {
	const Product<T> &p;
	bool wide;

	__device__ void begin(const hopper::PairPlace &) {}
	__device__ void store(const TmaTile::Sums &d, const hopper::PairPlace &at) const {
#pragma unroll
		for (int part = 0; part < TmaTile::parts; part++) store_part(d[part], at, part * hopper::mma_rows);
	}

private:
	__device__ void store_part(const TmaTile::Part &d, const hopper::PairPlace &at, int first) const {
		const int64_t row = at.row + first + hopper::accumulator_row(static_cast<int>(threadIdx.x) % TmaTile::warpgroup, 0);
		const hopper::SumsPlace<T> to = {p.y + at.matrix * p.m * p.n, p.m, p.n, row, at.col};
		if (p.c == nullptr && wide) return hopper::store_wide(d, to, [&](float sum) { return p.alpha * sum; });
		const T *const c = p.c == nullptr ? nullptr : p.c + at.matrix * p.m * p.n;
		hopper::store_each(d, to, [&](float sum, int64_t i) {
			const float value = p.alpha * sum;
			return c == nullptr ? value : value + p.beta * to_float(c[i]);
		});
	}
};
#endif

// wide: rows of y can be written 16 bytes at a time.
template <class T, bool AlongKA, bool AlongKB>
__global__ void __launch_bounds__(TmaTile::threads, 1)
    gemm_tma(const __grid_constant__ Product<T> p, bool wide, const __grid_constant__ hopper::PairWork work) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	extern __shared__ __align__(128) unsigned char gemm_tiles[];
	hopper::run_pair<TmaTile, AlongKA, AlongKB>(
		work, gemm_tiles,
		[](TmaTile::Part &d, uint32_t a, uint32_t b, bool add) { multiply_stage<T, AlongKA, AlongKB>(d, a, b, add); },
		[&](uint32_t, int) { return StoreProduct<T>{p, wide}; });
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
