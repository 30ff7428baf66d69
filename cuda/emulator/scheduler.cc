// The scheduler of one block: direct mode, fibers, barriers, warp functions, and the choice of who runs next.
//
// A block first runs in direct mode: its threads are called one after the other on one stack. The first that has to wait promotes the block:
// those before it have finished, it becomes a fiber where it stands, each later thread gets a stack when it is first chosen. Fibers
// switch only where they wait, and switch straight to the next one.
#include "cuemu/check.h"
#include "cuemu/fiber_hooks.h"
#include "cuemu/scheduler.h"

__thread uint3 threadIdx CUEMU_TLS, blockIdx CUEMU_TLS;
__thread dim3 blockDim CUEMU_TLS, gridDim CUEMU_TLS;
__thread bool cuemu_promoted CUEMU_TLS;
__thread char *cuemu_arena CUEMU_TLS;
const int warpSize = 32;

namespace cuemu {

__thread Worker *this_worker __attribute__((tls_model("initial-exec")));
std::atomic<bool> abandoned{false};

CUEMU_PLAIN void make_runnable(Worker &w, unsigned warp, uint32_t lanes) {
	w.warp[warp].runnable |= lanes;
	w.ready |= 1u << w.rank_of[warp];
}

namespace {

CUEMU_PLAIN uint32_t low_bits(unsigned n) { return n >= 32 ? 0xffffffffu : (1u << n) - 1; }

CUEMU_PLAIN unsigned top_bit(uint32_t bits) { return 31 - __builtin_clz(bits); }

// release_activemask lets the lanes go on that stand at one __activemask, when nothing else of their warp can move.
CUEMU_PLAIN void release_activemask(Worker &w, unsigned warp) {
	Warp &p = w.warp[warp];
	const Wait *first = w.fiber[warp * 32 + __builtin_ctz(p.in_activemask)].wait;
	uint32_t group = 0;
	for (uint32_t rest = p.in_activemask; rest; rest &= rest - 1) {
		const Wait *wait = w.fiber[warp * 32 + __builtin_ctz(rest)].wait;
		if (same_place(*wait, first->file, first->line)) group |= rest & -rest;
	}
	for (uint32_t rest = group; rest; rest &= rest - 1) w.fiber[warp * 32 + __builtin_ctz(rest)].result = group;
	p.in_activemask &= ~group;
	make_runnable(w, warp, group);
}

// leave_runnable takes a lane off the list of those that can run.
CUEMU_PLAIN void leave_runnable(Worker &w, unsigned warp, uint32_t lane) {
	Warp &p = w.warp[warp];
	p.runnable &= ~lane;
	if (p.runnable) return;
	if (p.in_activemask) return release_activemask(w, warp);
	w.ready &= ~(1u << w.rank_of[warp]);
}

CUEMU_PLAIN void release_barrier(Worker &w) {
	switch (w.barrier_wait.kind) {
	case BARRIER_COUNT: w.barrier_result = w.votes; break;
	case BARRIER_AND: w.barrier_result = w.votes == static_cast<int>(w.arrived); break;
	case BARRIER_OR: w.barrier_result = w.votes != 0; break;
	default: w.barrier_result = 0;
	}
	w.arrived = 0;
	w.votes = 0;
	w.cursor = 0;
	hook_barrier_complete(&w.arrived, &w.votes);
	if (watching) {
		if (w.live < w.threads) tell_barrier_skipped(w.barrier_wait.file, w.barrier_wait.line);
		order_barrier(w);
		step();
	}
	if (counting) count_meeting(w);
	async_barrier(w);
	for (unsigned i = 0; i < w.warps; i++) {
		Warp &p = w.warp[i];
		if (!p.at_barrier) continue;
		make_runnable(w, i, p.at_barrier);
		p.at_barrier = 0;
	}
}

// all_here says whether all lanes of a mask that have not ended wait in warp functions. Most lanes of a group only ask this.
CUEMU_PLAIN inline bool all_here(const Warp &p, uint32_t mask) { return !(mask & p.live & ~p.in_collective); }

// complete_collective computes the group of one waiting lane, all of which waits, if they are in one function.
CUEMU_PLAIN __attribute__((noinline)) bool complete_collective(Worker &w, unsigned warp, unsigned lane) {
	Warp &p = w.warp[warp];
	Fiber *v = w.fiber + warp * 32;
	uint32_t group = v[lane].mask & p.live;
	const int other = mismatch(v, group, lane);
	if (other == ELSEWHERE) return false;
	if (other != NONE) {
		const Wait *a = w.fiber[warp * 32 + lane].wait, *b = w.fiber[warp * 32 + other].wait;
		report(CUEMU_DIVERGENT, a->file, a->line, "lanes %u and %d of warp %u meet in different warp functions: %s at %s:%d with mask %08x, %s at %s:%d with mask %08x",
		       lane, other, warp, collective_names[a->kind], a->file, a->line, v[lane].mask, collective_names[b->kind], b->file, b->line, v[other].mask);
		add_other_place(b->file, b->line);
		abandon(w);
	}
	if (v[lane].kind <= SHFL_XOR && v[lane].mask & ~p.live) tell_ended_lane(w, warp, group);
	compute(v, v[lane].kind, group);
	if (watching && v[lane].kind == SYNCWARP) order_warp(w, warp, group), step();
	if (v[lane].kind == SYNCWARP) hook_syncwarp_complete(&p, &p.started), async_warp_barrier(w, warp, group);
	p.in_collective &= ~group;
	make_runnable(w, warp, group);
	return true;
}

CUEMU_PLAIN inline unsigned pick(Worker &w) {
	if (!w.ready && !async_idle(w)) {
		tell_deadlock(w);
		abandon(w);
	}
	unsigned rank;
	if (w.order.policy == RANDOM) {
		rank = random_bit(w, w.ready);
	} else if (w.order.policy == GREEDY) {
		rank = __builtin_ctz(w.ready);
	} else {
		uint32_t from_cursor = w.ready & (0xffffffffu << w.cursor);
		rank = __builtin_ctz(from_cursor ? from_cursor : w.ready);
	}
	w.cursor = rank;
	unsigned warp = w.warp_at[rank];
	Warp &p = w.warp[warp];
	uint32_t lanes = p.runnable;
	if (p.yielded) {
		if (!(lanes & ~p.yielded)) p.yielded = 0;
		lanes &= ~p.yielded;
	}
	unsigned lane = w.order.policy == RANDOM ? random_bit(w, lanes) : p.down ? top_bit(lanes) : __builtin_ctz(lanes);
	return warp * 32 + lane;
}

// fiber_main is where a thread starts that was not reached in direct mode.
CUEMU_PLAIN void fiber_main() {
	Worker &w = *this_worker;
	hook_arrive_first(w);
	if (w.one_dimensional) threadIdx = uint3{w.current, 0, 0};
	else threadIdx = thread_index(w.current);
	w.job->thread(w.job->body);
	leave_kernel(w);
}

}  // namespace

CUEMU_PLAIN __attribute__((noinline)) void *first_context(Worker &w, unsigned thread) {
	w.warp[thread / 32].started |= 1u << thread % 32;
	return w.fiber[thread].sp = new_stack(stack_top(w, thread), fiber_main);
}

namespace {

// Transfer is a switch that has been decided. A waiting function decides it in a function of its own and keeps nothing across it: the less of
// its stack a suspended fiber needs, the more fibers fit into the cache.
struct Transfer {
	void **save, *load;
};

// goes_home: no thread of this block can run, and another block of its cluster or grid may let one go on.
CUEMU_PLAIN inline bool goes_home(const Worker &w) { return !w.ready && (w.cluster->size > 1 || current_launch.job.cooperative); }

CUEMU_PLAIN __attribute__((noinline)) Transfer to_home(Worker &w) {
	hook_park(w, slot_of(w, w.current));
	return {&w.fiber[w.current].sp, w.home};
}

// to_thread goes on with another thread. One that starts is none of the many: its stack is made out of line.
CUEMU_PLAIN __attribute__((noinline)) Transfer to_first(Worker &w, unsigned self, unsigned next) {
	void *context = first_context(w, next);
	hook_leave(w, slot_of(w, self), slot_of(w, next));
	return {&w.fiber[self].sp, context};
}

CUEMU_PLAIN inline Transfer to_thread(Worker &w, unsigned next) {
	const unsigned self = w.current;
	w.current = next;
	if (!has_started(w, next)) return to_first(w, self, next);
	hook_leave(w, slot_of(w, self), slot_of(w, next));
	return {&w.fiber[self].sp, w.fiber[next].sp};
}

// next_of chooses who runs after the current thread, whose state says why it stops.
CUEMU_PLAIN inline Transfer next_of(Worker &w) {
	if (__builtin_expect(goes_home(w), 0)) return to_home(w);
	const unsigned next = pick(w);
	if (next == w.current) return {nullptr, nullptr};
	return to_thread(w, next);
}

// stays: after a lane that waits, another of its warp comes next, as pick would find. Most threads stop so.
CUEMU_PLAIN inline bool stays(const Worker &w, const Warp &p) {
	return __builtin_expect(p.runnable && !p.yielded && w.order.policy < RANDOM, 1);
}

CUEMU_PLAIN inline Transfer to_lane_of(Worker &w, unsigned warp, const Warp &p) {
	const unsigned lane = p.down ? top_bit(p.runnable) : __builtin_ctz(p.runnable), self = w.current, next = warp * 32 + lane;
	w.current = next;
	if (__builtin_expect(!(p.started >> lane & 1), 0)) return to_first(w, self, next);
	hook_leave(w, slot_of(w, self), slot_of(w, next));
	const char *then = static_cast<const char *>(w.fiber[(p.down ? next - 1 : next + 1) % MAX_THREADS].sp);
	__builtin_prefetch(then);                      // most stacks of a block are in no cache that is near
	__builtin_prefetch(then + 64);
	return {&w.fiber[self].sp, w.fiber[next].sp};
}

CUEMU_PLAIN __attribute__((noinline)) void restore_index() { threadIdx = thread_index(this_worker->current); }

// go suspends the current thread and returns when it is chosen again. What a block of several dimensions needs is kept out of line, and
// this_worker is read anew: a register saved for it would be one more line of stack.
CUEMU_PLAIN inline Worker &go(Transfer t) {
	if (t.load) {
		cuemu_switch(t.save, t.load);
		hook_arrive(*this_worker, slot_of(*this_worker, this_worker->current));
	}
	if (__builtin_expect(this_worker->one_dimensional, 1)) threadIdx.x = this_worker->current;
	else restore_index();
	return *this_worker;
}

}  // namespace

// leave_kernel ends the current thread: whoever waits for it alone goes on.
CUEMU_PLAIN void leave_kernel(Worker &w) {
	unsigned warp = w.current / 32;
	uint32_t bit = 1u << w.current % 32;
	Warp &p = w.warp[warp];
	p.live &= ~bit;
	w.live--;
	if (watching) step();
	leave_runnable(w, warp, bit);
	void *dead;
	if (w.live == 0) {
		if (w.cluster->arrived) cluster_left(w);
		hook_die_home(w, slot_of(w, w.current));
		cuemu_switch(&dead, w.home);
	}
	if (w.arrived == w.live && w.arrived) release_barrier(w);
	if (w.cluster->arrived) cluster_left(w);
	for (uint32_t rest = p.in_collective; rest; rest &= rest - 1) {
		unsigned lane = __builtin_ctz(rest);
		const uint32_t mask = w.fiber[warp * 32 + lane].mask;
		if ((p.in_collective >> lane & 1) && (mask & bit) && all_here(p, mask)) complete_collective(w, warp, lane);
	}
	if (goes_home(w)) {
		hook_die_home(w, w.current);
		cuemu_switch(&dead, w.home);
	}
	unsigned self = w.current, next = pick(w);
	w.current = next;
	void *context = context_of(w, next);
	hook_die(w, slot_of(w, self), slot_of(w, next));
	cuemu_switch(&dead, context);
}

namespace {

// promote leaves direct mode: the running thread keeps its stack, the others that have not run become fibers.
CUEMU_PLAIN void promote(Worker &w) {
	unsigned self = thread_of(w), rank = w.rank_of[self / 32], lane = self % 32;
	w.direct = false;
	cuemu_promoted = true;
	w.current = w.direct_thread = self;
	w.live = 0;
	w.ready = 0;
	for (unsigned i = 0; i < w.warps; i++) {
		Warp &p = w.warp[i];
		bool down = p.down;
		p = Warp();
		p.down = down;
		if (w.rank_of[i] < rank) continue;
		p.live = low_bits(lanes_of(w, i));
		if (w.rank_of[i] == rank) {
			p.live &= down ? low_bits(lane + 1) : ~low_bits(lane);
			p.started = 1u << lane;
		}
		w.live += __builtin_popcount(p.live);
		make_runnable(w, i, p.live);
	}
	w.cursor = rank;
}

}  // namespace

CUEMU_PLAIN unsigned start_fibers(Worker &w) {
	w.direct = false;
	cuemu_promoted = true;
	w.live = w.threads;
	w.ready = 0;
	for (unsigned i = 0; i < w.warps; i++) {
		bool down = w.warp[i].down;
		w.warp[i] = Warp();
		w.warp[i].down = down;
		w.warp[i].live = low_bits(lanes_of(w, i));
		make_runnable(w, i, w.warp[i].live);
	}
	if (debugging) debug_start(w);
	return w.current = pick(w);
}

CUEMU_PLAIN void enter_block(Worker &w) {
	w.current = pick(w);
	void *context = context_of(w, w.current);
	hook_leave_home(w, slot_of(w, w.current));
	cuemu_switch(&w.home, context);
	hook_arrive_home(w);
}

CUEMU_PLAIN void abandon(Worker &w) {
	abandoned.store(true);
	if (debugging && have_report()) cuemu_debug_stop(first_report().message);
	if (w.in_block) {
		hook_die_home(w, w.direct ? DIRECT_STACK : slot_of(w, w.current));
		cuemu_jump(w.home);
	}
	cuemu_jump(w.launcher_base);
}

namespace {

// What few threads do is kept out of the functions that all pass through, which then save no registers for it.
CUEMU_PLAIN __attribute__((noinline)) Transfer release_and_go(Worker &w) {
	release_barrier(w);
	return next_of(w);
}

CUEMU_PLAIN __attribute__((noinline)) Transfer leave_and_go(Worker &w, unsigned warp, uint32_t bit) {
	if (!w.warp[warp].runnable) leave_runnable(w, warp, bit);
	return next_of(w);
}

CUEMU_PLAIN __attribute__((noinline)) Transfer complete_and_go(Worker &w, unsigned warp, unsigned lane) {
	if (complete_collective(w, warp, lane)) return next_of(w);
	return leave_and_go(w, warp, 1u << lane);
}

CUEMU_PLAIN __attribute__((noinline)) Transfer wait_for_activemask(Worker &w, unsigned warp, uint32_t bit) {
	w.warp[warp].in_activemask |= bit;
	return leave_and_go(w, warp, bit);
}

[[noreturn]] CUEMU_PLAIN __attribute__((noinline)) void left_out(Worker &w) {
	const Fiber &f = w.fiber[w.current];
	const unsigned lane = w.current % 32;
	report(CUEMU_DIVERGENT, f.wait->file, f.wait->line, "lane %u calls %s with mask %08x, which leaves it out", lane, collective_names[f.kind], f.mask);
	abandon(w);
}

CUEMU_PLAIN inline Transfer arrive_at_barrier(Worker &w, int predicate, const Wait *wait) {
	const unsigned warp = w.current / 32;
	const uint32_t bit = 1u << w.current % 32;
	Warp &p = w.warp[warp];
	hook_barrier_arrive(&w.arrived);
	if (w.arrived == 0) w.barrier_wait = *wait;
	else if (!w.divergence_reported && (w.barrier_wait.kind != wait->kind || !same_place(w.barrier_wait, wait->file, wait->line))) tell_divergence(w, *wait);
	w.arrived++;
	w.votes += predicate != 0;
	p.at_barrier |= bit;
	p.runnable &= ~bit;
	if (w.arrived == w.live) return release_and_go(w);
	return stays(w, p) ? to_lane_of(w, warp, p) : leave_and_go(w, warp, bit);
}

CUEMU_PLAIN inline Transfer arrive_at_collective(Worker &w, int kind, uint32_t mask) {
	const unsigned warp = w.current / 32;
	const uint32_t bit = 1u << w.current % 32;
	Warp &p = w.warp[warp];
	if (__builtin_expect(!(mask & bit), 0)) left_out(w);
	if (kind == SYNCWARP) hook_syncwarp_arrive(&p);
	p.runnable &= ~bit;
	if (__builtin_expect(kind == ACTIVEMASK, 0)) return wait_for_activemask(w, warp, bit);
	p.in_collective |= bit;
	if (all_here(p, mask)) return complete_and_go(w, warp, w.current % 32);
	return stays(w, p) ? to_lane_of(w, warp, p) : leave_and_go(w, warp, bit);
}

CUEMU_PLAIN __attribute__((noinline)) Transfer wait_beside(const Wait *wait) {
	Worker &w = *this_worker;
	const unsigned warp = w.current / 32;
	const uint32_t bit = 1u << w.current % 32;
	w.fiber[w.current].wait = wait;
	Warp &p = w.warp[warp];
	(wait->what == IN_CLUSTER ? p.in_cluster : wait->what == IN_GRID ? p.in_grid : p.in_async) |= bit;
	leave_runnable(w, warp, bit);
	return next_of(w);
}

}  // namespace

}  // namespace cuemu

