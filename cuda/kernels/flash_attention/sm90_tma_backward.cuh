// sm90_tma_backward.cuh: attention backward on Hopper's tensor cores (sm_90a), whose tiles the copy engine (TMA) brings and takes. fp16 and bf16, D
// a multiple of 8 up to 192, padded with zeros to 64, 128 or 192, Dv to 64 or 128. Numerics as in sm80_mma_backward.cuh.
//   A block keeps 128 keys and values, 64 for each of two consumer warpgroups, and streams tiles of queries and gradients past them: those of all
//   query heads that share the keys. Of a third warpgroup one thread has the copy engine fill the rings of queries (with their lse) and gradients
//   (with their delta), and two warps have it add what the consumers found of grad_q to fp32 sums. A consumer, at each tile:
//
//       wait for queries         ------ tensor cores ------       ------ this warpgroup ------
//       start  S = K Q^T          S
//       wait for gradients
//       start  dP = V dO^T        S, dP
//       wait for S                dP                              P = exp2(S - lse)
//       wait for dP               (the other warpgroup's)         dS = P (dP - delta), both rounded
//       start  dV += P dO         dV                              dS to shared memory, for both
//       start  dQ^T = K^T dS      dV, dQ
//       start  dK += dS Q         dV, dQ, dK
//       wait for dV, dQ           dK                              dQ to shared memory, for the copy engine
//       wait for dK
//
//   With D beyond 128 the sums leave too few registers and bytes for that: S, dP, P and dS are made for 32 queries at a time, dS has one buffer, dK
//   takes it from there, dV ends before dQ begins, and the consumers share the last 64 columns of dQ by halves of the queries.
//   P and dS are born as operands in registers of dV and dK. The sums of grad_q lie as the threads hold them, tile by tile, so that a consumer's part
//   of a tile is one piece of memory; a last kernel puts them in order. Under a causal mask the longest work comes first, section by section of heads.
#ifndef TRIAD_FLASH_ATTENTION_SM90_TMA_BACKWARD_CUH
#define TRIAD_FLASH_ATTENTION_SM90_TMA_BACKWARD_CUH
#include "hopper/bulk_copy.cuh"
#include "hopper/wgmma_any.cuh"
#include "sm90_tma.cuh"

namespace triad {
namespace tma {

// BackwardPlan divides a block's shared memory: keys, values, the rings of queries and gradients, dS, grad_q, lse and delta, the barriers.
template <int HeadDim, int Queries, int DsTiles> struct BackwardPlan {
	static constexpr int head_dim = HeadDim, head_dim_v = padded_values<HeadDim>, keys = 128, queries = Queries, consumers = 2, stages = 2;
	static constexpr int ds_tiles = DsTiles;
	// Sums of 192 and 128 columns leave a thread registers for scores of half a tile, and for one product of dV or dQ.
	static constexpr bool tight = HeadDim == 192;
	static constexpr int parts = tight ? 2 : 1, part = Queries / parts; // of a tile's queries, as scores
	static constexpr int warpgroup = 128, threads = warpgroup * (1 + consumers), warps = 4 * consumers;
	static constexpr int k_bytes = tile_bytes(keys, HeadDim), v_bytes = tile_bytes(keys, head_dim_v), ds_bytes = tile_bytes(keys, Queries);
	static constexpr int q_bytes = tile_bytes(Queries, HeadDim), g_bytes = tile_bytes(Queries, head_dim_v);
	static constexpr int kv_panel = keys * panel_bytes, q_panel = Queries * panel_bytes; // from 64 columns to the next 64
	// dQ^T has a part for each 64 columns of head_dim. A consumer makes a whole part, and half of the queries of the last one where their number is odd.
	static constexpr int dq_whole = HeadDim / 128 * Queries / 8, dq_half = HeadDim / 64 % 2 * Queries / 16; // in eights of queries
	static constexpr int dq_eights = dq_whole + dq_half, dq_bytes = dq_eights * warpgroup * 16, row_bytes = Queries * 4;
	static constexpr int v_at = k_bytes, q_at = v_at + v_bytes, g_at = q_at + stages * q_bytes, ds_at = g_at + stages * g_bytes;
	static constexpr int dq_at = ds_at + ds_tiles * ds_bytes, lse_at = dq_at + consumers * dq_bytes, delta_at = lse_at + stages * row_bytes;
	static constexpr int kv_full = delta_at + stages * row_bytes, q_full = kv_full + 8, q_empty = q_full + 8 * stages;
	static constexpr int g_full = q_empty + 8 * stages, g_empty = g_full + 8 * stages, used = g_empty + 8 * stages;
	static constexpr int bytes = used + hopper::tile_alignment;
	static constexpr int producer_registers = 24, consumer_registers = 240; // of 168 a thread
	static constexpr int ds_ready = 1, dq_ready = 2, dq_taken = 4, ds_taken = 6; // named barriers; dq_ready and dq_taken for each consumer

	static __host__ __device__ int tiles(const AttentionShape &s) { return (s.seq_q + Queries - 1) / Queries; }
	static __host__ __device__ int64_t padded_rows(const AttentionShape &s) { return s.batch * s.heads_q * tiles(s) * Queries; }
	static int64_t floats(const AttentionShape &s) { return padded_rows(s) * (2 + HeadDim); }
	// sums: as mma::BackwardSums, but that the rows of each head are padded to whole tiles, and grad_q is [tile][consumer][eight queries][thread][4].
	static mma::BackwardSums sums(const AttentionShape &s, float *workspace) {
		return {workspace + padded_rows(s) * HeadDim, workspace + padded_rows(s) * (HeadDim + 1), workspace};
	}
};

// KeyWork is what a block does: a tile of keys of one head, and the tiles of queries that see some of them.
struct KeyWork {
	int first, head, batch, first_tile, tiles, steps; // steps: tiles of all query heads of the group

