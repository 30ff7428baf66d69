// sm80_mma_forward.cuh: attention on tensor cores by mma.sync (sm_80 and newer), forward. fp16 and bf16, D a multiple of 8 up to 192, padded with zeros
// to 64, 128 or 192, Dv to 64 or 128. A block keeps 128 queries, 32 a warp; tiles of 64 keys and values come by two buffers, one being copied while the other is used.
// Numerics products of 16-bit elements summed in fp32; P in fp32, rounded to the input's format as an operand of the second product.
#ifndef TRIAD_FLASH_ATTENTION_SM80_MMA_FORWARD_CUH
#define TRIAD_FLASH_ATTENTION_SM80_MMA_FORWARD_CUH
#include "mma_softmax.cuh"
#include "mma_tile.cuh"
#include "reduce.cuh"
#include "register.cuh"

namespace triad {
namespace mma {

using hopper::AsyncCopies;
using hopper::SharedAddress;
using hopper::shared_address;

template <int HeadDim> struct ForwardTiles {
	static constexpr int head_dim_v = padded_values<HeadDim>;
	static constexpr int rows = 128, cols = 64, warps = 4, threads = 32 * warps, fragments = 2; // 16-row fragments a warp
	static constexpr int blocks = HeadDim == 64 ? 3 : 2;                                       // at a time on a multiprocessor
	static constexpr int q_bytes = tile_bytes(rows, HeadDim), k_bytes = tile_bytes(cols, HeadDim);
	static constexpr int stage_bytes = k_bytes + tile_bytes(cols, head_dim_v), bytes = q_bytes + 2 * stage_bytes; // keys and values
};

template <class T, int HeadDim>
__global__ void __launch_bounds__(ForwardTiles<HeadDim>::threads, ForwardTiles<HeadDim>::blocks) mma_forward(ForwardCall<T> a) {
	using Tiles = ForwardTiles<HeadDim>;
	extern __shared__ __align__(128) unsigned char mma_tiles[];
	const SharedAddress q_tile = shared_address(mma_tiles), kv_tiles = q_tile + Tiles::q_bytes;
	const AttentionShape s = a.shape;
	const int tiles = (s.seq_q + Tiles::rows - 1) / Tiles::rows, warp = static_cast<int>(threadIdx.x) / 32, g = static_cast<int>(threadIdx.x) % 32 / 4;
	const Place at = place(tiles, s.heads_q);
	const int first = (tiles - 1 - at.tile) * Tiles::rows; // under a causal mask the longest work comes first
	const HeadRows<T> k = a.k.of(at.batch, at.head / s.group()), v = a.v.of(at.batch, at.head / s.group());

	AsyncCopies copies;
	const auto copy_keys = [&](int tile) {
		const SharedAddress to = kv_tiles + tile % 2 * Tiles::stage_bytes;
		copy_panels<Tiles::cols, HeadDim, Tiles::threads>(copies, to, k, tile * Tiles::cols, s.seq_kv, s.head_dim);
		copy_tile<Tiles::cols, Tiles::head_dim_v, Tiles::threads>(copies, to + Tiles::k_bytes, v, tile * Tiles::cols, s.seq_kv, s.head_dim_v);
		copies.commit();
	};
	copy_panels<Tiles::rows, HeadDim, Tiles::threads>(copies, q_tile, a.q.of(at.batch, at.head), first, s.seq_q, s.head_dim);
	copy_keys(0);

	const int mine = first + 32 * warp, seen_by_all = s.visible_keys(mine); // by all queries of this warp
	const int key_tiles = (s.visible_keys(min(first + Tiles::rows, s.seq_q) - 1) + Tiles::cols - 1) / Tiles::cols;
	Softmax state[Tiles::fragments];
	float o[Tiles::fragments][Tiles::head_dim_v / 8][4] = {};
	for (int tile = 0; tile < key_tiles; tile++) {
		copies.template wait<0>();
		__syncthreads(); // the tile has arrived for all, and the one before has been read
		if (tile + 1 < key_tiles) copy_keys(tile + 1);
		const int j0 = tile * Tiles::cols;
		const SharedAddress k_tile = kv_tiles + tile % 2 * Tiles::stage_bytes;
		float p[Tiles::fragments][Tiles::cols / 8][4] = {};
		score_product<T, Tiles::fragments, Tiles::cols / 8, HeadDim>(p, TileReader<Tiles::rows>(q_tile + 32 * warp * panel_bytes, rows_first()),
		                                                             TileReader<Tiles::cols>(k_tile, chunks_first()));
		uint32_t weights[Tiles::fragments][Tiles::cols / 16][4];
#pragma unroll
		for (int m = 0; m < Tiles::fragments; m++) {
			if (j0 + Tiles::cols > seen_by_all) {
				const int row = mine + 16 * m + g, visible[2] = {s.visible_keys(row), s.visible_keys(row + 8)};
				hide_keys(p[m], j0, visible);
			}
			const Exponents exponents = exponents_for(state[m], p[m], s.scale * log2_e);
			rescale(state[m], o[m], exponents);
			weigh_scores(state[m].sum, p[m], exponents);
			pack_weights<T>(weights[m], p[m]);
		}
		add_weighted_rows<T>(o, weights, TileReader<Tiles::cols>(k_tile + Tiles::k_bytes, rows_first()));
	}
	copies.template wait<0>();
	if (key_tiles == 0) __syncthreads(); // the copies of other threads into this warp's queries

	const Place end = place(tiles, s.heads_q);
	const int64_t rows_before = (end.batch * s.heads_q + end.head) * s.seq_q;
#pragma unroll
	for (int m = 0; m < Tiles::fragments; m++) {
		float inverse[2];
#pragma unroll
		for (int half = 0; half < 2; half++) {
			const int row = mine + 16 * m + g + 8 * half;
			const bool sees_a_key = s.visible_keys(row) > 0;
			const float total = warp_reduce<4>(state[m].sum[half], Sum());
			inverse[half] = sees_a_key ? 1.0f / total : 0.0f;
			if (a.lse && threadIdx.x % 4 == 0 && row < s.seq_q)
				a.lse[rows_before + row] = log_sum_exp(state[m].max[half] * s.scale, total, sees_a_key);
		}
		store_result<T, Tiles::rows>(a.o + rows_before * s.head_dim_v, mma_tiles + (32 * warp + 16 * m) * panel_bytes, o[m], inverse,
		                             mine + 16 * m, s.seq_q, s.head_dim_v);
	}
}

template <class T, int HeadDim> int launch_forward(const ForwardCall<T> &a, cudaStream_t stream) {
	using Tiles = ForwardTiles<HeadDim>;
	const int64_t blocks = (a.shape.seq_q + Tiles::rows - 1) / Tiles::rows * a.shape.batch * a.shape.heads_q;
	if (blocks == 0) return TRIAD_OK;
	if (const int status = cudaFuncSetAttribute(mma_forward<T, HeadDim>, cudaFuncAttributeMaxDynamicSharedMemorySize, Tiles::bytes)) return status;
	mma_forward<T, HeadDim><<<static_cast<unsigned>(blocks), Tiles::threads, Tiles::bytes, stream>>>(a);
	return launched();
}

} // namespace mma
} // namespace triad
#endif
