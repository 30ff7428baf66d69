// sm90_backward.cuh: attention over latent rows on Hopper's tensor cores (sm_90a), backward: grad_q = scale dS c, grad_kv = scale dS^T q + P^T grad_o,
// with P = exp(scale q . c - lse), dS = P (grad_o . v - delta). P and dS rounded to 16 bits, both gradients summed in fp32 in one order: every run gives the
// same bits.
//   One kernel runs twice, a block for 64 results: 64 rows of grad_q, past which it streams keys, and of_keys 64 latent rows of grad_kv, past which it
//   streams queries and gradients, 32 at a time. What stays is the first operand of the products: for latent rows scores are then transposed, and P
//   and dS always lie as the operand of the sums. One thread has the copy engine fill a ring of two tiles. Of the two other warpgroups one makes
//   scores and P, the other one grad_o . v and dS; then each has half of the columns of the sums. At each tile:
//
//       warpgroup 1                         warpgroup 2
//       wait for sums, free the tile        the same                      the copy engine brings the tile after
//       wait for S                          wait for dP
//       P = exp2(S - lse), to shared memory
//       barrier, arrive                     barrier, wait
//                                           dS = scale P (dP - delta), to shared memory
//       barrier                             barrier
//       start  sums += dS C (of_keys: += dS Q, and += P dO)  both, 320 and 256 columns
//       start  S of the next tile           start  dP of the next tile
//
//   The gradient of a key and that of its value are one sum, as dS is scaled before it is rounded. With of_keys a block has a part of the rows, since
//   there are fewer tiles of keys than multiprocessors; the last kernel adds the parts up in order and rounds once.
#ifndef TRIAD_MLA_SM90_BACKWARD_CUH
#define TRIAD_MLA_SM90_BACKWARD_CUH
#include <algorithm>

#include "pack.cuh"
#include "room.cuh"
#include "latent/sm90_tiles.cuh"
#include "latent/whole_naive.cuh"

namespace triad {
namespace mla {

using namespace latent;

constexpr int streamed = 32; // rows or keys of a tile

// BackwardPlan divides a block's shared memory: what stays, the ring of tiles, P and dS of two steps, lse and delta of streamed rows, barriers.
template <class Of, bool Keys> struct BackwardPlan : Of {
	static constexpr bool of_keys = Keys;
	static constexpr int first_own = Of::panels * panel_of(own_rows), second_own = Keys ? 0 : Of::value_panels * panel_of(own_rows);
	static constexpr int first_tile = Of::panels * panel_of(streamed), second_tile = Keys ? Of::value_panels * panel_of(streamed) : 0;
	static constexpr int tile = first_tile + second_tile, pair = panel_of(own_rows), values = Keys ? streamed * 4 : 0; // bytes of lse, or of delta
	static constexpr int tiles = first_own + second_own, pairs = tiles + stages * tile, statistics = pairs + 2 * pair;
	static constexpr int own_full = statistics + stages * 2 * values, full = own_full + 8, empty = full + 8 * stages, used = empty + 8 * stages;
	static constexpr int bytes = used + hopper::tile_alignment;
	static constexpr int weights_ready = 1, pairs_ready = 2; // named barriers
};

// Sums is the workspace: of each row, padded to whole tiles of 64, lse to the base 2 and delta; and the parts of grad_kv.
struct Sums {
	float *lse, *delta; // [batch, padded rows]; lse is infinity where a row sees no key, or is none
	float *grad_kv;     // [part, batch, keys, dim]
	int padded, parts;

	// Parts are as many as it takes for four blocks on each of 132 multiprocessors; each has two tiles of rows or more.
	Sums(const Shape &s, Room &room) {
		const int64_t uncut = std::max<int64_t>(s.batch * ((s.keys + own_rows - 1) / own_rows), 1);
		padded = (s.rows() + own_rows - 1) / own_rows * own_rows;
		parts = static_cast<int>(std::max<int64_t>(1, std::min<int64_t>({(528 + uncut - 1) / uncut, padded / streamed / 2, 16})));
		lse = room.take<float>(s.batch * padded);
		delta = room.take<float>(s.batch * padded);
		grad_kv = room.take<float>(parts * s.batch * s.keys * s.dim);
	}
};

// Streams is what a block does: 64 results from `own` on of a batch entry, and the tiles that it streams.
struct Streams {
	int64_t b;
	int own, part, first, steps;

