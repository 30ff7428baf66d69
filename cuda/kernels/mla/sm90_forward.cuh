// sm90_forward.cuh: attention over latent rows on Hopper's tensor cores (sm_90a), forward: o = softmax(scale q . c) v for 64 rows a block, which are 64
// heads of a query where there are as many. Online softmax in fp32, P rounded to 16 bits.
//   One thread has the copy engine fill a ring of two tiles of 64 keys. The two warpgroups that multiply share each tile: of the scores each has
//   half of the keys, of the sums half of the columns. So both need both halves of P, which go through shared memory. At each tile:
//
//       wait for O, free the tile      ------ tensor cores ------    ------ this warpgroup ------
//       wait for S                     S                             largest scores to shared memory
//       barrier                                                      P = exp2(S - largest), rounded, to shared memory; rescale O
//       barrier
//       start  O += P V                O
//       wait for keys, start  S = Q K^T   O, S                       (the copy engine brings the tile after)
//
//   The other way round, S of the next tile before O, exponentials would run under O, but a ring of two tiles is not full by then: queries and two
//   tiles are 216 of 227 KB.
#ifndef TRIAD_MLA_SM90_FORWARD_CUH
#define TRIAD_MLA_SM90_FORWARD_CUH
#include "latent/sm90_tiles.cuh"
#include "latent/whole_naive.cuh"

