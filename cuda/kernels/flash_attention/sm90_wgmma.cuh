// sm90_wgmma.cuh: attention on Hopper's tensor cores (sm_90a). fp16 and bf16, D and Dv multiples of 8
// up to 128, padded with zeros to 64 or 128. Numerics as in sm80_mma_forward.cuh and sm80_mma_backward.cuh.
//   forward  a block keeps 128 queries, 64 for each of two warpgroups; keys and values come by tiles of 128, two buffers each. The products of the
//            next scores and of the weights before run while the other warpgroup, and in part this one, computes exponentials.
//   backward a block keeps 128 keys, 64 for each of two warpgroups, and streams 64 queries and gradients (128 where D <= 64) past them. As in
//            sm80_mma scores are transposed, so P and dS are operands in registers, and grad_q is added to fp32 sums by atomics; dS, in shared
//            memory, is read across its rows. Each warpgroup makes half of a tile of grad_q, over all 128 keys.
#ifndef TRIAD_FLASH_ATTENTION_SM90_WGMMA_CUH
#define TRIAD_FLASH_ATTENTION_SM90_WGMMA_CUH
#include "hopper/barrier.cuh"
#include "hopper/wgmma_half.cuh"
#include "mma_softmax.cuh"
#include "mma_tile.cuh"
#include "sm80_mma_backward.cuh"

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
// start_scores begins s = a b^T: 64 rows of a tile whose panels of 64 columns are PanelA bytes apart, and 8 Eights rows of another.
template <class T, int HeadDim, int PanelA, int PanelB, int Eights>
__device__ inline void start_scores(float (&s)[Eights][4], uint64_t a, uint64_t b) {
#pragma unroll
	for (int d = 0; d < HeadDim; d += 16)
		hopper::WarpgroupMultiply<T>::shared(s, hopper::advanced(a, d / 64 * PanelA + d % 64 * 2), hopper::advanced(b, d / 64 * PanelB + d % 64 * 2), d > 0);
	hopper::commit();
}