	template <bool OfKeys> __device__ static Streams of(const Shape &s, int parts) {
		const int count = ((OfKeys ? s.keys : s.rows()) + own_rows - 1) / own_rows;
		const int64_t number = blockIdx.x / (s.batch * parts);
		Streams w;
		w.part = static_cast<int>(blockIdx.x / s.batch % parts);
		w.b = blockIdx.x % s.batch;
		// under a causal mask the first keys and the last rows have the longest work, which comes first
		w.own = static_cast<int>(OfKeys ? number : count - 1 - number) * own_rows;
		const int begin = OfKeys ? s.first_row(w.own) / streamed : 0, end = OfKeys ? s.rows() : s.visible(min(w.own + own_rows, s.rows()) - 1);
		const int steps = max((end + streamed - 1) / streamed - begin, 0), each = (steps + parts - 1) / parts;
		w.first = begin + w.part * each;
		w.steps = max(0, min(each, begin + steps - w.first));
		return w;
	}
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// What the producer's one thread does.
template <class Plan>
__device__ inline void bring_tiles(const hopper::HeadMap *rows, const hopper::HeadMap *grads, const hopper::HeadMap *keys, const Sums &sums,
                                   const Streams &w, uint32_t memory) {
	constexpr bool of_keys = Plan::of_keys;
	if (w.steps == 0) return;
	hopper::barrier_arrive_expecting(memory + Plan::own_full, Plan::first_own + Plan::second_own);
	copy_panels<own_rows, Plan::panels>(memory, of_keys ? keys : rows, w.own, w.b, memory + Plan::own_full);
	if (!of_keys) copy_panels<own_rows, Plan::value_panels>(memory + Plan::first_own, grads, w.own, w.b, memory + Plan::own_full);
	for (int step = 0; step < w.steps; step++) {
		const int stage = step % stages, first = (w.first + step) * streamed;
		const uint32_t full = memory + Plan::full + 8 * stage, tile = memory + Plan::tiles + stage * Plan::tile;
		hopper::barrier_wait(memory + Plan::empty + 8 * stage, step / stages % 2 ^ 1);
		hopper::barrier_arrive_expecting(full, Plan::tile + 2 * Plan::values);
		copy_panels<streamed, Plan::panels>(tile, of_keys ? rows : keys, first, w.b, full);
		if (!of_keys) continue;
		copy_panels<streamed, Plan::value_panels>(tile + Plan::first_tile, grads, first, w.b, full);
		const uint32_t values = memory + Plan::statistics + stage * 2 * Plan::values;
		hopper::copy_bytes(values, sums.lse + w.b * sums.padded + first, streamed * 4, full);
		hopper::copy_bytes(values + Plan::values, sums.delta + w.b * sums.padded + first, streamed * 4, full);
	}
}

// PairConsumer is a warpgroup that multiplies: the first one makes scores, the second one gradients of P.
template <class T, class Plan, int Group> struct PairConsumer {
	static constexpr bool of_keys = Plan::of_keys, has_rest = Group == 0 && Plan::rest > 0;
	static constexpr int own = Group * Plan::columns, rest_eights = has_rest ? Plan::rest / 8 : 1; // own: the first of its columns
	const Shape &s;
	const Sums &sums;
	Streams w;
	unsigned char *rows;
	uint32_t memory;
	int warp, lane;
	float sum[Plan::columns / 8][4], rest[rest_eights][4];

	__device__ uint32_t tile(int step) const { return memory + Plan::tiles + step % stages * Plan::tile; }
	__device__ unsigned char *pair(int step) const { return rows + Plan::pairs + step % 2 * Plan::pair; }
	__device__ void begin(float (&x)[4][4], int step) {
		hopper::barrier_wait(memory + Plan::full + 8 * (step % stages), step / stages % 2);
		if (Group == 0) begin_product<T, Plan::panels, panel_of(own_rows), panel_of(streamed)>(x, memory, tile(step));
		else begin_product<T, Plan::value_panels, panel_of(own_rows), panel_of(streamed)>(x, memory + (of_keys ? 0 : Plan::first_own),
		                                                                              tile(step) + (of_keys ? Plan::first_tile : 0));
	}
	// add starts the sums of a step.
	__device__ void add(int step) {
		const uint32_t weights = memory + Plan::pairs + step % 2 * Plan::pair, gradients = weights + streamed * 2, x = tile(step);
		hopper::fence();
		add_product<T, streamed>(sum, gradients, x + own / 64 * panel_of(streamed));
		if constexpr (of_keys && own < 64 * Plan::value_panels)
			add_product<T, streamed>(sum, weights, x + Plan::first_tile + own / 64 * panel_of(streamed));
		if constexpr (has_rest) add_product<T, streamed>(rest, gradients, x + 2 * Plan::columns / 64 * panel_of(streamed));
		hopper::commit();
	}
	// value is lse (0) or delta (1) of an element's row. known: of this thread's own rows, which stay.
	__device__ float value(const float (&known)[2], int step, int which, int n, int e) const {
		if (!of_keys) return known[e / 2];
		const unsigned char *const from = rows + Plan::statistics + (step % stages * 2 + which) * Plan::values;
		return reinterpret_cast<const float *>(from)[8 * n + lane % 4 * 2 + e % 2];
	}
	// weigh turns scores into P. from and to: which of the streamed ones an own row or key goes with.
	__device__ void weigh(float (&p)[4][4], int step, const float (&known)[2], const int (&from)[2], const int (&to)[2]) {
		const float factor = s.scale * log2_e;
#pragma unroll
		for (int n = 0; n < 4; n++)
#pragma unroll
			for (int e = 0; e < 4; e++) {
				const int other = (w.first + step) * streamed + 8 * n + lane % 4 * 2 + e % 2;
				const float x = hopper::power_of_two(fmaf(p[n][e], factor, -value(known, step, 0, n, e)));
				p[n][e] = other >= from[e / 2] && other < to[e / 2] ? x : 0.0f;
			}
		put_rounded<T>(pair(step), p, warp, lane, 0);
	}
	// grade turns gradients of P into dS; where P is 0, it is 0.
	__device__ void grade(float (&ds)[4][4], int step, const float (&known)[2]) {
#pragma unroll
		for (int n = 0; n < 4; n++)
#pragma unroll
			for (int half = 0; half < 2; half++) {
				const uint32_t word = *reinterpret_cast<const uint32_t *>(pair(step) + word_at(warp, lane, half, 8 * n));
				const T *const p = reinterpret_cast<const T *>(&word);
#pragma unroll
				for (int e = 0; e < 2; e++)
					ds[n][2 * half + e] = to_float(p[e]) * (ds[n][2 * half + e] - value(known, step, 1, n, 2 * half + e)) * s.scale;
			}
		put_rounded<T>(pair(step), ds, warp, lane, streamed);
	}
	// pairs makes P or dS of a step from its product, for both warpgroups.
	__device__ void pairs(float (&x)[4][4], int step, const float (&known)[2], const int (&from)[2], const int (&to)[2]) {
		if (Group == 0) {
			weigh(x, step, known, from, to);
			hopper::named_arrive(Plan::weights_ready, 2 * warpgroup);
		} else {
			hopper::named_sync(Plan::weights_ready, 2 * warpgroup);
			grade(x, step, known);
		}
		hopper::fence_stores();
		hopper::named_sync(Plan::pairs_ready, 2 * warpgroup);
	}
	__device__ void take_all(const float (&known)[2], const int (&from)[2], const int (&to)[2]) {
		float x[4][4];
		hopper::barrier_wait(memory + Plan::own_full, 0);
		hopper::fence();
		begin(x, 0);
		hopper::wait_for<0>();
		hopper::changed(x);
		pairs(x, 0, known, from, to);
		for (int step = 0; step + 1 < w.steps; step++) {
			add(step);
			begin(x, step + 1);
			hopper::wait_for<1>();
			hopper::changed(sum);
			hopper::changed(rest);
			if (lane == 0) hopper::barrier_arrive(memory + Plan::empty + 8 * (step % stages));
			hopper::wait_for<0>();
			hopper::changed(x);
			pairs(x, step + 1, known, from, to);
		}
		add(w.steps - 1);
		hopper::wait_for<0>();
		hopper::changed(sum);
		hopper::changed(rest);
	}
	template <class To> __device__ void finish(To *to, int count) {
		const auto store = [&](const auto &sums, int column) {
			hopper::store_wide(sums, hopper::SumsPlace<To>{to, count, s.dim, w.own + 16 * warp + lane / 4, column}, [](float x) { return x; });
		};
		store(sum, own);
		if constexpr (has_rest) store(rest, 2 * Plan::columns);
	}
};

// What a warpgroup does.
template <class T, class Plan, int Group>
__device__ inline void take_streams(const Backward<T> &a, const Sums &sums, const Streams &w, unsigned char *rows, uint32_t memory, int warp,
                                    int lane) {
	const Shape &s = a.s;
	PairConsumer<T, Plan, Group> c = {s, sums, w, rows, memory, warp, lane, {}, {}};
	float known[2] = {};
	int from[2], to[2];
#pragma unroll
	for (int half = 0; half < 2; half++) {
		const int own = w.own + 16 * warp + lane / 4 + 8 * half;
		const bool there = own < (Plan::of_keys ? s.keys : s.rows());
		from[half] = Plan::of_keys ? s.first_row(own) : 0;
		to[half] = !there ? 0 : Plan::of_keys ? s.rows() : s.visible(own);
		if (!Plan::of_keys) known[half] = (Group == 0 ? sums.lse : sums.delta)[w.b * sums.padded + own];
	}
	if (w.steps > 0) c.take_all(known, from, to);
	if constexpr (Plan::of_keys) c.finish(sums.grad_kv + (w.part * s.batch + w.b) * s.keys * s.dim, s.keys);
	else c.finish(a.grad_q + w.b * s.rows() * s.dim, s.rows());
}
#endif

template <class T, class Plan>
__global__ void __launch_bounds__(wide_threads, 1)
    tma_backward(const __grid_constant__ Backward<T> a, const __grid_constant__ hopper::HeadMap q, const __grid_constant__ hopper::HeadMap grads,
                 const __grid_constant__ hopper::HeadMap keys, const __grid_constant__ Sums sums) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	extern __shared__ __align__(128) unsigned char sm90_memory[];
	unsigned char *const rows = aligned_memory(sm90_memory);
	const uint32_t memory = hopper::shared_address(rows);
	if (threadIdx.x == 0) {
		hopper::barrier_init(memory + Plan::own_full, 1);
		for (int stage = 0; stage < stages; stage++) {
			hopper::barrier_init(memory + Plan::full + 8 * stage, 1);
			hopper::barrier_init(memory + Plan::empty + 8 * stage, 2 * warpgroup / 32);
		}
		hopper::fence_init();
	}
	__syncthreads();
	const Streams w = Streams::of<Plan::of_keys>(a.s, Plan::of_keys ? sums.parts : 1);
	const int warp = __shfl_sync(all_lanes, static_cast<int>(threadIdx.x) / 32, 0), lane = static_cast<int>(threadIdx.x) % 32;
	if (warp < 4) {
		hopper::give_registers<producer_registers>();
		if (threadIdx.x == 0) bring_tiles<Plan>(&q, &grads, &keys, sums, w, memory);
		return;
	}
	hopper::take_registers<consumer_registers>();
	if (warp < 8) take_streams<T, Plan, 0>(a, sums, w, rows, memory, warp % 4, lane);
	else take_streams<T, Plan, 1>(a, sums, w, rows, memory, warp % 4, lane);
#endif
}

constexpr int prepare_threads = 256;

// A warp for each row, 8 columns a lane at a time: lse to the base 2 and delta.
template <class T> __global__ void __launch_bounds__(prepare_threads) tma_prepare(const Backward<T> a, const Sums sums) {
	const Shape &s = a.s;
	const int64_t number = static_cast<int64_t>(blockIdx.x) * (prepare_threads / warp_size) + threadIdx.x / warp_size, b = number / sums.padded;
	const int row = static_cast<int>(number % sums.padded), lane = static_cast<int>(threadIdx.x) % warp_size;
	if (b >= s.batch) return;
	float part = 0;
	if (row < s.rows())
		for (int c = 8 * lane; c < s.dim_v; c += 8 * warp_size) {
			float x[8], y[8];
			load(a.o.row(b, row) + c, x);
			load(a.grad_o.row(b, row) + c, y);
#pragma unroll
			for (int e = 0; e < 8; e++) part += x[e] * y[e];
		}
	part = warp_reduce(part, Sum());
	if (lane != 0) return;
	const float lse = row < s.rows() ? a.lse[s.statistic(b, row)] : -INFINITY;
	sums.delta[number] = part;
	sums.lse[number] = lse == -INFINITY ? INFINITY : lse * log2_e;
}

// Eight elements of grad_kv a thread: the parts, in order.
template <class T> __global__ void __launch_bounds__(prepare_threads) tma_join(T *grad_kv, const Sums sums, int64_t elements) {
	const int64_t i = (static_cast<int64_t>(blockIdx.x) * prepare_threads + threadIdx.x) * 8;
	if (i >= elements) return;
	float sum[8] = {};
	for (int part = 0; part < sums.parts; part++) {
		float x[8];
		load(sums.grad_kv + part * elements + i, x);
#pragma unroll
		for (int e = 0; e < 8; e++) sum[e] += x[e];
	}
	store(grad_kv + i, sum);
}

inline int64_t tma_workspace(const triad_call *call) {
	Room room(call);
	Sums(Shape(call), room);
	return room.used;
}

template <class T, class Plan> int launch_gradient(const Backward<T> &a, const Sums &sums, cudaStream_t stream) {
	const Shape &s = a.s;
	constexpr int rows = Plan::of_keys ? streamed : own_rows, keys = Plan::of_keys ? own_rows : streamed;
	const int64_t tiles = s.batch * (((Plan::of_keys ? s.keys : s.rows()) + own_rows - 1) / own_rows);
	if (tiles == 0) return TRIAD_OK;
	hopper::HeadMap of_q = {}, of_grads = {}, of_keys = {};
	if (const int status = map_rows(&of_q, a.q.data, s.batch, s.rows(), s.dim, rows)) return status;
	if (const int status = map_rows(&of_grads, a.grad_o.data, s.batch, s.rows(), s.dim_v, rows)) return status;
	if (const int status = map_rows(&of_keys, a.kv.data, s.batch, s.keys, s.dim, keys)) return status;
	if (const int status = cudaFuncSetAttribute(tma_backward<T, Plan>, cudaFuncAttributeMaxDynamicSharedMemorySize, Plan::bytes)) return status;
	const int64_t blocks = tiles * (Plan::of_keys ? sums.parts : 1);
	tma_backward<T, Plan><<<static_cast<unsigned>(blocks), wide_threads, Plan::bytes, stream>>>(a, of_q, of_grads, of_keys, sums);
	return launched();
}

template <class T, class Of> int launch_backward(const Backward<T> &a, const Sums &sums, cudaStream_t stream) {
	const Shape &s = a.s;
	if (s.all_rows() > 0) tma_prepare<T><<<blocks_for(s.batch * sums.padded, prepare_threads / warp_size), prepare_threads, 0, stream>>>(a, sums);
	if (const int status = launched()) return status;
	if (a.grad_q)
		if (const int status = launch_gradient<T, BackwardPlan<Of, false>>(a, sums, stream)) return status;
	if (!a.grad_kv) return TRIAD_OK;
	if (const int status = launch_gradient<T, BackwardPlan<Of, true>>(a, sums, stream)) return status;
	const int64_t elements = s.batch * s.keys * s.dim;
	if (elements > 0) tma_join<T><<<blocks_for(elements, 8 * prepare_threads), prepare_threads, 0, stream>>>(a.grad_kv, sums, elements);
	return launched();
}

template <class T> int backward_tma(const triad_call *call) {
	const Backward<T> a(call);
	Room room(call);
	const Sums sums(a.s, room);
	return Small::holds(a.s.dim, a.s.dim_v) ? launch_backward<T, Small>(a, sums, stream_of(call)) : launch_backward<T, Large>(a, sums, stream_of(call));
}

} // namespace mla
} // namespace triad
#endif