namespace triad {
namespace mla {

using namespace latent;

// ForwardPlan divides a block's shared memory.
template <class Of> struct ForwardPlan : Of {
	static constexpr int keys = 64, half = keys / 2, tile = Of::panels * panel_of(keys);
	static constexpr int q_bytes = Of::panels * panel_of(own_rows), tiles = q_bytes, weights = tiles + stages * tile;
	static constexpr int tops = weights + panel_of(own_rows), totals = tops + 2 * own_rows * 4; // of each warpgroup
	static constexpr int q_full = totals + 2 * own_rows * 4, full = q_full + 8, empty = full + 8 * stages, used = empty + 8 * stages;
	static constexpr int bytes = used + hopper::tile_alignment;
	static constexpr int tops_ready = 1, weights_ready = 2; // named barriers
};

// RowWork is what a block does: 64 rows of a batch entry, and the tiles of keys that some of them see.
struct RowWork {
	int64_t b;
	int first, tiles;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
template <class T, class Plan, int Group> struct RowConsumer {
	static constexpr int columns = Plan::columns;
	static constexpr bool has_values = Group * columns < 64 * Plan::value_panels;
	const Forward<T> &a;
	RowWork w;
	unsigned char *rows;
	uint32_t memory;
	int warp, lane;
	float o[columns / 8][4], max[2], total[2];

	__device__ uint32_t tile(int number) const { return memory + Plan::tiles + number % stages * Plan::tile; }
	__device__ float *statistics(int at, int of) const { return reinterpret_cast<float *>(rows + at) + of * own_rows + 16 * warp + lane / 4; }
	__device__ void begin_scores(float (&s)[4][4], int number) {
		hopper::barrier_wait(memory + Plan::full + 8 * (number % stages), number / stages % 2);
		begin_product<T, Plan::panels, panel_of(own_rows), panel_of(Plan::keys)>(s, memory, tile(number) + Group * panel_of(Plan::half));
	}
	__device__ void add_values(int number) {
		hopper::fence();
		if (has_values) add_product<T, Plan::keys>(o, memory + Plan::weights, tile(number) + Group * (columns / 64) * panel_of(Plan::keys));
		hopper::commit();
	}
	// weigh turns scores of a tile into P and puts it into shared memory; O and the totals are rescaled.
	__device__ void weigh(float (&s)[4][4], int number, const int (&seen)[2]) {
		float top[2] = {max[0], max[1]};
#pragma unroll
		for (int n = 0; n < 4; n++)
#pragma unroll
			for (int e = 0; e < 4; e++) {
				const int key = number * Plan::keys + Group * Plan::half + 8 * n + lane % 4 * 2 + e % 2;
				s[n][e] = key < seen[e / 2] ? __fmul_rn(s[n][e], a.s.scale) : -INFINITY; // not one with the subtraction that follows
				top[e / 2] = fmaxf(top[e / 2], s[n][e]);
			}
#pragma unroll
		for (int half = 0; half < 2; half++) {
			top[half] = warp_reduce<4>(top[half], Max());
			if (lane % 4 == 0) statistics(Plan::tops, Group)[8 * half] = top[half];
		}
		hopper::named_sync(Plan::tops_ready, 2 * warpgroup);
		float fall[2];
#pragma unroll
		for (int half = 0; half < 2; half++) {
			top[half] = fmaxf(top[half], statistics(Plan::tops, 1 - Group)[8 * half]);
			fall[half] = hopper::power_of_two((max[half] - base(top[half])) * log2_e);
			float more = 0;
#pragma unroll
			for (int n = 0; n < 4; n++)
#pragma unroll
				for (int e = 2 * half; e < 2 * half + 2; e++) more += s[n][e] = hopper::power_of_two((s[n][e] - base(top[half])) * log2_e);
			total[half] = total[half] * fall[half] + more;
			max[half] = top[half];
		}
		put_rounded<T>(rows + Plan::weights, s, warp, lane, Group * Plan::half);
		hopper::fence_stores();
		hopper::named_sync(Plan::weights_ready, 2 * warpgroup);
		if (!__any_sync(all_lanes, !(fall[0] == 1 && fall[1] == 1))) return; // no new largest score
#pragma unroll
		for (int n = 0; n < columns / 8; n++)
#pragma unroll
			for (int e = 0; e < 4; e++) o[n][e] *= fall[e / 2];
	}
	__device__ void take_all(const int (&seen)[2]) {
		float s[4][4];
		hopper::barrier_wait(memory + Plan::q_full, 0);
		hopper::fence();
		begin_scores(s, 0);
		hopper::wait_for<0>();
		hopper::changed(s);
		weigh(s, 0, seen);
		for (int number = 0; number + 1 < w.tiles; number++) {
			add_values(number);
			begin_scores(s, number + 1);
			hopper::wait_for<1>();
			hopper::changed(o);
			if (lane == 0) hopper::barrier_arrive(memory + Plan::empty + 8 * (number % stages));
			hopper::wait_for<0>();
			hopper::changed(s);
			weigh(s, number + 1, seen);
		}
		add_values(w.tiles - 1);
		hopper::wait_for<0>();
		hopper::changed(o);
	}
	__device__ void finish(const int (&seen)[2]) {
#pragma unroll
		for (int half = 0; half < 2; half++) {
			total[half] = warp_reduce<4>(total[half], Sum());
			if (lane % 4 == 0) statistics(Plan::totals, Group)[8 * half] = total[half];
		}
		hopper::named_sync(Plan::weights_ready, 2 * warpgroup);
		const int row = w.first + 16 * warp + lane / 4;
		float inverse[2];
#pragma unroll
		for (int half = 0; half < 2; half++) {
			total[half] += statistics(Plan::totals, 1 - Group)[8 * half];
			inverse[half] = seen[half] > 0 ? 1.0f / total[half] : 0.0f;
			if (a.lse != nullptr && Group == 0 && lane % 4 == 0 && row + 8 * half < a.s.rows())
				a.lse[a.s.statistic(w.b, row + 8 * half)] = seen[half] > 0 ? log_of(max[half], total[half]) : -INFINITY;
		}
#pragma unroll
		for (int n = 0; n < columns / 8; n++)
#pragma unroll
			for (int e = 0; e < 4; e++) o[n][e] *= inverse[e / 2];
		const hopper::SumsPlace<T> to = {a.o + w.b * a.s.rows() * a.s.dim_v, a.s.rows(), a.s.dim_v, row, Group * columns};
		hopper::store_wide(o, to, [](float x) { return x; });
	}
};

// What the producer's one thread does.
template <class Plan> __device__ inline void bring_keys(const hopper::HeadMap *q, const hopper::HeadMap *kv, const RowWork &w, uint32_t memory) {
	if (w.tiles == 0) return;
	hopper::barrier_arrive_expecting(memory + Plan::q_full, Plan::q_bytes);
	copy_panels<own_rows, Plan::panels>(memory, q, w.first, w.b, memory + Plan::q_full);
	for (int number = 0; number < w.tiles; number++) {
		const int stage = number % stages;
		hopper::barrier_wait(memory + Plan::empty + 8 * stage, number / stages % 2 ^ 1);
		hopper::barrier_arrive_expecting(memory + Plan::full + 8 * stage, Plan::tile);
		copy_panels<Plan::keys, Plan::panels>(memory + Plan::tiles + stage * Plan::tile, kv, number * Plan::keys, w.b, memory + Plan::full + 8 * stage);
	}
}

template <class T, class Plan, int Group>
__device__ inline void take_rows(const Forward<T> &a, const RowWork &w, unsigned char *rows, uint32_t memory, int warp, int lane) {
	RowConsumer<T, Plan, Group> c = {a, w, rows, memory, warp, lane, {}, {-INFINITY, -INFINITY}, {}};
	const int row = w.first + 16 * warp + lane / 4;
	const int seen[2] = {row < a.s.rows() ? a.s.visible(row) : 0, row + 8 < a.s.rows() ? a.s.visible(row + 8) : 0};
	if (w.tiles > 0) c.take_all(seen);
	c.finish(seen);
}
#endif

template <class T, class Plan>
__global__ void __launch_bounds__(wide_threads, 1)
    tma_forward(const __grid_constant__ Forward<T> a, const __grid_constant__ hopper::HeadMap q, const __grid_constant__ hopper::HeadMap kv,
                int tiles) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	extern __shared__ __align__(128) unsigned char sm90_memory[];
	unsigned char *const rows = aligned_memory(sm90_memory);
	const uint32_t memory = hopper::shared_address(rows);
	if (threadIdx.x == 0) {
		hopper::barrier_init(memory + Plan::q_full, 1);
		for (int stage = 0; stage < stages; stage++) {
			hopper::barrier_init(memory + Plan::full + 8 * stage, 1);
			hopper::barrier_init(memory + Plan::empty + 8 * stage, 2 * warpgroup / 32);
		}
		hopper::fence_init();
	}
	__syncthreads();
	const Shape &s = a.s;
	RowWork w = {blockIdx.x / tiles, (tiles - 1 - static_cast<int>(blockIdx.x % tiles)) * own_rows, 0}; // the longest work comes first
	w.tiles = (s.visible(min(w.first + own_rows, s.rows()) - 1) + Plan::keys - 1) / Plan::keys;
	const int warp = __shfl_sync(all_lanes, static_cast<int>(threadIdx.x) / 32, 0), lane = static_cast<int>(threadIdx.x) % 32;
	if (warp < 4) {
		hopper::give_registers<producer_registers>();
		if (threadIdx.x == 0) bring_keys<Plan>(&q, &kv, w, memory);
		return;
	}
	hopper::take_registers<consumer_registers>();
	if (warp < 8) take_rows<T, Plan, 0>(a, w, rows, memory, warp % 4, lane);
	else take_rows<T, Plan, 1>(a, w, rows, memory, warp % 4, lane);
#endif
}

template <class T, class Plan> int launch_forward(const Forward<T> &a, cudaStream_t stream) {
	const Shape &s = a.s;
	const int tiles = (s.rows() + own_rows - 1) / own_rows;
	if (s.batch * tiles == 0) return TRIAD_OK;
	hopper::HeadMap q = {}, kv = {};
	if (const int status = map_rows(&q, a.q.data, s.batch, s.rows(), s.dim, own_rows)) return status;
	if (const int status = map_rows(&kv, a.kv.data, s.batch, s.keys, s.dim, Plan::keys)) return status;
	if (const int status = cudaFuncSetAttribute(tma_forward<T, Plan>, cudaFuncAttributeMaxDynamicSharedMemorySize, Plan::bytes)) return status;
	tma_forward<T, Plan><<<static_cast<unsigned>(s.batch * tiles), wide_threads, Plan::bytes, stream>>>(a, q, kv, tiles);
	return launched();
}

template <class T> int forward_tma(const triad_call *call) {
	const Forward<T> a(call);
	if (Small::holds(a.s.dim, a.s.dim_v)) return launch_forward<T, ForwardPlan<Small>>(a, stream_of(call));
	return launch_forward<T, ForwardPlan<Large>>(a, stream_of(call));
}

} // namespace mla
} // namespace triad
#endif