using namespace cuemu;

extern "C" {

// wait_at_barrier and wait_at_collective do what the functions that kernels call stand for. These only ask for direct mode, and keep no
// argument for it on a stack that waits.
CUEMU_PLAIN __attribute__((noinline)) static int wait_at_barrier(int kind, int predicate, const char *file, int line) {
	Wait wait;                                     // has no name
	wait.what = IN_BARRIER, wait.kind = kind, wait.line = line, wait.file = file;
	Worker &before = *this_worker;
	before.fiber[before.current].wait = &wait;
	Worker &w = go(arrive_at_barrier(before, predicate, &wait));
	hook_barrier_leave(&w.votes);
	return w.barrier_result;
}

CUEMU_PLAIN __attribute__((noinline)) static uint64_t wait_at_collective(int kind, uint32_t mask, uint64_t value, uint32_t source, const char *file,
                                                                         int line) {
	Wait wait;                                     // has no name
	wait.what = IN_COLLECTIVE, wait.kind = kind, wait.line = line, wait.file = file;
	Worker &before = *this_worker;
	Fiber &f = before.fiber[before.current];
	f.wait = &wait;
	f.value = value, f.mask = mask, f.source = source, f.kind = kind;
	Worker &w = go(arrive_at_collective(before, kind, mask));
	if (CUEMU_TSAN && wait.kind == SYNCWARP) hook_syncwarp_leave(&w.warp[w.current / 32].started);
	return w.fiber[w.current].result;
}

CUEMU_PLAIN __attribute__((noinline)) static int promote_at_barrier(int kind, int predicate, const char *file, int line) {
	promote(*this_worker);
	return wait_at_barrier(kind, predicate, file, line);
}

CUEMU_PLAIN __attribute__((noinline)) static uint64_t promote_at_collective(int kind, uint32_t mask, uint64_t value, uint32_t source, const char *file,
                                                                            int line) {
	promote(*this_worker);
	return wait_at_collective(kind, mask, value, source, file, line);
}

CUEMU_PLAIN int cuemu_barrier(int kind, int predicate, const char *file, int line) {
	if (__builtin_expect(this_worker->direct, 0)) return promote_at_barrier(kind, predicate, file, line);
	return wait_at_barrier(kind, predicate, file, line);
}

CUEMU_PLAIN uint64_t cuemu_collective(int kind, uint32_t mask, uint64_t value, uint32_t source, const char *file, int line) {
	if (__builtin_expect(this_worker->direct, 0)) return promote_at_collective(kind, mask, value, source, file, line);
	return wait_at_collective(kind, mask, value, source, file, line);
}

// cuemu_promote leaves direct mode before the current thread does what needs to know all threads of its block.
CUEMU_PLAIN void cuemu_promote(void) {
	if (this_worker->direct) promote(*this_worker);
}

CUEMU_PLAIN void cuemu_end_thread(void) {
	leave_kernel(*this_worker);
	__builtin_unreachable();
}

CUEMU_PLAIN void cuemu_copy_argument(void *to, const void *from, size_t bytes) { memcpy(to, from, bytes); }

CUEMU_PLAIN void wait_for_others(const Wait *wait) { go(wait_beside(wait)); }

// A block gives its turn away after so many yields of its threads; after fewer once it has done so.
static const unsigned PATIENCE = 1024, PATIENCE_LATER = 64;

// cuemu_yield lets others run: other blocks of the cluster, other warps first, and in its own warp the other lanes.
CUEMU_PLAIN void cuemu_yield(void) {
	if (!this_worker || !this_worker->in_block) return;
	Worker &w = *this_worker;
	if (w.direct) promote(w);
	unsigned warp = w.current / 32, rank = w.rank_of[warp];
	w.warp[warp].yielded |= 1u << w.current % 32;
	if (w.order.policy == GREEDY) demote(w, warp);
	else w.cursor = rank + 1 < w.warps ? rank + 1 : 0;
	w.cluster->yielded = w.rank;
	w.fiber[w.current].wait = nullptr;
	w.parked = ++w.yields >= (w.parkings ? PATIENCE_LATER : PATIENCE);
	go(w.cluster->size > 1 || w.parked ? to_home(w) : next_of(w));
}

}  // extern "C"
