// sm90_tma.cuh: attention forward on Hopper's tensor cores (sm_90a), whose tiles the copy engine (TMA) brings. fp16 and bf16, D a multiple of 8
// up to 192, padded with zeros to 64, 128 or 192, Dv to 64 or 128. Numerics as in sm80_mma_forward.cuh.
//   A block keeps 64 queries for each of its consumer warpgroups and streams tiles of keys and values past them, from the last visible one to the
//   first, so that only the first tiles need a mask. One thread of another warpgroup, the producer, has the copy engine fill a ring of key
//   tiles and one of value tiles. A consumer, at each tile but the first:
//
//       wait for keys j          ------ tensor cores ------       ------ this warpgroup ------
//       start  S = Q K_j^T        S
//       start  O += P V_j+1       S, O
//       wait for S                O                               largest scores, P' = exp2(S), sums
//       wait for O                (the other warpgroup's)         rescale O where a largest score grew, round P'
//
//   One warpgroup's exponentials run under the others' products; nothing holds them to turns. Measured on an H200 (bf16, 4 x 16 x 4096 x 128):
//   0.825 ms so, 0.836 ms with turns kept by named barriers, 0.879 ms with O += P V before S = Q K^T instead of under the exponentials.
//   Each block has one piece of `WorkOrder`; under a causal mask the longest come first, section by section of heads.
#ifndef TRIAD_FLASH_ATTENTION_SM90_TMA_CUH
#define TRIAD_FLASH_ATTENTION_SM90_TMA_CUH
#include <algorithm>
#include <type_traits>

#include "hopper/barrier.cuh"
#include "hopper/head_map.cuh"
#include "hopper/named_barrier.cuh"
#include "mma_softmax.cuh"
#include "sm90_wgmma.cuh"
#include "wgmma_tile.cuh"

namespace triad {
namespace tma {

using mma::Exponents;
using mma::Softmax;

// ForwardPlan divides a block's shared memory: queries, the rings of keys and values, the barriers.
template <int HeadDim, int Keys, int Consumers, int Stages> struct ForwardPlan {
	static constexpr int head_dim = HeadDim, head_dim_v = padded_values<HeadDim>, keys = Keys, consumers = Consumers, stages = Stages;
	static constexpr int warpgroup = 128, threads = warpgroup * (1 + Consumers), rows = hopper::mma_rows * Consumers;
	static constexpr int q_bytes = tile_bytes(rows, HeadDim), k_bytes = tile_bytes(Keys, HeadDim), v_bytes = tile_bytes(Keys, head_dim_v);
	static constexpr int q_panel = rows * panel_bytes, kv_panel = Keys * panel_bytes; // from 64 columns to the next 64
	static constexpr int k_tiles = q_bytes, v_tiles = k_tiles + Stages * k_bytes, barriers = v_tiles + Stages * v_bytes;
	static constexpr int q_full = barriers, k_full = q_full + 8, k_empty = k_full + 8 * Stages;
	static constexpr int v_full = k_empty + 8 * Stages, v_empty = v_full + 8 * Stages, used = v_empty + 8 * Stages;
	static constexpr int bytes = used + hopper::tile_alignment;
	// Of 64 Ki registers a block of 384 threads starts with 168 a thread, one of 512 with 128.
	static constexpr int producer_registers = Consumers == 2 ? 24 : 32, consumer_registers = Consumers == 2 ? 240 : 160;
};

// Source is an input as the copy engine reads it. A step is 0 where all heads, or all batch entries, are the same memory.
struct Source {
	hopper::HeadMap map;
	int head_step, batch_step;
};

template <class T> int map_source(Source *source, const Heads<T> &x, const AttentionShape &s, int heads, int rows, int columns, int box_rows) {
	source->head_step = x.head_stride != 0, source->batch_step = x.batch_stride != 0;
	const hopper::HeadSizes sizes = {source->batch_step ? s.batch : 1, source->head_step ? heads : 1, rows, columns,
	                                 x.batch_stride, x.head_stride, x.row_stride};
	return hopper::map_heads(&source->map, x.data, sizes, box_rows);
}

// Work is a piece of the result: `rows` queries from `first` on of one head.
struct Work {
	int first, head, batch, key_tiles;
};

// Piece is a tile of one head, of all batches together.
struct Piece {
	int tile, head;
};

// WorkOrder numbers the pieces: sections of so many heads; in a section the first tiles of its heads come first.
struct WorkOrder {
	int tiles, section, heads; // tiles a head; heads of all batches together

