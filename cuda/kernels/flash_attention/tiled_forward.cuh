// tiled_forward.cuh: attention in fp32 that keeps the score matrix on chip, forward: a block keeps 64 (32 beyond D = 128) queries, streams keys and
// values past them and rescales its sums whenever the running maximum grows.
#ifndef TRIAD_FLASH_ATTENTION_TILED_FORWARD_CUH
#define TRIAD_FLASH_ATTENTION_TILED_FORWARD_CUH
#include "fp32_tile.cuh"
#include "reduce.cuh"
#include "register.cuh"
#include "weight.cuh"

namespace triad {
namespace attention {

// A block keeps Tile::rows queries; per query the running maximum, the running sum of exponentials and the output not yet divided by it.
template <class T, class Tile>
__global__ void __launch_bounds__(triad::tile_threads, 3) tiled_forward(ForwardCall<T> a) {
	extern __shared__ __align__(16) float shared_tiles[];
	float *q_tile = shared_tiles, *kv_tile = q_tile + Tile::row_floats, *p_tile = kv_tile + Tile::col_floats;
	const AttentionShape s = a.shape;
	const int tiles = (s.seq_q + Tile::rows - 1) / Tile::rows, ty = threadIdx.x / triad::tile_cols, tx = threadIdx.x % triad::tile_cols;
	const int first = (tiles - 1 - static_cast<int>(blockIdx.x % tiles)) * Tile::rows; // under a causal mask the longest work comes first
	const int64_t batch = blockIdx.x / tiles / s.heads_q;
	const int head = static_cast<int>(blockIdx.x / tiles % s.heads_q);
	const HeadRows<T> k = a.k.of(batch, head / s.group()), v = a.v.of(batch, head / s.group());
	triad::load_rows<Tile::rows, Tile::head_dim>(q_tile, a.q.of(batch, head), first, s.seq_q, s.head_dim);

	float max[Tile::r], sum[Tile::r] = {}, decay[Tile::r], o[Tile::r][Tile::own] = {};
	int visible[Tile::r];
#pragma unroll
	for (int r = 0; r < Tile::r; r++) {
		max[r] = -INFINITY;
		visible[r] = s.visible_keys(min(first + ty + triad::tile_rows * r, s.seq_q - 1));
	}
	const int keys = s.visible_keys(min(first + Tile::rows, s.seq_q) - 1);
	for (int j0 = 0; j0 < keys; j0 += Tile::cols) {
		__syncthreads(); // the values of the tile before have been read
		triad::load_rows<Tile::cols, Tile::head_dim>(kv_tile, k, j0, s.seq_kv, s.head_dim);
		__syncthreads();
		float p[Tile::r][Tile::c];
		triad::dot_rows<Tile>(p, q_tile, kv_tile, s.head_dim);
#pragma unroll
		for (int r = 0; r < Tile::r; r++) {
			float top = max[r], part = 0;
#pragma unroll
			for (int c = 0; c < Tile::c; c++) {
				p[r][c] = j0 + tx + triad::tile_cols * c < visible[r] ? p[r][c] * s.scale : -INFINITY;
				top = fmaxf(top, p[r][c]);
			}
			top = triad::warp_reduce<triad::tile_cols>(top, triad::Max());
			const float base = triad::finite_max(top);
			decay[r] = expf((max[r] == -INFINITY ? max[r] : triad::finite_max(max[r])) - base);
			max[r] = top;
#pragma unroll
			for (int c = 0; c < Tile::c; c++) {
				p[r][c] = expf(p[r][c] - base);
				part += p[r][c];
				p_tile[(ty + triad::tile_rows * r) * Tile::score_stride + tx + triad::tile_cols * c] = p[r][c];
			}
			sum[r] = sum[r] * decay[r] + part;
		}
		__syncthreads(); // all keys of the tile have been read, all weights are written
		triad::load_rows<Tile::cols, Tile::head_dim>(kv_tile, v, j0, s.seq_kv, s.head_dim_v);
		__syncthreads();
		triad::add_weighted<Tile>(o, decay, p_tile, kv_tile, s.head_dim_v);
	}

	const int64_t rows_before = (batch * s.heads_q + head) * s.seq_q;
	float inverse[Tile::r];
#pragma unroll
	for (int r = 0; r < Tile::r; r++) {
		const int row = first + ty + triad::tile_rows * r;
		const float total = triad::warp_reduce<triad::tile_cols>(sum[r], triad::Sum());
		inverse[r] = visible[r] > 0 ? 1.0f / total : 0.0f;
		if (a.lse && tx == 0 && row < s.seq_q) a.lse[rows_before + row] = triad::log_sum_exp(max[r], total, visible[r] > 0);
	}
	triad::store_rows<Tile>(a.o + rows_before * s.head_dim_v, o, inverse, first, s.seq_q, s.head_dim_v);
}

// ---- launchers

template <class T, class Tile> int forward_tiles(const triad_call *call) {
	const ForwardCall<T> a = forward_call<T>(call);
	return launch_tiles(tiled_forward<T, Tile>, Tile::rows, a.shape.seq_q, a.shape.batch * a.shape.heads_q,
	                    Tile::row_floats + Tile::col_floats + Tile::score_floats, triad::stream_of(call), a);
}

// The tilings by the larger of both head dimensions: registers hold the sums of a thread, 64 KiB of shared memory the tiles of a block.
template <int HeadDim> struct ForwardTiling;
template <> struct ForwardTiling<64> : triad::Tiling<64, 4, 4> {};
template <> struct ForwardTiling<128> : triad::Tiling<128, 4, 4> {};
template <> struct ForwardTiling<256> : triad::Tiling<256, 2, 2> {};

template <class T> int forward_tiled(const triad_call *call) {
	const int64_t head_dim = widest_of(call);
	if (head_dim <= 64) return forward_tiles<T, ForwardTiling<64>>(call);
	return head_dim <= 128 ? forward_tiles<T, ForwardTiling<128>>(call) : forward_tiles<T, ForwardTiling<256>>(call);
}

} // namespace attention
} // namespace triad
#endif