// start_output begins sum += weights x, x a tile of 16 Blocks rows.
template <class T, int Eights, int Blocks>
__device__ inline void start_output(float (&sum)[Eights][4], const uint32_t (&weights)[Blocks][4], uint64_t x) {
#pragma unroll
	for (int k = 0; k < Blocks; k++) hopper::WarpgroupMultiply<T>::registers(sum, weights[k], hopper::advanced(x, k * 16 * panel_bytes));
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
		copy_tile<Tiles::cols, HeadDim, Tiles::threads>(copies, v_tiles + tile % 2 * Tiles::kv_bytes, v, tile * Tiles::cols, s.seq_kv, s.head_dim_v);
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
		start_scores<T, HeadDim, Tiles::q_panel, Tiles::kv_panel>(p, q, hopper::tile_descriptor(k_tiles));
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
			start_scores<T, HeadDim, Tiles::q_panel, Tiles::kv_panel>(p, q, hopper::tile_descriptor(k_tiles + tile % 2 * Tiles::kv_bytes));
			start_output<T>(o, weights, hopper::across_descriptor(v_tiles + (tile - 1) % 2 * Tiles::kv_bytes, Tiles::kv_panel));
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
		start_output<T>(o, weights, hopper::across_descriptor(v_tiles + (key_tiles - 1) % 2 * Tiles::kv_bytes, Tiles::kv_panel));
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
	store_result<T, Tiles::rows>(a.o + rows_before * s.head_dim_v, q_rows + 16 * warp * panel_bytes, o, inverse, mine, s.seq_q, s.head_dim_v);
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

// ---- backward

template <int HeadDim> struct BackwardTiles {
	static constexpr int keys = 128, queries = HeadDim == 64 ? 128 : 64, threads = 256;
	static constexpr int kv_bytes = tile_bytes(keys, HeadDim), q_bytes = tile_bytes(queries, HeadDim), ds_bytes = tile_bytes(keys, queries);
	static constexpr int row_bytes = queries * 4, used = 2 * kv_bytes + ds_bytes + 4 * q_bytes + 4 * row_bytes; // rows: lse and delta
	static constexpr int bytes = used + hopper::tile_alignment, kv_panel = keys * panel_bytes, q_panel = queries * panel_bytes;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// add_grad_q adds 64 queries by 64 columns to fp32 sums [rows, head_dim], from this row and column on.
__device__ inline void add_grad_q(float *to, const float (&sum)[8][4], int first, int col, int rows, int head_dim) {
	const int thread = hopper::fresh(static_cast<int>(threadIdx.x)) % 128, row = first + thread / 32 * 16 + thread % 32 / 4;
#pragma unroll
	for (int half = 0; half < 2; half++) {
		float *const at = to + static_cast<int64_t>(row + 8 * half) * head_dim + col + thread % 4 * 2;
#pragma unroll
		for (int n = 0; n < 8; n++)
			if (row + 8 * half < rows && col + 8 * n < head_dim) hopper::add_pair(at + 8 * n, sum[n][2 * half], sum[n][2 * half + 1]);
	}
}
#endif

template <class T, int HeadDim>
__global__ void __launch_bounds__(BackwardTiles<HeadDim>::threads, 1) wgmma_backward(BackwardCall<T> a, mma::BackwardSums sums) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	using Tiles = BackwardTiles<HeadDim>;
	constexpr int eights = HeadDim / 8, columns = Tiles::queries / 8;
	extern __shared__ __align__(128) unsigned char wgmma_tiles[];
	unsigned char *const k_rows = wgmma_tiles + (hopper::tile_alignment - hopper::shared_address(wgmma_tiles) % hopper::tile_alignment) % hopper::tile_alignment;
	unsigned char *const v_rows = k_rows + Tiles::kv_bytes, *const ds_rows = v_rows + Tiles::kv_bytes, *const stages = ds_rows + Tiles::ds_bytes;
	unsigned char *const row_values = stages + 4 * Tiles::q_bytes;
	const uint32_t k_tile = hopper::shared_address(k_rows), v_tile = hopper::shared_address(v_rows), ds_tile = hopper::shared_address(ds_rows);
	const AttentionShape s = a.shape;
	const int tiles = (s.seq_kv + Tiles::keys - 1) / Tiles::keys, warp = __shfl_sync(all_lanes, static_cast<int>(threadIdx.x) / 32, 0), group = warp / 4;
	const int g = static_cast<int>(threadIdx.x) % 32 / 4;
	const Place at = mma::place(tiles, s.heads_kv);
	const int first = at.tile * Tiles::keys; // under a causal mask the longest work comes first

	hopper::AsyncCopies copies;
	const auto copy_queries = [&](int step) {
		const mma::QueryTile at = mma::query_tile<Tiles>(step, s);
		const uint32_t to = hopper::shared_address(stages) + step % 2 * (2 * Tiles::q_bytes);
		copy_tile<Tiles::queries, HeadDim, Tiles::threads, true>(copies, to, a.q.of(at.batch, at.head), at.first, s.seq_q, s.head_dim);
		copy_tile<Tiles::queries, HeadDim, Tiles::threads>(copies, to + Tiles::q_bytes, a.grad_o.of(at.batch, at.head), at.first, s.seq_q, s.head_dim_v);
		const int thread = hopper::fresh(static_cast<int>(threadIdx.x)), row = thread % Tiles::queries, which = thread / Tiles::queries;
		const float *from = (which == 0 ? sums.lse : sums.delta) + at.rows_before(s) + at.first + row;
		const bool valid = at.first + row < s.seq_q;
		const float *const last = sums.lse + at.rows_before(s) + s.seq_q - 1;
		if (which < 2)
			copies.copy4(hopper::shared_address(row_values) + (step % 2 * 2 + which) * Tiles::row_bytes + row * 4, valid ? from : last, valid || which == 0);
		copies.commit();
	};
	copy_tile<Tiles::keys, HeadDim, Tiles::threads>(copies, k_tile, a.k.of(at.batch, at.head), first, s.seq_kv, s.head_dim);
	copy_tile<Tiles::keys, HeadDim, Tiles::threads>(copies, v_tile, a.v.of(at.batch, at.head), first, s.seq_kv, s.head_dim_v);
	copies.commit(); // here, for there may be no queries: what is not committed no wait waits for
	const int steps = mma::query_tiles<Tiles>(first, s).count * s.group(), mine = first + 16 * warp; // this warp's keys
	if (steps > 0) copy_queries(0);

	const uint64_t own_keys = hopper::tile_descriptor(k_tile + group * (hopper::mma_rows * panel_bytes));
	const uint64_t own_values = hopper::tile_descriptor(v_tile + group * (hopper::mma_rows * panel_bytes));
	float dk[eights][4] = {}, dv[eights][4] = {};
	for (int step = 0; step < steps; step++) {
		copies.template wait<0>();
		hopper::fence_stores();
		__syncthreads(); // the tiles have arrived for all, and those before, dS too, have been read
		const uint32_t q_tile = hopper::shared_address(stages) + step % 2 * (2 * Tiles::q_bytes), g_tile = q_tile + Tiles::q_bytes;
		const float *const lse = reinterpret_cast<const float *>(row_values + step % 2 * (2 * Tiles::row_bytes));
		float p[columns][4], ds[columns][4];
		hopper::fence();
		start_scores<T, HeadDim, Tiles::kv_panel, Tiles::q_panel>(p, own_keys, hopper::tile_descriptor(q_tile));
		start_scores<T, HeadDim, Tiles::kv_panel, Tiles::q_panel>(ds, own_values, hopper::tile_descriptor(g_tile));
		if (step + 1 < steps) copy_queries(step + 1);
		const int i0 = mma::query_tile<Tiles>(step, s).first;
		hopper::wait_for<0>();
		hopper::changed(p);
		hopper::changed(ds);
		mma::weigh(p, ds, lse, lse + Tiles::queries, mine + g, i0, mine + 16 > s.visible_keys(i0), s);
		uint32_t weights[columns / 2][4], gradients[columns / 2][4];
		pack_weights<T>(weights, p);
		pack_weights<T>(gradients, ds);
		hopper::fence();
		start_output<T>(dv, weights, hopper::across_descriptor(g_tile, Tiles::q_panel));
#pragma unroll
		for (int i = 0; i < columns / 2 * 4; i++)
			*reinterpret_cast<uint32_t *>(ds_rows + tile_offset<Tiles::keys>(16 * warp + g + i % 2 * 8, i / 2) + threadIdx.x % 4 * 4) = gradients[i / 4][i % 4];
		hopper::fence_stores();
		__syncthreads(); // dS is there
		float dq[8][4];
		hopper::fence();
		const uint64_t left = hopper::across_descriptor(ds_tile + (HeadDim == 64 ? group * Tiles::kv_panel : 0), Tiles::kv_panel);
		const uint64_t right = hopper::across_descriptor(k_tile + (HeadDim == 64 ? 0 : group * Tiles::kv_panel), Tiles::kv_panel);
#pragma unroll
		for (int k = 0; k < Tiles::keys; k += 16)
			hopper::WarpgroupMultiply<T>::across(dq, hopper::advanced(left, k * panel_bytes), hopper::advanced(right, k * panel_bytes), k > 0);
		hopper::commit();
		start_output<T>(dk, gradients, hopper::across_descriptor(q_tile, Tiles::q_panel));
		hopper::wait_for<1>();
		hopper::changed(dq);
		if (a.grad_q) {
			const mma::QueryTile at = mma::query_tile<Tiles>(step, s);
			add_grad_q(sums.grad_q + at.rows_before(s) * s.head_dim, dq, at.first + (HeadDim == 64 ? 64 * group : 0), HeadDim == 64 ? 0 : 64 * group,
			           s.seq_q, s.head_dim);
		}
		hopper::wait_for<0>();
		hopper::changed(dv);
		hopper::changed(dk);
	}
	copies.template wait<0>();
	__syncthreads(); // keys and values are no longer needed

	const float scale[2] = {s.scale, s.scale}, one[2] = {1, 1};
	const Place end = mma::place(tiles, s.heads_kv);
	const int64_t before = (end.batch * s.heads_kv + end.head) * s.seq_kv;
	if (a.grad_k) store_result<T, Tiles::keys>(a.grad_k + before * s.head_dim, k_rows + 16 * warp * panel_bytes, dk, scale, mine, s.seq_kv, s.head_dim);
	if (a.grad_v) store_result<T, Tiles::keys>(a.grad_v + before * s.head_dim_v, v_rows + 16 * warp * panel_bytes, dv, one, mine, s.seq_kv, s.head_dim_v);
#endif
}

template <class T, int HeadDim> int launch_backward(const BackwardCall<T> &a, float *workspace, cudaStream_t stream) {
	using Tiles = BackwardTiles<HeadDim>;
	return mma::run_backward<T, Tiles>(wgmma_backward<T, HeadDim>, a, workspace, stream);
}

} // namespace wgmma
} // namespace triad
#endif