	template <class Plan> __device__ static KeyWork of(Piece piece, const AttentionShape &s) {
		const int first = piece.tile * Plan::keys, first_tile = s.first_query(first) / Plan::queries, tiles = Plan::tiles(s) - first_tile;
		return {first, piece.head % s.heads_kv, piece.head / s.heads_kv, first_tile, tiles, tiles * s.group()};
	}
};

// QueryPlace runs through the tiles of a block's work: tile by tile, then head by head.
struct QueryPlace {
	int tile, head;

	__device__ QueryPlace(const KeyWork &w, const AttentionShape &s) : tile(w.first_tile), head(w.head * s.group()) {}
	__device__ void next(const KeyWork &w) {
		if (++tile < w.first_tile + w.tiles) return;
		tile = w.first_tile;
		head++;
	}
	// padded_tile numbers the tiles of all heads.
	__device__ int64_t padded_tile(const KeyWork &w, const AttentionShape &s) const {
		return (static_cast<int64_t>(w.batch) * s.heads_q + head) * (w.first_tile + w.tiles) + tile;
	}
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// What the thread does that asks for copies.
template <class Plan>
__device__ inline void bring_tiles(const AttentionShape &s, const Source &q, const Source &k, const Source &v, const Source &g,
                                   const mma::BackwardSums &sums, const KeyWork &w, uint32_t memory) {
	const auto copy = [&](const Source &from, auto columns, uint32_t to, int panel, int row, int head, uint32_t full) {
#pragma unroll
		for (int d = 0; d < decltype(columns)::value; d += 64)
			hopper::copy_rows(to + d / 64 * panel, &from.map, d, row, head * from.head_step, w.batch * from.batch_step, full);
	};
	const std::integral_constant<int, Plan::head_dim> key_columns;
	const std::integral_constant<int, Plan::head_dim_v> value_columns;
	if (w.steps == 0) return;
	hopper::barrier_arrive_expecting(memory + Plan::kv_full, Plan::k_bytes + Plan::v_bytes);
	copy(k, key_columns, memory, Plan::kv_panel, w.first, w.head, memory + Plan::kv_full);
	copy(v, value_columns, memory + Plan::v_at, Plan::kv_panel, w.first, w.head, memory + Plan::kv_full);
	RingPlace<Plan::stages> at;
	QueryPlace place(w, s);
	for (int step = 0; step < w.steps; step++, at.next(), place.next(w)) {
		const int64_t row = place.padded_tile(w, s) * Plan::queries;
		const auto bring = [&](const Source &from, auto columns, int tiles, int bytes, const float *rows, int row_values, int full, int empty) {
			hopper::barrier_wait(memory + empty + 8 * at.stage, at.parity ^ 1);
			hopper::barrier_arrive_expecting(memory + full + 8 * at.stage, bytes + Plan::row_bytes);
			copy(from, columns, memory + tiles + at.stage * bytes, Plan::q_panel, place.tile * Plan::queries, place.head, memory + full + 8 * at.stage);
			hopper::copy_bytes(memory + row_values + at.stage * Plan::row_bytes, rows + row, Plan::row_bytes, memory + full + 8 * at.stage);
		};
		bring(q, key_columns, Plan::q_at, Plan::q_bytes, sums.lse, Plan::lse_at, Plan::q_full, Plan::q_empty);
		bring(g, value_columns, Plan::g_at, Plan::g_bytes, sums.delta, Plan::delta_at, Plan::g_full, Plan::g_empty);
	}
}

// What the warp does that has a consumer's part of grad_q added.
template <class Plan>
__device__ inline void add_tiles(const AttentionShape &s, const mma::BackwardSums &sums, const KeyWork &w, uint32_t memory, int group) {
	const uint32_t from = memory + Plan::dq_at + group * Plan::dq_bytes;
	QueryPlace place(w, s);
	for (int step = 0; step < w.steps; step++, place.next(w)) {
		hopper::named_arrive(Plan::dq_taken + group, Plan::warpgroup + 32);
		hopper::named_sync(Plan::dq_ready + group, Plan::warpgroup + 32);
		if (threadIdx.x % 32 == 0) {
			hopper::add_to_sums(sums.grad_q + (place.padded_tile(w, s) * Plan::consumers + group) * (Plan::dq_bytes / 4), from, Plan::dq_bytes);
			hopper::sums_commit();
			hopper::sums_wait_read<0>();
		}
		__syncwarp();
	}
}

// weights turns scores (key by query, not yet scaled) into P. base: lse of this lane's queries. Returns sums of P that nobody needs but the wait.
template <int Eights> __device__ inline void weights_of(float (&p)[Eights][4], const float *base, float factor) {
#pragma unroll
	for (int n = 0; n < Eights; n++) {
		const float2 lse = *reinterpret_cast<const float2 *>(base + 8 * n);
#pragma unroll
		for (int e = 0; e < 4; e++) p[n][e] = hopper::power_of_two(fmaf(p[n][e], factor, e % 2 == 0 ? -lse.x : -lse.y));
	}
}

// score_gradients turns dP into dS.
template <int Eights> __device__ inline void score_gradients(float (&ds)[Eights][4], const float (&p)[Eights][4], const float *means) {
#pragma unroll
	for (int n = 0; n < Eights; n++) {
		const float2 delta = *reinterpret_cast<const float2 *>(means + 8 * n);
#pragma unroll
		for (int e = 0; e < 4; e++) ds[n][e] = p[n][e] * (ds[n][e] - (e % 2 == 0 ? delta.x : delta.y));
	}
}

// hide_pairs: queries of the tile, from this lane's first one on, that do not see a key, or are not there, weigh nothing. query: the lane's first.
template <int Eights>
__device__ inline void hide_pairs(float (&p)[Eights][4], float (&ds)[Eights][4], int key, int query, const AttentionShape &s) {
#pragma unroll
	for (int half = 0; half < 2; half++) {
		const int row = key + 8 * half, from = row >= s.seq_kv ? INT32_MAX : s.first_query(row) - query, to = s.seq_q - query;
#pragma unroll
		for (int n = 0; n < Eights; n++)
#pragma unroll
			for (int e = 2 * half; e < 2 * half + 2; e++)
				if (8 * n + e % 2 < from || 8 * n + e % 2 >= to) p[n][e] = ds[n][e] = 0;
	}
}

// What a consumer does with one tile; dk and dv are its sums.
template <class T, class Plan> struct KeyConsumer {
	static constexpr int columns = Plan::part / 8;
	using Rounded = uint32_t[Plan::parts][columns / 2][4]; // P or dS of a tile, as an operand
	const AttentionShape &s;
	const KeyWork &w;
	unsigned char *k_rows;
	uint32_t memory;
	int group, warp, lane; // warp: of both consumers
	float dk[Plan::head_dim / 8][4], dv[Plan::head_dim_v / 8][4];

	__device__ void release(int empty, int stage) {
		if (lane == 0) hopper::barrier_arrive(memory + empty + 8 * stage);
	}
	__device__ const float *row_values(int place, int stage) const {
		return reinterpret_cast<const float *>(k_rows + place + stage * Plan::row_bytes) + hopper::fresh(lane) % 4 * 2;
	}
	__device__ void put_score_gradients(const uint32_t (&gradients)[columns / 2][4], int tile, int part) {
		unsigned char *const rows = k_rows + Plan::ds_at + tile * Plan::ds_bytes;
		const int lane = hopper::fresh(this->lane);
#pragma unroll
		for (int i = 0; i < columns * 2; i++)
			*reinterpret_cast<uint32_t *>(rows + tile_offset<Plan::keys>(16 * warp + lane / 4 + i % 2 * 8, part * columns + i / 2) + lane % 4 * 4) =
			    gradients[i / 4][i % 4];
	}
	// begin_sum starts sum += x of a tile's queries, x rounded P or dS.
	template <int Eights> __device__ void begin_sum(float (&sum)[Eights][4], const Rounded &x, uint32_t tile) {
		const uint64_t rows = hopper::across_descriptor(tile, Plan::q_panel);
#pragma unroll
		for (int k = 0; k < Plan::queries / 16; k++)
			hopper::WarpgroupMultiply<T>::registers(sum, x[2 * k / columns][k % (columns / 2)], hopper::advanced(rows, k * 16 * panel_bytes));
		hopper::commit();
	}
	// begin_keys starts dK += dS Q, from dS in shared memory where a thread has no registers for it.
	__device__ void begin_keys(const Rounded &gradients, int tile, uint32_t q_tile) {
		if constexpr (!Plan::tight) {
			begin_sum(dk, gradients, q_tile);
		} else {
			const uint64_t a = hopper::tile_descriptor(memory + Plan::ds_at + tile * Plan::ds_bytes + group * (hopper::mma_rows * panel_bytes));
			const uint64_t b = hopper::across_descriptor(q_tile, Plan::q_panel);
#pragma unroll
			for (int k = 0; k < Plan::queries; k += 16)
				hopper::multiply_any<T, 0, 1>(dk, hopper::advanced(a, k * 2), hopper::advanced(b, k * panel_bytes), true);
			hopper::commit();
		}
	}
	// begin_queries starts dQ^T = K^T dS over all keys of the block: 64 columns from a panel of keys on, and the queries from a place of dS on.
	template <int Eights> __device__ void begin_queries(float (&dq)[Eights][4], int panel, uint32_t ds) {
		const uint64_t a = hopper::across_descriptor(memory + panel * Plan::kv_panel, Plan::kv_panel), b = hopper::across_descriptor(ds, Plan::kv_panel);
#pragma unroll
		for (int k = 0; k < Plan::keys; k += 16)
			hopper::WarpgroupMultiply<T>::across(dq, hopper::advanced(a, k * panel_bytes), hopper::advanced(b, k * panel_bytes), k > 0);
		hopper::commit();
	}
	__device__ void begin_whole(float (&dq)[Plan::dq_whole][4], int tile) { begin_queries(dq, group, memory + Plan::ds_at + tile * Plan::ds_bytes); }
	__device__ void begin_half(float (&dq)[Plan::dq_half][4], int tile) {
		constexpr int half = Plan::queries / 2, offset = half / 64 * Plan::kv_panel + half % 64 * 2;
		begin_queries(dq, Plan::head_dim / 64 - 1, memory + Plan::ds_at + tile * Plan::ds_bytes + group * offset);
	}
	template <int Eights> __device__ void put_queries(const float (&dq)[Eights][4], int first) {
		const uint32_t to = memory + Plan::dq_at + group * Plan::dq_bytes + (warp % 4 * 32 + lane) * 16;
#pragma unroll
		for (int n = 0; n < Eights; n++)
			hopper::store_shared(to + (first + n) * Plan::warpgroup * 16, {__float_as_uint(dq[n][0]), __float_as_uint(dq[n][1]), __float_as_uint(dq[n][2]), __float_as_uint(dq[n][3])});
	}
	__device__ void wait_for_room() { hopper::named_sync(Plan::dq_taken + group, Plan::warpgroup + 32); }
	__device__ void hand_over() {
		hopper::fence_stores();
		hopper::named_arrive(Plan::dq_ready + group, Plan::warpgroup + 32);
	}
	// multiply: what follows dS: dQ and dK, and the stages that are free then. dV is under way.
	__device__ void multiply(const Rounded &gradients, int tile, uint32_t q_tile, int stage) {
		constexpr bool two = Plan::dq_whole > 0 && Plan::dq_half > 0;
		float dq[Plan::dq_whole > 0 ? Plan::dq_whole : Plan::dq_half][4];
		if constexpr (Plan::tight) free_gradients<0>(stage);
		hopper::fence();
		if constexpr (Plan::dq_whole > 0) begin_whole(dq, tile);
		else begin_half(dq, tile);
		begin_keys(gradients, tile, q_tile);
		if constexpr (Plan::tight) hopper::wait_for<1>();
		else free_gradients<1>(stage);
		hopper::changed(dq);
		wait_for_room();
		put_queries(dq, 0);
		if constexpr (two) {
			float rest[Plan::dq_half][4];
			hopper::fence();
			begin_half(rest, tile);
			free_queries<1>(stage);
			hopper::wait_for<0>();
			hopper::changed(rest);
			put_queries(rest, Plan::dq_whole);
			hand_over();
		} else {
			hand_over();
			free_queries<0>(stage);
		}
	}
	template <int Pending> __device__ void free_gradients(int stage) {
		hopper::wait_for<Pending>();
		hopper::changed(dv);
		release(Plan::g_empty, stage);
	}
	template <int Pending> __device__ void free_queries(int stage) {
		hopper::wait_for<Pending>();
		hopper::changed(dk);
		release(Plan::q_empty, stage);
	}
	__device__ void take(int step, int first_query) {
		const int stage = step % Plan::stages, parity = step / Plan::stages % 2;
		const uint32_t q_tile = memory + Plan::q_at + stage * Plan::q_bytes, g_tile = memory + Plan::g_at + stage * Plan::g_bytes;
		const uint32_t own = memory + group * (hopper::mma_rows * panel_bytes);
		Rounded weights, gradients;
		hopper::barrier_wait(memory + Plan::q_full + 8 * stage, parity);
#pragma unroll
		for (int part = 0; part < Plan::parts; part++) {
			constexpr int rows = Plan::part * panel_bytes;
			float p[columns][4], ds[columns][4];
			hopper::fence();
			start_scores<T, Plan::head_dim, Plan::kv_panel, Plan::q_panel>(p, hopper::tile_descriptor(own), hopper::tile_descriptor(q_tile + part * rows));
			if (part == 0) hopper::barrier_wait(memory + Plan::g_full + 8 * stage, parity);
			hopper::fence();
			start_scores<T, Plan::head_dim_v, Plan::kv_panel, Plan::q_panel>(ds, hopper::tile_descriptor(own + Plan::v_at),
			                                                                 hopper::tile_descriptor(g_tile + part * rows));
			hopper::wait_for<1>();
			hopper::changed(p);
			weights_of(p, row_values(Plan::lse_at, stage) + part * Plan::part, s.scale * log2_e);
			float sums[2] = {};
#pragma unroll
			for (int n = 0; n < columns; n++)
#pragma unroll
				for (int e = 0; e < 4; e++) sums[e % 2] += p[n][e];
			hopper::wait_after<0>(sums[0], sums[1]);
			hopper::changed(ds);
			score_gradients(ds, p, row_values(Plan::delta_at, stage) + part * Plan::part);
			const int first = first_query + part * Plan::part;
			if (w.first + Plan::keys > s.visible_keys(first) || first + Plan::part > s.seq_q)
				hide_pairs(p, ds, w.first + 16 * warp + lane / 4, first + lane % 4 * 2, s);
			pack_weights<T>(weights[part], p);
			pack_weights<T>(gradients[part], ds);
			if constexpr (Plan::tight) {
				if (part == 0) hopper::named_sync(Plan::ds_taken, Plan::consumers * Plan::warpgroup); // both have read dS of the tile before
				put_score_gradients(gradients[part], 0, part);
			}
		}
		hopper::fence();
		begin_sum(dv, weights, g_tile);
		if constexpr (!Plan::tight) put_score_gradients(gradients[0], step % Plan::ds_tiles, 0);
		hopper::fence_stores();
		hopper::named_sync(Plan::ds_ready, Plan::consumers * Plan::warpgroup);
		multiply(gradients, step % Plan::ds_tiles, q_tile, stage);
	}
};

// What the other warpgroups do; `group` counts them.
template <class T, class Plan>
__device__ inline void consume_queries(const BackwardCall<T> &a, const KeyWork &w, unsigned char *k_rows, uint32_t memory, int group) {
	const AttentionShape &s = a.shape;
	const int thread = static_cast<int>(threadIdx.x) - Plan::warpgroup, warp = __shfl_sync(all_lanes, thread / 32, 0), lane = thread % 32;
	KeyConsumer<T, Plan> c = {s, w, k_rows, memory, group, warp, lane, {}, {}};
	QueryPlace place(w, s);
	if (w.steps > 0) hopper::barrier_wait(memory + Plan::kv_full, 0);
	for (int step = 0; step < w.steps; step++, place.next(w)) c.take(step, place.tile * Plan::queries);
	hopper::named_sync(Plan::ds_ready, Plan::consumers * Plan::warpgroup); // keys and values are no longer needed
	const float scale[2] = {s.scale, s.scale}, one[2] = {1, 1};
	const int64_t before = (static_cast<int64_t>(w.batch) * s.heads_kv + w.head) * s.seq_kv;
	const int mine = w.first + 16 * warp;
	unsigned char *const own = k_rows + 16 * warp * panel_bytes;
	if (a.grad_k) store_result<T, Plan::keys>(a.grad_k + before * s.head_dim, own, c.dk, scale, mine, s.seq_kv, s.head_dim);
	if (a.grad_v) store_result<T, Plan::keys>(a.grad_v + before * s.head_dim_v, own + Plan::v_at, c.dv, one, mine, s.seq_kv, s.head_dim_v);
}
#endif

template <class T, class Plan>
__global__ void __launch_bounds__(Plan::threads, 1)
    tma_backward(const __grid_constant__ BackwardCall<T> a, const __grid_constant__ mma::BackwardSums sums, const __grid_constant__ Source q,
                 const __grid_constant__ Source k, const __grid_constant__ Source v, const __grid_constant__ Source g, const __grid_constant__ WorkOrder order) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	extern __shared__ __align__(128) unsigned char tma_tiles[];
	constexpr uint32_t aligned = hopper::tile_alignment;
	unsigned char *const k_rows = tma_tiles + (aligned - hopper::shared_address(tma_tiles) % aligned) % aligned;
	const uint32_t memory = hopper::shared_address(k_rows);
	if (threadIdx.x == 0) {
		hopper::barrier_init(memory + Plan::kv_full, 1);
		for (int stage = 0; stage < Plan::stages; stage++) {
			hopper::barrier_init(memory + Plan::q_full + 8 * stage, 1);
			hopper::barrier_init(memory + Plan::q_empty + 8 * stage, Plan::warps);
			hopper::barrier_init(memory + Plan::g_full + 8 * stage, 1);
			hopper::barrier_init(memory + Plan::g_empty + 8 * stage, Plan::warps);
		}
		hopper::fence_init();
	}
	__syncthreads();
	const KeyWork w = KeyWork::of<Plan>(order.piece(static_cast<int>(blockIdx.x)), a.shape);
	const int warp = __shfl_sync(all_lanes, static_cast<int>(threadIdx.x) / 32, 0), group = warp / 4;
	if (group == 0) {
		hopper::give_registers<Plan::producer_registers>();
		if (threadIdx.x == 0) bring_tiles<Plan>(a.shape, q, k, v, g, sums, w, memory);
		else if (warp == 1 || warp == 2) add_tiles<Plan>(a.shape, sums, w, memory, warp - 1);
	} else {
		hopper::take_registers<Plan::consumer_registers>();
		consume_queries<T, Plan>(a, w, k_rows, memory, group - 1);
	}
#endif
}

// prepare_lanes: a row's threads in tma_backward_prepare, a power of two.
template <int HeadDim> constexpr int prepare_lanes = HeadDim == 192 ? 32 : HeadDim / 8;

// tma_backward_prepare: lse to the base 2 and delta, for rows padded to whole tiles, and zeros for grad_q. A lane has 8 columns of a row, or none.
template <class T, class Plan>
__global__ void __launch_bounds__(mma::prepare_threads) tma_backward_prepare(const BackwardCall<T> a, const mma::BackwardSums sums) {
	const AttentionShape s = a.shape;
	constexpr int lanes = prepare_lanes<Plan::head_dim>;
	const int64_t row = static_cast<int64_t>(blockIdx.x) * (mma::prepare_threads / lanes) + threadIdx.x / lanes, padded = Plan::tiles(s) * Plan::queries;
	const int64_t at = row / padded, query = row % padded, batch = at / s.heads_q;
	const int head = static_cast<int>(at % s.heads_q), col = static_cast<int>(threadIdx.x) % lanes * 8;
	const bool inside = batch < s.batch && query < s.seq_q;
	float part = 0;
	if (inside && col < s.head_dim_v) {
		const HeadRows<T> o = a.o.of(batch, head), g = a.grad_o.of(batch, head);
		float x[8], y[8];
		load(o.data + query * o.row_stride + col, x);
		load(g.data + query * g.row_stride + col, y);
#pragma unroll
		for (int e = 0; e < 8; e++) part += x[e] * y[e];
	}
	part = warp_reduce<lanes>(part, Sum());
	if (batch >= s.batch) return;
	const float zeros[8] = {};
	if (col < Plan::head_dim) store(sums.grad_q + row * Plan::head_dim + col, zeros);
	if (col != 0) return;
	const float lse = inside ? a.lse[at * s.seq_q + query] : -INFINITY;
	sums.delta[row] = part;
	sums.lse[row] = lse == -INFINITY ? INFINITY : lse * log2_e;
}

// tma_backward_finish puts grad_q in order, scaled and rounded. A thread takes 16 columns of two queries: what eight lanes of one warp held.
template <class T, class Plan>
__global__ void __launch_bounds__(mma::prepare_threads) tma_backward_finish(T *grad_q, const float *sums, const AttentionShape s) {
	constexpr int each = 32 * Plan::dq_eights; // threads of a tile
	const int64_t index = static_cast<int64_t>(blockIdx.x) * mma::prepare_threads + threadIdx.x, tile = index / each;
	if (tile >= s.batch * s.heads_q * Plan::tiles(s)) return;
	const int rest = static_cast<int>(index % each), quarter = rest % 4, warp = rest / 4 % 4, n = rest / 16 % Plan::dq_eights, group = rest / (each / 2);
	const float *const from = sums + tile * (Plan::queries * Plan::head_dim) + group * (Plan::dq_bytes / 4) + (n * Plan::warpgroup + warp * 32 + quarter) * 4;
	float x[8][4];
#pragma unroll
	for (int g = 0; g < 8; g++) load(from + g * 16, x[g]);
	const int64_t head = tile / Plan::tiles(s);
	const bool whole = n < Plan::dq_whole;
	const int eight = whole ? n : n - Plan::dq_whole + group * Plan::dq_half, part = whole ? group : Plan::head_dim / 64 - 1;
	const int first = static_cast<int>(tile % Plan::tiles(s)) * Plan::queries + 8 * eight + 2 * quarter, col = 64 * part + 16 * warp;
#pragma unroll
	for (int e = 0; e < 4; e++) {
		const int query = first + e % 2, at = col + e / 2 * 8;
		float y[8];
#pragma unroll
		for (int g = 0; g < 8; g++) y[g] = x[g][e] * s.scale;
		if (query < s.seq_q && at < s.head_dim) store(grad_q + (head * s.seq_q + query) * s.head_dim + at, y);
	}
}

// launch_keys starts a block for each tile of keys, in sections of `section` heads.
template <class T, class Plan> int launch_keys(const BackwardCall<T> &a, const mma::BackwardSums &sums, int section, cudaStream_t stream) {
	const AttentionShape &s = a.shape;
	const int64_t heads = s.batch * s.heads_kv, tiles = (static_cast<int64_t>(s.seq_kv) + Plan::keys - 1) / Plan::keys;
	if (heads * tiles == 0) return TRIAD_OK;
	if (heads * tiles > INT32_MAX) return static_cast<int>(cudaErrorInvalidConfiguration);
	const WorkOrder order = {static_cast<int>(tiles), section, static_cast<int>(heads)};
	Source q = {}, k = {}, v = {}, g = {};
	if (s.seq_q > 0) { // else nothing is copied
		if (const int status = map_source(&q, a.q, s, s.heads_q, s.seq_q, s.head_dim, Plan::queries)) return status;
		if (const int status = map_source(&g, a.grad_o, s, s.heads_q, s.seq_q, s.head_dim_v, Plan::queries)) return status;
		if (const int status = map_source(&k, a.k, s, s.heads_kv, s.seq_kv, s.head_dim, Plan::keys)) return status;
		if (const int status = map_source(&v, a.v, s, s.heads_kv, s.seq_kv, s.head_dim_v, Plan::keys)) return status;
	}
	if (const int status = cudaFuncSetAttribute(tma_backward<T, Plan>, cudaFuncAttributeMaxDynamicSharedMemorySize, Plan::bytes)) return status;
	tma_backward<T, Plan><<<static_cast<unsigned>(order.count()), Plan::threads, Plan::bytes, stream>>>(a, sums, q, k, v, g, order);
	return launched();
}

template <class T, class Plan> int launch_backward_plan(const BackwardCall<T> &a, float *workspace, int section, cudaStream_t stream) {
	const AttentionShape &s = a.shape;
	const mma::BackwardSums sums = Plan::sums(s, workspace);
	const int64_t elements = Plan::padded_rows(s) * Plan::head_dim;
	if (elements / 8 / mma::prepare_threads >= INT32_MAX) return static_cast<int>(cudaErrorInvalidConfiguration);
	const int64_t lanes = Plan::padded_rows(s) * prepare_lanes<Plan::head_dim>;
	if (elements > 0) tma_backward_prepare<T, Plan><<<mma::blocks_for(lanes, mma::prepare_threads), mma::prepare_threads, 0, stream>>>(a, sums);
	if (const int status = launched()) return status;
	if (const int status = launch_keys<T, Plan>(a, sums, section, stream)) return status;
	if (elements > 0 && a.grad_q)
		tma_backward_finish<T, Plan><<<mma::blocks_for(elements, 32 * mma::prepare_threads), mma::prepare_threads, 0, stream>>>(a.grad_q, sums.grad_q, s);
	return launched();
}

// With head_dim 192 a second tile of dS would take more shared memory than a block has.
template <int HeadDim>
using BackwardPlanOf = std::conditional_t<HeadDim == 64, BackwardPlan<64, 128, 2>, BackwardPlan<HeadDim, 64, HeadDim == 128 ? 2 : 1>>;

inline int64_t backward_floats(const AttentionShape &s) {
	return s.widest() <= 64 ? BackwardPlanOf<64>::floats(s) : s.head_dim <= 128 ? BackwardPlanOf<128>::floats(s) : BackwardPlanOf<192>::floats(s);
}

template <class T, int HeadDim> int launch_backward(const BackwardCall<T> &a, float *workspace, cudaStream_t stream) {
	const AttentionShape &s = a.shape;
	const int64_t head_bytes = int64_t{2} * std::max(s.seq_q, 1) * (s.head_dim + s.head_dim_v) * s.group(); // of queries and gradients, for each key head
	return launch_backward_plan<T, BackwardPlanOf<HeadDim>>(a, workspace, section_for(head_bytes, s.causal), stream);
}

} // namespace tma
} // namespace triad
#endif
