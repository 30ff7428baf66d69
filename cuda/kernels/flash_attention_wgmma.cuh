// flash_attention_wgmma.cuh: the forward of attention on Hopper's tensor cores (sm_90a), for flash_attention.cu. fp16 and bf16, D a multiple of 8
// up to 128, padded with zeros to 64 or 128. Numerics as in flash_attention_mma.cuh.
//   A block keeps 128 queries, 64 for each of two warpgroups; keys and values come by tiles of 128, two buffers each. The products of the next
//   scores and of the weights before run while the other warpgroup, and in part this one, computes exponentials; P stays in registers.
#ifndef TRIAD_FLASH_ATTENTION_WGMMA_CUH
#define TRIAD_FLASH_ATTENTION_WGMMA_CUH
#include "flash_attention_mma.cuh"
#include "hopper/barrier.cuh"
#include "hopper/wgmma_half.cuh"

namespace triad {
namespace wgmma {

using mma::Exponents;
using mma::Place;
using mma::Softmax;

template <int HeadDim> struct ForwardTiles {
	static constexpr int rows = 128, cols = 128, threads = 256, group_rows = hopper::mma_rows;
	static constexpr int q_bytes = tile_bytes(rows, HeadDim), kv_bytes = tile_bytes(cols, HeadDim);
	static constexpr int used = q_bytes + 4 * kv_bytes, bytes = used + hopper::tile_alignment;
	static constexpr int q_panel = rows * panel_bytes, kv_panel = cols * panel_bytes; // from 64 columns to the next 64
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// start_scores begins s = q k^T, of 64 queries and a tile of keys.
template <class T, int HeadDim> __device__ inline void start_scores(float (&s)[16][4], uint64_t q, uint64_t k) {
	using Tiles = ForwardTiles<HeadDim>;
#pragma unroll
	for (int d = 0; d < HeadDim; d += 16)
		hopper::WarpgroupMultiply<T>::shared(s, hopper::advanced(q, d / 64 * Tiles::q_panel + d % 64 * 2),
		                                     hopper::advanced(k, d / 64 * Tiles::kv_panel + d % 64 * 2), d > 0);
	hopper::commit();
}

// start_output begins o += weights v.
template <class T, int HeadDim> __device__ inline void start_output(float (&o)[HeadDim / 8][4], const uint32_t (&weights)[8][4], uint64_t v) {
#pragma unroll
	for (int k = 0; k < 8; k++) hopper::WarpgroupMultiply<T>::registers(o, weights[k], hopper::advanced(v, k * 16 * panel_bytes));
	hopper::commit();
}
#endif

template <class T, int HeadDim> __global__ void __launch_bounds__(ForwardTiles<HeadDim>::threads, 1) wgmma_forward(ForwardCall<T> a) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	using Tiles = ForwardTiles<HeadDim>;
	extern __shared__ __align__(128) unsigned char wgmma_tiles[];
	unsigned char *const q_rows = wgmma_tiles + (hopper::tile_alignment - hopper::shared_address(wgmma_tiles) % hopper::tile_alignment) % hopper::tile_alignment;
	const uint32_t q_tile = hopper::shared_address(q_rows), k_tiles = q_tile + Tiles::q_bytes, v_tiles = k_tiles + 2 * Tiles::kv_bytes;
	const AttentionShape s = a.shape;
	const int tiles = (s.seq_q + Tiles::rows - 1) / Tiles::rows, warp = __shfl_sync(all_lanes, static_cast<int>(threadIdx.x) / 32, 0);
	const Place at = mma::place(tiles, s.heads_q);
	const int first = (tiles - 1 - at.tile) * Tiles::rows; // under a causal mask the longest work comes first
	const HeadRows<T> k = a.k.of(at.batch, at.head / s.group()), v = a.v.of(at.batch, at.head / s.group());
	const int key_tiles = (s.visible_keys(min(first + Tiles::rows, s.seq_q) - 1) + Tiles::cols - 1) / Tiles::cols;
	const int mine = first + 16 * warp, row = mine + static_cast<int>(threadIdx.x) % 32 / 4, seen_by_all = s.visible_keys(mine);
	const int visible[2] = {s.visible_keys(row), s.visible_keys(row + 8)};
	const float factor = s.scale * log2_e;

	hopper::AsyncCopies copies;
	const auto copy_keys = [&](int tile) {
		copy_tile<Tiles::cols, HeadDim, Tiles::threads>(copies, k_tiles + tile % 2 * Tiles::kv_bytes, k, tile * Tiles::cols, s.seq_kv, s.head_dim);
	};
	const auto copy_values = [&](int tile) {
		copy_tile<Tiles::cols, HeadDim, Tiles::threads>(copies, v_tiles + tile % 2 * Tiles::kv_bytes, v, tile * Tiles::cols, s.seq_kv, s.head_dim);
	};
	const auto all_arrived = [&] { // the copies before, for all; and all products before have been waited for by all
		copies.template wait<0>();
		hopper::fence_stores();
		__syncthreads();
	};
	copy_tile<Tiles::rows, HeadDim, Tiles::threads>(copies, q_tile, a.q.of(at.batch, at.head), first, s.seq_q, s.head_dim);
	copy_keys(0);
	copies.commit();
	all_arrived();

	Softmax state;
	float o[HeadDim / 8][4] = {};
	if (key_tiles > 0) {
		const uint64_t q = hopper::tile_descriptor(q_tile + warp / 4 * (Tiles::group_rows * panel_bytes));
		float p[Tiles::cols / 8][4];
		uint32_t weights[Tiles::cols / 16][4];
		hopper::fence();
		start_scores<T, HeadDim>(p, q, hopper::tile_descriptor(k_tiles));
		copy_values(0);
		if (key_tiles > 1) copy_keys(1);
		copies.commit();
		hopper::wait_for<0>();
		hopper::changed(p);
		if (Tiles::cols > seen_by_all) mma::hide_keys(p, 0, visible);
		mma::weigh_scores(state.sum, p, mma::exponents_for(state, p, factor));
		pack_weights<T>(weights, p);

		for (int tile = 1; tile < key_tiles; tile++) {
			all_arrived(); // keys of this tile, values of the one before; their other buffers are free
			hopper::fence();
			start_scores<T, HeadDim>(p, q, hopper::tile_descriptor(k_tiles + tile % 2 * Tiles::kv_bytes));
			start_output<T, HeadDim>(o, weights, hopper::across_descriptor(v_tiles + (tile - 1) % 2 * Tiles::kv_bytes, Tiles::kv_panel));
			copy_values(tile);
			if (tile + 1 < key_tiles) copy_keys(tile + 1);
			copies.commit();
			hopper::wait_for<1>();
			hopper::changed(p);
			if ((tile + 1) * Tiles::cols > seen_by_all) mma::hide_keys(p, tile * Tiles::cols, visible);
			const Exponents exponents = mma::exponents_for(state, p, factor);
			float part[2] = {};
			mma::weigh_scores(part, p, exponents);
			hopper::wait_for<0>();
			hopper::changed(o);
			mma::rescale(state, o, exponents);
#pragma unroll
			for (int half = 0; half < 2; half++) state.sum[half] += part[half];
			pack_weights<T>(weights, p);
		}
		all_arrived();
		hopper::fence();
		start_output<T, HeadDim>(o, weights, hopper::across_descriptor(v_tiles + (key_tiles - 1) % 2 * Tiles::kv_bytes, Tiles::kv_panel));
		hopper::wait_for<0>();
		hopper::changed(o);
	}

	const Place end = mma::place(tiles, s.heads_q);
	const int64_t rows_before = (end.batch * s.heads_q + end.head) * s.seq_q;
	float inverse[2];
#pragma unroll
	for (int half = 0; half < 2; half++) {
		const bool sees_a_key = visible[half] > 0;
		const float total = warp_reduce<4>(state.sum[half], Sum());
		inverse[half] = sees_a_key ? 1.0f / total : 0.0f;
		if (a.lse && threadIdx.x % 4 == 0 && row + 8 * half < s.seq_q)
			a.lse[rows_before + row + 8 * half] = log_sum_exp(state.max[half] * s.scale, total, sees_a_key);
	}
	__syncthreads(); // the queries have been read
	store_result<T, Tiles::rows>(a.o + rows_before * s.head_dim, q_rows + 16 * warp * panel_bytes, o, inverse, mine, s.seq_q, s.head_dim);
#endif
}

template <class T, int HeadDim> int launch_forward(const ForwardCall<T> &a, cudaStream_t stream) {
	using Tiles = ForwardTiles<HeadDim>;
	const int64_t blocks = (a.shape.seq_q + Tiles::rows - 1) / Tiles::rows * a.shape.batch * a.shape.heads_q;
	if (blocks == 0) return TRIAD_OK;
	if (const int status = cudaFuncSetAttribute(wgmma_forward<T, HeadDim>, cudaFuncAttributeMaxDynamicSharedMemorySize, Tiles::bytes)) return status;
	wgmma_forward<T, HeadDim><<<static_cast<unsigned>(blocks), Tiles::threads, Tiles::bytes, stream>>>(a);
	return launched();
}

} // namespace wgmma
} // namespace triad
#endif
