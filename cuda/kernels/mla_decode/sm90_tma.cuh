// sm90_tma.cuh: attention over latent rows of a paged cache on Hopper's tensor cores (sm_90a): 64 rows a block, which are heads of a sequence's queries,
// and a part of the work of sm90_schedule.cuh. Online softmax in fp32, P rounded to 16 bits. Rows of 576, values of 512.
//   One thread has the copy engine bring q, and pages of 64 tokens into two slots, 64 columns at a time, each with a barrier: products begin as they
//   arrive. A slot is freed by halves of the columns of v. Two warpgroups multiply:
//   the first makes scores of even pages, the second of odd ones; of the sums each has 256 columns, over all pages. So each page's P is the operand of
//   both: of its maker in registers, of the other in shared memory, in the 64 columns of the page that are no values. At each pair of pages:
//
//       warpgroup 1                                        warpgroup 2
//       S = Q K^T of the even page, wait                   S = Q K^T of the odd page, wait
//       P, to shared memory; arrive                        wait for P
//       rescale O, start O += P V of the even page         rescale O, start O += P V of the even page
//                                                          P, to shared memory; arrive
//       wait for O, free half of the even page             wait for O, free half of the even page
//       wait for P; rescale O, O += P V of the odd page    rescale O, O += P V of the odd page
//       wait for O, free half of the odd page              wait for O, free half of the odd page
//
//   Where a sequence has an even number of groups of 64 rows, two blocks of a cluster have the same pages: each brings half of the columns for both.
//   One's exponentials run beside the other's products. What lies in a page past the last token that a row of the block sees is overwritten by zeros,
//   as P is 0 there, and 0 NaN is NaN. Of two queries of one block a token that only one sees must be finite.
//   Clocks of a pair of pages: tensor cores 4,352; shared memory 4,736, of which scores 2,304, values 1,152, copies 1,152, P 128; two halves of a
//   softmax and two of rescaling stand between. Predicted 5,700 with waiting, measured 6,000, of which a slot waits 2,700 for its page. Its 147 KB take
//   8,600 at the memory's rate, half of that where two groups of heads share them. Short calls wait for instructions: one copy of the loop, not one for
//   each case, made calls of 60 us 10 us shorter.
// Source   FlashMLA's schedule of two warpgroups that share one output (DeepSeek-AI 2025, "A Deep-Dive Into The New Flash MLA Kernel"), in another order
#ifndef TRIAD_MLA_DECODE_SM90_TMA_CUH
#define TRIAD_MLA_DECODE_SM90_TMA_CUH
#include "hopper/cluster.cuh"
#include "sm90_schedule.cuh"

namespace triad {
namespace latent {

// TmaPlan divides a block's shared memory: q, two slots of a page, maxima and totals of each warpgroup, barriers.
struct TmaPlan : Large {
	static constexpr int panel = panel_of(page), slot = panels * panel, slots = slot, tops = slots + 2 * slot, totals = tops + 2 * own_rows * 4;
	static constexpr int q_full = totals + 2 * own_rows * 4, q_empty = q_full + 8, full = q_empty + 8, empty = full + 2 * panels * 8, used = empty + 4 * 8;
	static constexpr int bytes = used + hopper::tile_alignment;
	static constexpr int even_ready = 1, odd_ready = 2, totals_ready = 3, together = 4; // named barriers; the last one of each warpgroup
	static constexpr int rest = value_panels; // the panel that has no values, and then P
	static constexpr int ahead = 4; // pages
	static constexpr int producer_registers = 40, consumer_registers = 232;

