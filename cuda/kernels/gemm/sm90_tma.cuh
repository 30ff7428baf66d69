// sm90_tma.cuh: gemm of 16-bit operands on Hopper's tensor cores by the pipeline of hopper/pair_product.cuh: tiles of 128 x 128, which two consumers
// take in turn, in clusters of two that share a tile of b; where y has few tiles, by that of tma_few_rows.cuh. Operands may lie along the reduction or
// across it, so that both layouts of b and both gradients are one kernel.
#ifndef TRIAD_GEMM_SM90_TMA_CUH
#define TRIAD_GEMM_SM90_TMA_CUH
#include "tma_few_rows.cuh"
#include "product.cuh"
#include "sm80_mma.cuh"
#include "tma_products.cuh"

namespace triad {
namespace gemm {

using TmaTile = hopper::PairTile<2, 6>;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// StoreProduct is the epilogue.
template <class T> struct StoreProduct {
	const Product<T> &p;
	bool wide;

	__device__ void begin(const hopper::PairPlace &) {}
	__device__ void store(const TmaTile::Sums &d, const hopper::PairPlace &at) const {
#pragma unroll
		for (int part = 0; part < TmaTile::parts; part++)
			store_product(p, wide, d[part], hopper::PairPlace{at.matrix, at.row + part * hopper::mma_rows, at.col});
	}
};
#endif

// wide: see stores_wide.
template <class T, bool AlongKA, bool AlongKB>
__global__ void __launch_bounds__(TmaTile::threads, 1)
    gemm_tma(const __grid_constant__ Product<T> p, bool wide, const __grid_constant__ hopper::PairWork work) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	extern __shared__ __align__(128) unsigned char gemm_tiles[];
	hopper::run_pair<TmaTile, AlongKA, AlongKB>(
		work, gemm_tiles,
		[](TmaTile::Part &d, uint32_t a, uint32_t b, bool add) { hopper::multiply_stage<T, AlongKA, AlongKB>(d, a, b, add); },
		[&](uint32_t, int) { return StoreProduct<T>{p, wide}; });
#endif
}

template <class T, bool AlongKA, bool AlongKB> int launch_tma(const Product<T> &p, cudaStream_t stream) {
	if (has_few_rows(p)) return launch_few_rows<T, AlongKA, AlongKB>(p, stream);
	constexpr int64_t height = 8; // rows of tiles of clusters that are in flight together
	hopper::PairWork work = {};
	if (const int status = map_product<TmaTile, AlongKA, AlongKB>(&work, p, height)) return status;
	return hopper::launch_pair<TmaTile>(gemm_tma<T, AlongKA, AlongKB>, work, stream, p, stores_wide(p));
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