	__host__ __device__ int count() const { return tiles * heads; }
	__device__ Piece piece(int number) const {
		const unsigned in_section = static_cast<unsigned>(tiles) * static_cast<unsigned>(section), u = static_cast<unsigned>(number);
		const unsigned start = u / in_section * static_cast<unsigned>(section), rest = u % in_section;
		const unsigned here = min(static_cast<unsigned>(section), static_cast<unsigned>(heads) - start);
		return {static_cast<int>(rest / here), static_cast<int>(start + rest % here)};
	}
	// work: the last queries, which see the most keys, are the first tile.
	template <class Plan> __device__ Work work(int number, const AttentionShape &s) const {
		const Piece at = piece(number);
		const int first = (tiles - 1 - at.tile) * Plan::rows, visible = s.visible_keys(min(first + Plan::rows, s.seq_q) - 1);
		return {first, at.head % s.heads_q, at.head / s.heads_q, (visible + Plan::keys - 1) / Plan::keys};
	}
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
using wgmma::start_output;
using wgmma::start_scores;

// What the producer's one thread does.
template <class Plan>
__device__ inline void produce(const AttentionShape &s, const Source &q, const Source &k, const Source &v, const Work &w,
                               uint32_t memory) {
	RingPlace<Plan::stages> k_at, v_at;
	const auto copy = [&](const Source &from, uint32_t to, int panel, auto columns, uint32_t full, int bytes, int row, int head) {
		hopper::barrier_arrive_expecting(full, bytes);
#pragma unroll
		for (int d = 0; d < decltype(columns)::value; d += 64)
			hopper::copy_rows(to + d / 64 * panel, &from.map, d, row, head * from.head_step, w.batch * from.batch_step, full);
	};
	const std::integral_constant<int, Plan::head_dim> columns;
	const std::integral_constant<int, Plan::head_dim_v> value_columns;
	const int kv_head = w.head / s.group();
	const auto copy_keys = [&](int tile) {
		hopper::barrier_wait(memory + Plan::k_empty + 8 * k_at.stage, k_at.parity ^ 1);
		copy(k, memory + Plan::k_tiles + k_at.stage * Plan::k_bytes, Plan::kv_panel, columns, memory + Plan::k_full + 8 * k_at.stage, Plan::k_bytes,
		     tile * Plan::keys, kv_head);
		k_at.next();
	};
	const auto copy_values = [&](int tile) {
		hopper::barrier_wait(memory + Plan::v_empty + 8 * v_at.stage, v_at.parity ^ 1);
		copy(v, memory + Plan::v_tiles + v_at.stage * Plan::v_bytes, Plan::kv_panel, value_columns, memory + Plan::v_full + 8 * v_at.stage, Plan::v_bytes,
		     tile * Plan::keys, kv_head);
		v_at.next();
	};
	if (w.key_tiles == 0) return;
	copy(q, memory, Plan::q_panel, columns, memory + Plan::q_full, Plan::q_bytes, w.first, w.head);
	for (int tile = w.key_tiles - 1; tile >= 0; tile--) {
		copy_keys(tile);
		if (tile + 1 < w.key_tiles) copy_values(tile + 1);
	}
	copy_values(0);
}

// Consumer is what a warpgroup that multiplies knows of its rings.
template <class T, class Plan> struct Consumer {
	uint32_t memory;
	int group, lane;
	RingPlace<Plan::stages> k_at, v_at;

	__device__ void wait_keys() { hopper::barrier_wait(memory + Plan::k_full + 8 * k_at.stage, k_at.parity); }
	__device__ void wait_values() { hopper::barrier_wait(memory + Plan::v_full + 8 * v_at.stage, v_at.parity); }
	__device__ void release_keys() {
		if (lane == 0) hopper::barrier_arrive(memory + Plan::k_empty + 8 * k_at.stage);
		k_at.next();
	}
	__device__ void release_values() {
		if (lane == 0) hopper::barrier_arrive(memory + Plan::v_empty + 8 * v_at.stage);
		v_at.next();
	}
	__device__ uint64_t queries() const { return hopper::tile_descriptor(memory + group * (hopper::mma_rows * panel_bytes)); }
	__device__ void scores(float (&p)[Plan::keys / 8][4]) {
		start_scores<T, Plan::head_dim, Plan::q_panel, Plan::kv_panel>(
			p, queries(), hopper::tile_descriptor(memory + Plan::k_tiles + k_at.stage * Plan::k_bytes));
	}
	__device__ void output(float (&o)[Plan::head_dim_v / 8][4], const uint32_t (&weights)[Plan::keys / 16][4]) {
		start_output<T>(o, weights, hopper::across_descriptor(memory + Plan::v_tiles + v_at.stage * Plan::v_bytes, Plan::kv_panel));
	}
};

// What the other warpgroups do; `group` counts them.
template <class T, class Plan>
__device__ inline void consume(const ForwardCall<T> &a, const Work &w, unsigned char *q_rows, uint32_t memory, int group) {
	const AttentionShape &s = a.shape;
	const int thread = static_cast<int>(threadIdx.x) % Plan::warpgroup, warp = __shfl_sync(all_lanes, thread / 32, 0), lane = thread % 32;
	const float factor = s.scale * log2_e;
	Consumer<T, Plan> c = {memory, group, lane, {}, {}};
	const int mine = w.first + group * hopper::mma_rows + 16 * warp, row = mine + lane / 4, seen_by_all = s.visible_keys(mine);
	const int visible[2] = {s.visible_keys(row), s.visible_keys(row + 8)};
	Softmax state;
	float o[Plan::head_dim_v / 8][4] = {};
	if (w.key_tiles > 0) {
		float p[Plan::keys / 8][4];
		uint32_t weights[Plan::keys / 16][4];
		hopper::barrier_wait(memory + Plan::q_full, 0);
		c.wait_keys();
		hopper::fence();
		c.scores(p);
		hopper::wait_for<0>();
		hopper::changed(p);
		c.release_keys();
		if (w.key_tiles * Plan::keys > seen_by_all) mma::hide_keys(p, (w.key_tiles - 1) * Plan::keys, visible);
		mma::weigh_scores(state.sum, p, mma::exponents_for(state, p, factor));
		pack_weights<T>(weights, p);
		const auto step = [&](int tile, auto masked) {
			c.wait_keys();
			c.wait_values();
			hopper::fence();
			c.scores(p);
			c.output(o, weights);
			hopper::wait_for<1>();
			hopper::changed(p);
			c.release_keys();
			if (decltype(masked)::value && (tile + 1) * Plan::keys > seen_by_all) mma::hide_keys(p, tile * Plan::keys, visible);
			const Exponents exponents = mma::exponents_for(state, p, factor);
			float part[2] = {};
			mma::weigh_scores(part, p, exponents);
			hopper::wait_after<0>(part[0], part[1]);
			hopper::changed(o);
			c.release_values();
			mma::rescale(state, o, exponents);
#pragma unroll
			for (int half = 0; half < 2; half++) state.sum[half] += part[half];
			pack_weights<T>(weights, p);
		};
		int tile = w.key_tiles - 2;
		for (; tile >= 0 && (tile + 1) * Plan::keys > s.visible_keys(w.first); tile--) step(tile, std::true_type());
		for (; tile >= 0; tile--) step(tile, std::false_type());
		c.wait_values();
		hopper::fence();
		c.output(o, weights);
		hopper::wait_for<0>();
		hopper::changed(o);
		c.release_values();
	}
	const int64_t rows_before = (static_cast<int64_t>(w.batch) * s.heads_q + w.head) * s.seq_q;
	float inverse[2];
#pragma unroll
	for (int half = 0; half < 2; half++) {
		const bool sees_a_key = visible[half] > 0;
		const float total = warp_reduce<4>(state.sum[half], Sum());
		inverse[half] = sees_a_key ? 1.0f / total : 0.0f;
		if (a.lse && lane % 4 == 0 && row + 8 * half < s.seq_q)
			a.lse[rows_before + row + 8 * half] = log_sum_exp(state.max[half] * s.scale, total, sees_a_key);
	}
	// This warpgroup's queries have been read by all of its warps; their place takes the result.
	hopper::named_sync(1 + group, Plan::warpgroup);
	unsigned char *const own_rows = q_rows + (group * hopper::mma_rows + 16 * warp) * panel_bytes;
	store_result<T, Plan::rows>(a.o + rows_before * s.head_dim_v, own_rows, o, inverse, mine, s.seq_q, s.head_dim_v);
}
#endif

template <class T, class Plan>
__global__ void __launch_bounds__(Plan::threads, 1)
    tma_forward(const __grid_constant__ ForwardCall<T> a, const __grid_constant__ Source q, const __grid_constant__ Source k,
                           const __grid_constant__ Source v, const __grid_constant__ WorkOrder order) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	extern __shared__ __align__(128) unsigned char tma_tiles[];
	constexpr uint32_t aligned = hopper::tile_alignment;
	unsigned char *const q_rows = tma_tiles + (aligned - hopper::shared_address(tma_tiles) % aligned) % aligned;
	const uint32_t memory = hopper::shared_address(q_rows);
	if (threadIdx.x == 0) {
		constexpr int warps = Plan::consumers * 4;
		hopper::barrier_init(memory + Plan::q_full, 1);
		for (int stage = 0; stage < Plan::stages; stage++) {
			hopper::barrier_init(memory + Plan::k_full + 8 * stage, 1);
			hopper::barrier_init(memory + Plan::k_empty + 8 * stage, warps);
			hopper::barrier_init(memory + Plan::v_full + 8 * stage, 1);
			hopper::barrier_init(memory + Plan::v_empty + 8 * stage, warps);
		}
		hopper::fence_init();
	}
	__syncthreads();
	const Work w = order.work<Plan>(static_cast<int>(blockIdx.x), a.shape);
	const int group = __shfl_sync(all_lanes, static_cast<int>(threadIdx.x) / Plan::warpgroup, 0);
	if (group == 0) {
		hopper::give_registers<Plan::producer_registers>();
		if (threadIdx.x == 0) produce<Plan>(a.shape, q, k, v, w, memory);
	} else {
		hopper::take_registers<Plan::consumer_registers>();
		consume<T, Plan>(a, w, q_rows, memory, group - 1);
	}
#endif
}

// launch_plan starts a block for each piece of work, in sections of `section` heads.
template <class T, class Plan> int launch_plan(const ForwardCall<T> &a, int section, cudaStream_t stream) {
	const AttentionShape &s = a.shape;
	const int64_t heads = s.batch * s.heads_q, tiles = (static_cast<int64_t>(s.seq_q) + Plan::rows - 1) / Plan::rows;
	if (heads * tiles == 0) return TRIAD_OK;
	if (heads * tiles > INT32_MAX) return static_cast<int>(cudaErrorInvalidConfiguration);
	const WorkOrder order = {static_cast<int>(tiles), section, static_cast<int>(heads)};
	Source q = {}, k = {}, v = {};
	if (const int status = map_source(&q, a.q, s, s.heads_q, s.seq_q, s.head_dim, Plan::rows)) return status;
	if (s.seq_kv > 0) { // else nothing is copied
		if (const int status = map_source(&k, a.k, s, s.heads_kv, s.seq_kv, s.head_dim, Plan::keys)) return status;
		if (const int status = map_source(&v, a.v, s, s.heads_kv, s.seq_kv, s.head_dim_v, Plan::keys)) return status;
	}
	if (const int status = cudaFuncSetAttribute(tma_forward<T, Plan>, cudaFuncAttributeMaxDynamicSharedMemorySize, Plan::bytes)) return status;
	tma_forward<T, Plan><<<static_cast<unsigned>(order.count()), Plan::threads, Plan::bytes, stream>>>(a, q, k, v, order);
	return launched();
}

// What the heads of a section stream, so many bytes each, should stay in the L2 cache, of which this is a part.
constexpr int64_t section_bytes = 32 << 20;

inline int section_for(int64_t head_bytes, bool causal) {
	return causal ? static_cast<int>(std::clamp<int64_t>(section_bytes / std::max<int64_t>(head_bytes, 1), 1, 64)) : 1;
}

template <class T, int HeadDim> int launch_forward(const ForwardCall<T> &a, cudaStream_t stream) {
	const AttentionShape &s = a.shape;
	const int64_t head_bytes = int64_t{2} * std::max(s.seq_kv, 1) * (s.head_dim + s.head_dim_v) / s.group(); // of keys and values, for each query head
	const int section = section_for(head_bytes, s.causal);
	using Plan = std::conditional_t<HeadDim == 64, ForwardPlan<64, 128, 3, 4>, ForwardPlan<HeadDim, 128, 2, 2>>;
	return launch_plan<T, Plan>(a, section, stream);
}

} // namespace tma
} // namespace triad
#endif