	// Half h of a slot's columns has the panels from 4 h on; the half that is brought last has the rest too. Warpgroup h frees it.
	__device__ static int empty_at(int slot, int half) { return empty + 8 * (2 * slot + half); }
	__device__ static int full_at(int slot, int panel) { return full + 8 * (panels * slot + panel); }
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// bring_panel brings 64 columns of a page to the same place in each block of the cluster.
template <int Blocks> __device__ inline void bring_panel(uint32_t memory, int slot, int panel, const hopper::HeadMap *cache, int block) {
	using Plan = TmaPlan;
	const uint32_t to = memory + Plan::slots + slot * Plan::slot + panel * Plan::panel, full = memory + Plan::full_at(slot, panel);
	if constexpr (Blocks > 1) hopper::copy_rows_to_each(to, cache, 64 * panel, 0, 0, block, full, (1 << Blocks) - 1);
	else hopper::copy_rows(to, cache, 64 * panel, 0, 0, block, full);
}

// What the producer's one thread does. Of two blocks each brings the half of its own rank.
template <class T, int Blocks>
__device__ inline void bring_pages(const Decode<T> &a, const hopper::HeadMap *q, const hopper::HeadMap *cache, Range range, int group, int groups,
                                   int rank, uint32_t memory) {
	using Plan = TmaPlan;
	uint32_t phases = 7; // bits: of the slots, and of q
	for (Piece w; range.next(a, w);) {
		const int end = min(w.end, (a.lengths(w.b) + page - 1) / page);
		if (w.first >= end) continue;
		const int32_t *entry = &a.table(w.b, w.first);
		const int64_t step = a.table.col_stride;
		int block = *entry, far = w.first + Plan::ahead < end ? entry[Plan::ahead * step] : -1; // a page that is fetched into the L2 cache
		hopper::barrier_wait(memory + Plan::q_empty, phases >> 2);
		phases ^= 4;
		hopper::barrier_arrive_expecting(memory + Plan::q_full, Plan::slot);
		copy_panels<own_rows, Plan::panels>(memory, q, group * own_rows, w.b, memory + Plan::q_full);
#pragma unroll 1
		for (int number = w.first; number < end; number++) {
			const int slot = number % 2, next = number + 1 < end ? *(entry += step) : 0;
			if (far >= 0 && number % groups == group) hopper::prefetch_bytes(a.rows_at(far), Plan::slot);
			far = number + 1 + Plan::ahead < end ? entry[Plan::ahead * step] : -1;
			const uint32_t parity = phases >> slot & 1;
			const auto expect = [&](int panel) { hopper::barrier_arrive_expecting(memory + Plan::full_at(slot, panel), Plan::panel); };
			if constexpr (Blocks > 1) { // the other half comes from the other block
				const auto wait_and_expect = [&](int panel) {
					hopper::barrier_wait(memory + Plan::full_at(slot, panel), parity); // the one before has come
					expect(panel);
				};
#pragma unroll
				for (int p = 0; p < 4; p++) wait_and_expect(4 * (1 - rank) + p);
				if (rank == slot) wait_and_expect(Plan::rest);
			}
#pragma unroll
			for (int k = 0; k < 2; k++) {
				const int half = k == 0 ? slot : 1 - slot;
				if (Blocks > 1 && half != rank) continue;
				hopper::barrier_wait(memory + Plan::empty_at(slot, half), parity);
#pragma unroll
				for (int p = 0; p < 4 + k; p++) {
					const int panel = p < 4 ? 4 * half + p : Plan::rest;
					expect(panel);
					bring_panel<Blocks>(memory, slot, panel, cache, block);
				}
			}
			phases ^= 1u << slot;
			block = next;
		}
	}
	if constexpr (Blocks > 1) // the other block's last arrivals
		for (int slot = 0; slot < 2; slot++) hopper::barrier_wait(memory + Plan::empty_at(slot, rank), phases >> slot & 1);
}

// PageConsumer is a warpgroup that multiplies: its scores are those of slot Group, its sums the columns from 256 Group on.
template <class T, int Blocks, int Group> struct PageConsumer {
	using Plan = TmaPlan;
	static constexpr int columns = Plan::columns;
	const Decode<T> &a;
	const Schedule &schedule;
	unsigned char *rows;
	uint32_t memory;
	int group, quarter, lane; // quarter: the warp of the four
	uint32_t phases;  // bits: of the slots, and of q
	int b, seen[2], seen_by_all; // the sequence, and how many tokens the thread's two rows see, and each row
	float o[columns / 8][4], max[2], total[2];

	__device__ uint32_t slot(int number) const { return memory + Plan::slots + number * Plan::slot; }
	__device__ uint32_t values(int number) const { return slot(number) + 4 * Group * Plan::panel; }
	__device__ float *statistics(int at, int of) const { return reinterpret_cast<float *>(rows + at) + of * own_rows + 16 * quarter + lane / 4; }
	__device__ void await_panel(int number, int panel) const { hopper::barrier_wait(memory + Plan::full_at(number, panel), phases >> number & 1); }
	__device__ void free_half(int number) {
		const uint32_t empty = memory + Plan::empty_at(number, Group);
		if constexpr (Blocks > 1) {
			if (lane == 0) hopper::barrier_arrive_at(empty, Group);
		} else {
			if (lane == 0) hopper::barrier_arrive(empty);
		}
		phases ^= 1u << number;
	}
	__device__ void free_q() const {
		if (lane == 0) hopper::barrier_arrive(memory + Plan::q_empty);
	}
	__device__ void begin_scores(float (&s)[8][4]) const {
		const uint32_t x = slot(Group);
#pragma unroll
		for (int k = 0; k < Plan::panels; k++) {
			const int panel = k == Plan::rest ? k : (k + 4 * Group) % 8;
			await_panel(Group, panel);
			hopper::fence(); // where ptxas has to add one behind a branch it waits for each product
			multiply_panels<T, 1, Plan::panel, Plan::panel>(s, memory + panel * Plan::panel, x + panel * Plan::panel, k > 0);
		}
		hopper::commit();
	}
	// scale_scores makes sums of products scores; what a row does not see is -inf.
	__device__ void scale_scores(float (&s)[8][4], int number) const {
#pragma unroll
		for (int n = 0; n < 8; n++)
#pragma unroll
			for (int e = 0; e < 4; e++) s[n][e] = __fmul_rn(s[n][e], a.scale); // not one with the subtraction that follows
		if (all_see(number)) return;
#pragma unroll
		for (int n = 0; n < 8; n++)
#pragma unroll
			for (int e = 0; e < 4; e++)
				if (number * page + 8 * n + lane % 4 * 2 + e % 2 >= seen[e / 2]) s[n][e] = -INFINITY;
	}
	// weigh turns scores of a page into weights, fp32; fall is what sums of the largest score before are worth.
	__device__ void weigh(float (&s)[8][4], float (&fall)[2]) {
		float top[2] = {max[0], max[1]}, more[2] = {0, 0};
#pragma unroll
		for (int n = 0; n < 8; n++)
#pragma unroll
			for (int e = 0; e < 4; e++) top[e / 2] = fmaxf(top[e / 2], s[n][e]);
#pragma unroll
		for (int half = 0; half < 2; half++) top[half] = warp_reduce<4>(top[half], Max());
#pragma unroll
		for (int n = 0; n < 8; n++)
#pragma unroll
			for (int e = 0; e < 4; e++) more[e / 2] += s[n][e] = hopper::power_of_two((s[n][e] - base(top[e / 2])) * log2_e);
		raise(top, fall);
		total[0] += more[0], total[1] += more[1];
	}
	// put rounds weights to P, in registers and in shared memory; tell lets the other warpgroup have it.
	__device__ void put(const float (&s)[8][4], uint32_t (&p)[4][4]) {
#pragma unroll
		for (int half = 0; half < 2; half++)
			if (lane % 4 == 0) statistics(Plan::tops, Group)[8 * half] = max[half];
		hopper::named_sync(Plan::together + Group, warpgroup); // all four warps have their scores: the product has read the panel that P goes to
		unsigned char *const to = rows + Plan::slots + Group * Plan::slot + Plan::rest * Plan::panel;
#pragma unroll
		for (int n = 0; n < 8; n++)
#pragma unroll
			for (int half = 0; half < 2; half++) {
				p[n / 2][n % 2 * 2 + half] = hopper::pack_pair<T>(s[n][2 * half], s[n][2 * half + 1]);
				*reinterpret_cast<uint32_t *>(to + word_at(quarter, lane, half, 8 * n)) = p[n / 2][n % 2 * 2 + half];
			}
	}
	// raise takes a new largest score; fall is what sums of the one before are worth.
	__device__ void raise(const float (&top)[2], float (&fall)[2]) {
#pragma unroll
		for (int half = 0; half < 2; half++) {
			fall[half] = hopper::power_of_two((max[half] - base(top[half])) * log2_e);
			total[half] *= fall[half];
			max[half] = top[half];
		}
	}
	__device__ void tell() const {
		hopper::fence_stores();
		hopper::named_arrive(Group == 0 ? Plan::even_ready : Plan::odd_ready, 2 * warpgroup);
	}
	// follow waits for the other warpgroup's P and takes over its largest scores.
	__device__ void follow(float (&fall)[2]) {
		hopper::named_sync(Group == 0 ? Plan::odd_ready : Plan::even_ready, 2 * warpgroup);
		const float top[2] = {statistics(Plan::tops, 1 - Group)[0], statistics(Plan::tops, 1 - Group)[8]};
		raise(top, fall);
	}
	__device__ void rescale(const float (&fall)[2]) {
		if (!__any_sync(all_lanes, !(fall[0] == 1 && fall[1] == 1))) return; // no new largest score
#pragma unroll
		for (int n = 0; n < columns / 8; n++)
#pragma unroll
			for (int e = 0; e < 4; e++) o[n][e] *= fall[e / 2];
	}
	// clear overwrites this warpgroup's columns of v of tokens that no row sees.
	__device__ void clear(int number) const {
		if (all_see(number)) return;
		int tokens = seen_by_any() - number * page;
		if (tokens >= page) return;
		if (tokens < 0) tokens = 0;
		unsigned char *const v = rows + Plan::slots + number % 2 * Plan::slot + 4 * Group * Plan::panel;
		for (int x = 8 * tokens + static_cast<int>(threadIdx.x) % warpgroup; x < 8 * page; x += warpgroup)
#pragma unroll
			for (int p = 0; p < 4; p++) *reinterpret_cast<uint4 *>(v + p * Plan::panel + 16 * x) = make_uint4(0, 0, 0, 0);
		hopper::fence_stores();
		hopper::named_sync(Plan::together + Group, warpgroup);
	}
	// add starts O += P V with P of this warpgroup, add_other with the other one's.
	__device__ void add(const uint32_t (&p)[4][4]) {
		const uint64_t v = hopper::across_descriptor(again(values(Group)), Plan::panel);
		hopper::fence();
#pragma unroll
		for (int k = 0; k < 4; k++) hopper::WarpgroupMultiply<T>::registers(o, p[k], hopper::advanced(v, 16 * k * hopper::tile_row_bytes));
		hopper::commit();
	}
	__device__ void add_other() {
		hopper::fence();
		add_product<T, page>(o, slot(1 - Group) + Plan::rest * Plan::panel, values(1 - Group));
		hopper::commit();
	}
	// take_pair takes an even page and, with two, the odd one after it; last: of a piece. That a page is there is known from P of the warpgroup that has
	// waited for it. All cases are one function, as its instructions are fetched from memory first.
	__device__ void take_pair(int number, bool two, bool last) {
		float s[8][4], fall[2];
		uint32_t p[4][4];
		if constexpr (Group == 0) {
			begin_scores(s);
			hopper::wait_for<0>();
			hopper::changed(s);
			if (last) free_q();
			scale_scores(s, number);
			weigh(s, fall);
			put(s, p);
			tell();
			rescale(fall);
			clear(number);
			add(p);
			hopper::wait_for<0>();
			hopper::changed(o);
			free_half(0);
			if (!two) return;
			follow(fall);
			rescale(fall);
			clear(number + 1);
			add_other();
		} else {
			if (!two) {
				take_other(number);
				return;
			}
			begin_scores(s);
			hopper::wait_for<0>(); // ptxas would, before O is rescaled
			hopper::changed(s);
			if (last) free_q();
			scale_scores(s, number + 1); // not beside a product, because of its branch
			follow(fall);
			rescale(fall);
			clear(number);
			add_other();
			weigh(s, fall);
			put(s, p);
			tell();
			hopper::wait_for<0>();
			hopper::changed(o);
			free_half(0);
			rescale(fall);
			clear(number + 1);
			add(p);
		}
		hopper::wait_for<0>();
		hopper::changed(o);
		free_half(1);
	}
	// take_other is what the second warpgroup does with an even page that is the last.
	__device__ void take_other(int number) {
		float fall[2];
		free_q();
		follow(fall);
		rescale(fall);
		clear(number);
		add_other();
		hopper::wait_for<0>();
		hopper::changed(o);
		free_half(0);
	}
	__device__ bool all_see(int number) const { return (number + 1) * page <= seen_by_all; }
	__device__ int seen_by_any() const { return a.visible(b, (min((group + 1) * own_rows, a.seq_q * a.heads) - 1) / a.heads); }
	__device__ int row() const { return hopper::fresh(group * own_rows + 16 * quarter + lane / 4); } // what follows from it takes no registers of pieces
	__device__ void take_piece(const Piece &w) {
		b = w.b;
#pragma unroll
		for (int half = 0; half < 2; half++) {
			const int r = row() + 8 * half;
			seen[half] = r < a.seq_q * a.heads ? a.visible(b, r / a.heads) : 0;
		}
#pragma unroll
		for (int n = 0; n < columns / 8; n++)
#pragma unroll
			for (int e = 0; e < 4; e++) o[n][e] = 0;
		max[0] = max[1] = -INFINITY, total[0] = total[1] = 0;
		const int stop = min(w.end, (a.lengths(b) + page - 1) / page);
		if (w.first < stop) {
			hopper::barrier_wait(memory + Plan::q_full, phases >> 2);
			phases ^= 4;
			seen_by_all = a.visible(b, group * own_rows / a.heads);
#pragma unroll 1
			for (int number = w.first; number < stop; number += 2) take_pair(number, number + 1 < stop, number + 2 >= stop);
			exchange_totals();
		}
		if (w.slot < 0) write_rows();
		else write_sums(w.slot);
	}
	__device__ void exchange_totals() {
#pragma unroll
		for (int half = 0; half < 2; half++) {
			total[half] = warp_reduce<4>(total[half], Sum());
			if (lane % 4 == 0) statistics(Plan::totals, Group)[8 * half] = total[half];
		}
		hopper::named_sync(Plan::totals_ready, 2 * warpgroup);
#pragma unroll
		for (int half = 0; half < 2; half++) total[half] += statistics(Plan::totals, 1 - Group)[8 * half];
	}
	// write_rows writes o and lse of a sequence that the part has alone.
	__device__ void write_rows() {
		const int all = a.seq_q * a.heads;
#pragma unroll
		for (int half = 0; half < 2; half++) {
			const bool any = seen[half] > 0;
			const int r = row() + 8 * half;
			const float inverse = any ? 1.0f / total[half] : 0.0f;
#pragma unroll
			for (int n = 0; n < columns / 8; n++)
#pragma unroll
				for (int e = 2 * half; e < 2 * half + 2; e++) o[n][e] *= inverse;
			if (a.lse != nullptr && Group == 0 && lane % 4 == 0 && r < all)
				a.lse[a.statistic(b, r / a.heads, r % a.heads)] = any ? log_of(max[half], total[half]) : a.empty;
		}
		const hopper::SumsPlace<T> to = {a.o + static_cast<int64_t>(b) * all * a.dim_v, all, a.dim_v, row(), Group * columns};
		hopper::store_wide(o, to, [](float x) { return x; });
	}
	__device__ void write_sums(int slot) {
		const int64_t part = blockIdx.x / schedule.groups, first = schedule.place(2 * part + slot, group), place = first + row() - group * own_rows;
		if (Group == 0 && lane % 4 == 0)
#pragma unroll
			for (int half = 0; half < 2; half++) schedule.max[place + 8 * half] = max[half], schedule.total[place + 8 * half] = total[half];
		const hopper::SumsPlace<float> to = {schedule.sum, first + min(own_rows, a.seq_q * a.heads - group * own_rows), a.dim_v, place, Group * columns};
		hopper::store_wide(o, to, [](float x) { return x; });
	}
};

template <class T, int Blocks, int Group>
__device__ inline void take_pages(const Decode<T> &a, const Schedule &s, Range range, int group, unsigned char *rows, uint32_t memory, int quarter,
                                  int lane) {
	PageConsumer<T, Blocks, Group> c = {a, s, rows, memory, group, quarter, lane, 0, 0, {}, 0, {}, {}, {}};
	for (Piece w; range.next(a, w);) c.take_piece(w);
}
#endif

template <class T, int Blocks>
__global__ void __launch_bounds__(wide_threads, 1)
    tma_rows(const __grid_constant__ Decode<T> a, const __grid_constant__ hopper::HeadMap q, const __grid_constant__ hopper::HeadMap cache,
              const __grid_constant__ Schedule s) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	using Plan = TmaPlan;
	extern __shared__ __align__(128) unsigned char sm90_memory[];
	unsigned char *const rows = aligned_memory(sm90_memory);
	const uint32_t memory = hopper::shared_address(rows);
	if (threadIdx.x == 0) {
		hopper::barrier_init(memory + Plan::q_full, 1);
		hopper::barrier_init(memory + Plan::q_empty, 2 * warpgroup / 32);
		for (int i = 0; i < 2 * Plan::panels; i++) hopper::barrier_init(memory + Plan::full + 8 * i, 1);
		for (int half = 0; half < 4; half++) {
			hopper::barrier_init(memory + Plan::empty + 8 * half, Blocks * warpgroup / 32);
		}
		hopper::fence_init();
	}
	const int group = static_cast<int>(blockIdx.x) % s.groups;
	Range range(a, static_cast<int>(blockIdx.x) / s.groups, s.parts);
	__syncthreads();
	int rank = 0;
	if constexpr (Blocks > 1) {
		rank = static_cast<int>(hopper::cluster_rank());
		hopper::cluster_arrive();
		hopper::cluster_wait();
	}
	if (threadIdx.x == 32 && group == 0) range.tell(a, s.cuts);
	hopper::next_may_start();
	const int number = __shfl_sync(all_lanes, static_cast<int>(threadIdx.x) / 32, 0), lane = static_cast<int>(threadIdx.x) % 32;
	if (number < 4) {
		hopper::give_registers<Plan::producer_registers>();
		if (threadIdx.x == 0) bring_pages<T, Blocks>(a, &q, &cache, range, group, s.groups, rank, memory);
		return;
	}
	hopper::take_registers<Plan::consumer_registers>();
	if (number < 8) take_pages<T, Blocks, 0>(a, s, range, group, rows, memory, number % 4, lane);
	else take_pages<T, Blocks, 1>(a, s, range, group, rows, memory, number % 4, lane);
#endif
}

template <class T> Schedule tma_schedule(const Decode<T> &a, Room &room) { return Schedule(a, room); }

template <class T, int Blocks> int launch_rows(const Decode<T> &a, int64_t blocks, const Schedule &s, cudaStream_t stream) {
	hopper::HeadMap q = {}, cache = {};
	if (const int status = map_rows(&q, a.q, a.batch, a.seq_q * a.heads, a.dim, own_rows)) return status;
	if (const int status = map_rows(&cache, a.cache, blocks, page, a.dim, page)) return status;
	if (const int status = cudaFuncSetAttribute(tma_rows<T, Blocks>, cudaFuncAttributeMaxDynamicSharedMemorySize, TmaPlan::bytes)) return status;
	const unsigned clusters = static_cast<unsigned>(s.parts * s.groups / Blocks);
	if (const int status = hopper::launch_clusters(tma_rows<T, Blocks>, clusters, Blocks, wide_threads, TmaPlan::bytes, stream, a, q, cache, s))
		return status;
	return launched();
}

template <class T> int launch_tma(const triad_call *call) {
	const Decode<T> a(call);
	if (a.queries() == 0) return TRIAD_OK;
	Room room(call);
	const Schedule s = tma_schedule(a, room);
	const int64_t blocks = call->in[1].shape[0];
	const cudaStream_t stream = stream_of(call);
	if (const int status = s.groups % 2 == 0 ? launch_rows<T, 2>(a, blocks, s, stream) : launch_rows<T, 1>(a, blocks, s, stream)) return status;
	return launch_join(a, s, stream);
}

} // namespace latent
} // namespace triad
#endif
