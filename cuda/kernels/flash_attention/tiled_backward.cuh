// tiled_backward.cuh: attention in fp32 that keeps the score matrix on chip, backward. tiled: one kernel keeps keys and values and streams queries
// past them, another the other way round for grad_q, so every sum has one owner and a fixed order. tiled_atomic: one kernel; what its tile of keys
// gives to grad_q is added to an fp32 sum by atomics, in any order.
#ifndef TRIAD_FLASH_ATTENTION_TILED_BACKWARD_CUH
#define TRIAD_FLASH_ATTENTION_TILED_BACKWARD_CUH
#include "fp32_tile.cuh"
#include "per_element.cuh"
#include "register.cuh"
#include "weight.cuh"

namespace triad {
namespace attention {

// What a tile of Tile::rows keys gives to grad_q of the Tile::cols queries from `first` on: ds_tile is [key][query].
template <class Tile>
__device__ void add_grad_q(float *grad_q, const float *ds_tile, const float *k_tile, int first, const AttentionShape &s) {
	for (int i = static_cast<int>(threadIdx.x); i < Tile::cols / 4 * s.head_dim; i += triad::tile_threads) {
		const int query = i / s.head_dim * 4, d = i % s.head_dim;
		float sum[4] = {};
		for (int j = 0; j < Tile::rows; j++)
			triad::add_product(sum, k_tile[j * Tile::stride + d], triad::read4(ds_tile + j * Tile::score_stride + query));
#pragma unroll
		for (int e = 0; e < 4; e++)
			if (first + query + e < s.seq_q) atomicAdd(grad_q + static_cast<int64_t>(first + query + e) * s.head_dim + d, sum[e] * s.scale);
	}
}

// A block keeps Tile::rows keys and values of one kv head and streams the queries of its group past them. Where grad_q_sum (fp32, as q)
// is not null, it adds what these keys give to grad_q.
template <class T, class Tile>
__global__ void __launch_bounds__(triad::tile_threads, 3) tiled_grad_kv(BackwardCall<T> a, float *grad_q_sum) {
	extern __shared__ __align__(16) float shared_tiles[];
	float *k_tile = shared_tiles, *v_tile = k_tile + Tile::row_floats, *q_tile = v_tile + Tile::row_floats;
	float *g_tile = q_tile + Tile::col_floats, *p_tile = g_tile + Tile::col_floats, *ds_tile = p_tile + Tile::score_floats;
	const AttentionShape s = a.shape;
	const int tiles = (s.seq_kv + Tile::rows - 1) / Tile::rows, ty = threadIdx.x / triad::tile_cols, tx = threadIdx.x % triad::tile_cols;
	const int first = static_cast<int>(blockIdx.x % tiles) * Tile::rows, kv_head = static_cast<int>(blockIdx.x / tiles % s.heads_kv);
	const int64_t batch = blockIdx.x / tiles / s.heads_kv;
	triad::load_rows<Tile::rows, Tile::head_dim>(k_tile, a.k.of(batch, kv_head), first, s.seq_kv, s.head_dim);
	triad::load_rows<Tile::rows, Tile::head_dim>(v_tile, a.v.of(batch, kv_head), first, s.seq_kv, s.head_dim_v);

	float dk[Tile::r][Tile::own] = {}, dv[Tile::r][Tile::own] = {}, one[Tile::r], scale[Tile::r];
#pragma unroll
	for (int r = 0; r < Tile::r; r++) {
		one[r] = 1;
		scale[r] = s.scale;
	}
	for (int head = kv_head * s.group(); head < (kv_head + 1) * s.group(); head++) {
		const HeadRows<T> q = a.q.of(batch, head), grad_o = a.grad_o.of(batch, head);
		const int64_t rows_before = (batch * s.heads_q + head) * s.seq_q;
		for (int i0 = s.first_query(first) / Tile::cols * Tile::cols; i0 < s.seq_q; i0 += Tile::cols) {
			__syncthreads(); // the tiles before have been read
			triad::load_rows<Tile::cols, Tile::head_dim>(q_tile, q, i0, s.seq_q, s.head_dim);
			triad::load_rows<Tile::cols, Tile::head_dim>(g_tile, grad_o, i0, s.seq_q, s.head_dim_v);
			__syncthreads();
			float score[Tile::r][Tile::c], dp[Tile::r][Tile::c];
			triad::dot_rows<Tile>(score, k_tile, q_tile, s.head_dim);
			triad::dot_rows<Tile>(dp, v_tile, g_tile, s.head_dim_v);
#pragma unroll
			for (int c = 0; c < Tile::c; c++) {
				const int query = i0 + tx + triad::tile_cols * c, visible = query < s.seq_q ? s.visible_keys(query) : 0;
				const float lse = visible > 0 ? a.lse[rows_before + query] : 0, delta = visible > 0 ? a.delta[rows_before + query] : 0;
#pragma unroll
				for (int r = 0; r < Tile::r; r++) {
					const int key = ty + triad::tile_rows * r, at = key * Tile::score_stride + tx + triad::tile_cols * c;
					const Weight w = first + key < visible ? triad::weight_of(score[r][c] * s.scale, lse, dp[r][c], delta) : Weight{0, 0};
					p_tile[at] = w.p;
					ds_tile[at] = w.ds;
				}
			}
			__syncthreads();
			triad::add_weighted<Tile>(dv, one, p_tile, g_tile, s.head_dim_v);
			triad::add_weighted<Tile>(dk, one, ds_tile, q_tile, s.head_dim);
			if (grad_q_sum) add_grad_q<Tile>(grad_q_sum + rows_before * s.head_dim, ds_tile, k_tile, i0, s);
		}
	}
	const int64_t before = (batch * s.heads_kv + kv_head) * s.seq_kv;
	if (a.grad_k) triad::store_rows<Tile>(a.grad_k + before * s.head_dim, dk, scale, first, s.seq_kv, s.head_dim);
	if (a.grad_v) triad::store_rows<Tile>(a.grad_v + before * s.head_dim_v, dv, one, first, s.seq_kv, s.head_dim_v);
}

// A block keeps Tile::rows queries and their upstream gradients and streams keys and values past them.
template <class T, class Tile>
__global__ void __launch_bounds__(triad::tile_threads, 3) tiled_grad_q(BackwardCall<T> a) {
	extern __shared__ __align__(16) float shared_tiles[];
	float *q_tile = shared_tiles, *g_tile = q_tile + Tile::row_floats, *k_tile = g_tile + Tile::row_floats;
	float *v_tile = k_tile + Tile::col_floats, *ds_tile = v_tile + Tile::col_floats;
	const AttentionShape s = a.shape;
	const int tiles = (s.seq_q + Tile::rows - 1) / Tile::rows, ty = threadIdx.x / triad::tile_cols, tx = threadIdx.x % triad::tile_cols;
	const int first = (tiles - 1 - static_cast<int>(blockIdx.x % tiles)) * Tile::rows, head = static_cast<int>(blockIdx.x / tiles % s.heads_q);
	const int64_t batch = blockIdx.x / tiles / s.heads_q, rows_before = (batch * s.heads_q + head) * s.seq_q;
	const HeadRows<T> k = a.k.of(batch, head / s.group()), v = a.v.of(batch, head / s.group());
	triad::load_rows<Tile::rows, Tile::head_dim>(q_tile, a.q.of(batch, head), first, s.seq_q, s.head_dim);
	triad::load_rows<Tile::rows, Tile::head_dim>(g_tile, a.grad_o.of(batch, head), first, s.seq_q, s.head_dim_v);

	float dq[Tile::r][Tile::own] = {}, one[Tile::r], scale[Tile::r], lse[Tile::r], delta[Tile::r];
	int visible[Tile::r];
#pragma unroll
	for (int r = 0; r < Tile::r; r++) {
		const int row = min(first + ty + triad::tile_rows * r, s.seq_q - 1);
		one[r] = 1;
		scale[r] = s.scale;
		lse[r] = a.lse[rows_before + row];
		delta[r] = a.delta[rows_before + row];
		visible[r] = s.visible_keys(row);
	}
	const int keys = s.visible_keys(min(first + Tile::rows, s.seq_q) - 1);
	for (int j0 = 0; j0 < keys; j0 += Tile::cols) {
		__syncthreads(); // the tiles before have been read
		triad::load_rows<Tile::cols, Tile::head_dim>(k_tile, k, j0, s.seq_kv, s.head_dim);
		triad::load_rows<Tile::cols, Tile::head_dim>(v_tile, v, j0, s.seq_kv, s.head_dim_v);
		__syncthreads();
		float score[Tile::r][Tile::c], dp[Tile::r][Tile::c];
		triad::dot_rows<Tile>(score, q_tile, k_tile, s.head_dim);
		triad::dot_rows<Tile>(dp, g_tile, v_tile, s.head_dim_v);
#pragma unroll
		for (int r = 0; r < Tile::r; r++)
#pragma unroll
			for (int c = 0; c < Tile::c; c++) {
				const int key = tx + triad::tile_cols * c;
				const bool sees = j0 + key < visible[r];
				ds_tile[(ty + triad::tile_rows * r) * Tile::score_stride + key] =
				    sees ? triad::weight_of(score[r][c] * s.scale, lse[r], dp[r][c], delta[r]).ds : 0;
			}
		__syncthreads();
		triad::add_weighted<Tile>(dq, one, ds_tile, k_tile, s.head_dim);
	}
	triad::store_rows<Tile>(a.grad_q + rows_before * s.head_dim, dq, scale, first, s.seq_q, s.head_dim);
}

// ---- launchers

inline int64_t workspace_delta(const triad_call *call) { return floats_bytes(delta_floats(shape_of(call))); }

inline int64_t workspace_grad_q(const triad_call *call) {
	const AttentionShape s = shape_of(call);
	return floats_bytes(delta_floats(s) + query_elements(s));
}

template <class T, class Tile> int grad_kv_tiles(const BackwardCall<T> &a, float *grad_q_sum, cudaStream_t stream) {
	return launch_tiles(tiled_grad_kv<T, Tile>, Tile::rows, a.shape.seq_kv, a.shape.batch * a.shape.heads_kv,
	                    2 * (Tile::row_floats + Tile::col_floats + Tile::score_floats), stream, a, grad_q_sum);
}

template <class T, class Tile> int backward_tiles(const triad_call *call) {
	const BackwardCall<T> a = backward_call<T>(call);
	const cudaStream_t stream = triad::stream_of(call);
	if (a.shape.query_rows() > 0) backward_delta<T><<<flat_blocks(a.shape.query_rows()), flat_threads, 0, stream>>>(a);
	if (const int status = triad::launched()) return status;
	if (a.grad_k || a.grad_v)
		if (const int status = grad_kv_tiles<T, Tile>(a, nullptr, stream)) return status;
	if (!a.grad_q) return TRIAD_OK;
	return launch_tiles(tiled_grad_q<T, Tile>, Tile::rows, a.shape.seq_q, a.shape.batch * a.shape.heads_q,
	                    2 * (Tile::row_floats + Tile::col_floats) + Tile::score_floats, stream, a);
}

template <class T, class Tile> int backward_tiles_atomic(const triad_call *call) {
	const BackwardCall<T> a = backward_call<T>(call);
	const cudaStream_t stream = triad::stream_of(call);
	const int64_t rows = a.shape.query_rows(), elements = query_elements(a.shape);
	float *grad_q_sum = a.delta + delta_floats(a.shape);
	if (rows > 0) {
		if (const int status = cudaMemsetAsync(grad_q_sum, 0, static_cast<size_t>(floats_bytes(elements)), stream)) return status;
		backward_delta<T><<<flat_blocks(rows), flat_threads, 0, stream>>>(a);
		if (const int status = triad::launched()) return status;
	}
	if (const int status = grad_kv_tiles<T, Tile>(a, grad_q_sum, stream)) return status;
	if (rows > 0 && a.grad_q) convert_sum<T><<<flat_blocks(elements), flat_threads, 0, stream>>>(a.grad_q, grad_q_sum, elements);
	return triad::launched();
}

// The tilings by the larger of both head dimensions: registers hold the sums of a thread, 64 KiB of shared memory the tiles of a block.
template <int HeadDim> struct BackwardTiling;
template <> struct BackwardTiling<64> : triad::Tiling<64, 2, 4> {};
template <> struct BackwardTiling<128> : triad::Tiling<128, 2, 2> {};
template <> struct BackwardTiling<256> : triad::Tiling<256, 1, 1> {};

template <class T> int backward_tiled(const triad_call *call) {
	const int64_t head_dim = widest_of(call);
	if (head_dim <= 64) return backward_tiles<T, BackwardTiling<64>>(call);
	return head_dim <= 128 ? backward_tiles<T, BackwardTiling<128>>(call) : backward_tiles<T, BackwardTiling<256>>(call);
}

template <class T> int backward_tiled_atomic(const triad_call *call) {
	const int64_t head_dim = widest_of(call);
	if (head_dim <= 64) return backward_tiles_atomic<T, BackwardTiling<64>>(call);
	return head_dim <= 128 ? backward_tiles_atomic<T, BackwardTiling<128>>(call) : backward_tiles_atomic<T, BackwardTiling<256>>(call);
}

} // namespace attention
} // namespace triad
#endif
