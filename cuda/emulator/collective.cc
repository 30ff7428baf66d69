// What warp functions compute once all lanes of a group have arrived, and what a block says when it cannot go on.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "cuemu/scheduler.h"

extern "C" CUEMU_PLAIN unsigned cuemu_lane(void) { return cuemu::thread_of(*cuemu::this_worker) % 32; }
extern "C" int cuemu_in_kernel(void) { return cuemu::this_worker && cuemu::this_worker->in_block; }

// The hardware's matrix loads and stores take rows whose addresses are multiples of 16 bytes. The matrix has to begin at a multiple of 32, which
// is not looked at: the emulator's own buffers begin at multiples of 16.
extern "C" void cuemu_matrix_address(const void *p, uint64_t row_bytes, const char *file, int line) {
	using namespace cuemu;
	if (reinterpret_cast<uintptr_t>(p) % 16 == 0 && row_bytes % 16 == 0) return;
	report(CUEMU_TRAP, file, line, "a matrix of wmma begins at an address that ends in 0x%x, in rows of %llu bytes: want multiples of 32 and of 16 bytes",
	       static_cast<unsigned>(reinterpret_cast<uintptr_t>(p) & 255), static_cast<unsigned long long>(row_bytes));
	abandon(*this_worker);
}

namespace cuemu {

const char *const collective_names[18] = {"__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync", "a vote", "__match_any_sync",
	"__match_all_sync", "__reduce_add_sync", "__reduce_min_sync", "__reduce_max_sync", "__reduce_min_sync", "__reduce_max_sync",
	"__reduce_and_sync", "__reduce_or_sync", "__reduce_xor_sync", "__syncwarp", "__activemask", "a function of the whole warp"};

namespace {

CUEMU_PLAIN uint32_t reduce(const Fiber *v, int kind, uint32_t lanes) {
	uint32_t sum = static_cast<uint32_t>(v[__builtin_ctz(lanes)].value);
	for (uint32_t rest = lanes & (lanes - 1); rest; rest &= rest - 1) {
		uint32_t x = static_cast<uint32_t>(v[__builtin_ctz(rest)].value);
		int32_t a = static_cast<int32_t>(sum), b = static_cast<int32_t>(x);
		switch (kind) {
		case REDUCE_ADD: sum += x; break;
		case REDUCE_MIN_S: sum = static_cast<uint32_t>(a < b ? a : b); break;
		case REDUCE_MAX_S: sum = static_cast<uint32_t>(a > b ? a : b); break;
		case REDUCE_MIN_U: sum = sum < x ? sum : x; break;
		case REDUCE_MAX_U: sum = sum > x ? sum : x; break;
		case REDUCE_AND: sum &= x; break;
		case REDUCE_OR: sum |= x; break;
		default: sum ^= x;
		}
	}
	return sum;
}

CUEMU_PLAIN uint32_t equal_lanes(const Fiber *v, uint64_t value, uint32_t lanes) {
	uint32_t equal = 0;
	for (uint32_t rest = lanes; rest; rest &= rest - 1)
		if (v[__builtin_ctz(rest)].value == value) equal |= rest & -rest;
	return equal;
}

CUEMU_PLAIN void call(const Fiber *v, uint32_t lanes) {
	void *of[32] = {};
	const WarpCall *first = nullptr;
	for (uint32_t rest = lanes; rest; rest &= rest - 1) {
		const WarpCall *one = reinterpret_cast<const WarpCall *>(v[__builtin_ctz(rest)].value);
		of[__builtin_ctz(rest)] = one->lane;
		if (!first) first = one;
	}
	first->run(of);
}

}  // namespace

// compute gives every lane of a complete group its result.
CUEMU_PLAIN void compute(Fiber *v, int kind, uint32_t lanes) {
	uint64_t common = 0;
	if (kind == WARP_CALL) {
		call(v, lanes);
	} else if (kind == VOTE_BALLOT) {
		for (uint32_t rest = lanes; rest; rest &= rest - 1)
			if (v[__builtin_ctz(rest)].value) common |= rest & -rest;
		common |= uint64_t(lanes) << 32;
	} else if (kind == MATCH_ALL) {
		common = equal_lanes(v, v[__builtin_ctz(lanes)].value, lanes) == lanes ? lanes : 0;
	} else if (kind >= REDUCE_ADD && kind <= REDUCE_XOR) {
		common = reduce(v, kind, lanes);
	}
	if (kind <= SHFL_XOR && lanes == 0xffffffffu) {        // as almost all are: no lane is asked whether it is there
#pragma GCC unroll 8
		for (int i = 0; i < 32; i++) v[i].result = v[v[i].source & 31].value;
		return;
	}
	for (uint32_t rest = lanes; rest; rest &= rest - 1) {
		Fiber &lane = v[__builtin_ctz(rest)];
		if (kind <= SHFL_XOR) lane.result = lanes >> lane.source & 1 ? v[lane.source].value : ~uint64_t(0);
		else if (kind == MATCH_ANY) lane.result = equal_lanes(v, lane.value, lanes);
		else lane.result = common;
	}
}

// tell_ended_lane says once, in the log, that a shuffle reads a lane whose thread has ended: its value is undefined. That alone is no
// fault, since what is read may be of no use.
CUEMU_PLAIN void tell_ended_lane(const Worker &w, unsigned warp, uint32_t lanes) {
	static std::atomic<bool> reported{false};
	const Fiber *v = w.fiber + warp * 32;
	for (uint32_t rest = lanes; rest; rest &= rest - 1) {
		const unsigned reader = __builtin_ctz(rest);
		const Fiber &lane = v[reader];
		const unsigned source = lane.source;
		if (lanes >> source & 1 || w.warp[warp].live >> source & 1 || !(lane.mask >> source & 1)) continue;
		if (reported.exchange(true)) return;
		const Wait *wait = w.fiber[warp * 32 + reader].wait;
		char text[512];
		int n = snprintf(text, sizeof text, "triad: %s:%d: %s of lane %u reads lane %u, whose thread has ended or was never there\n", wait->file, wait->line,
		                 collective_names[lane.kind], reader, source);
		if (n > 0 && write(2, text, static_cast<size_t>(n) < sizeof text ? n : sizeof text - 1) < 0) return;
		return;
	}
}

CUEMU_PLAIN static inline uint64_t mask_and_kind(const Fiber &f) {
	uint64_t both;
	static_assert(offsetof(Fiber, kind) == offsetof(Fiber, mask) + 4, "they are read as one");
	memcpy(&both, &f.mask, sizeof both);
	return both;
}

// mismatch: the first lane of the group that waits for lane `self` too, with another mask or in another function; ELSEWHERE if lanes of the group are
// still in functions that do not need `self`, after which they may come here; NONE.
CUEMU_PLAIN int mismatch(const Fiber *v, uint32_t lanes, unsigned self) {
	if (lanes == 0xffffffffu) {
		const uint64_t mine = mask_and_kind(v[self]);
		uint64_t differs = 0;
#pragma GCC unroll 8
		for (int i = 0; i < 32; i++) differs |= mask_and_kind(v[i]) ^ mine;
		if (!differs) return NONE;
	}
	bool elsewhere = false;
	for (uint32_t rest = lanes; rest; rest &= rest - 1) {
		const Fiber &other = v[__builtin_ctz(rest)];
		if (other.mask == v[self].mask && other.kind == v[self].kind) continue;
		if (other.mask >> self & 1) return __builtin_ctz(rest);
		elsewhere = true;
	}
	return elsewhere ? ELSEWHERE : NONE;
}

CUEMU_PLAIN static const char *place_name(const Wait &wait) {
	return wait.what == IN_BARRIER ? "__syncthreads" : wait.what == IN_CLUSTER ? "the barrier of the cluster" :
	       wait.what == IN_GRID ? "the barrier of the grid" : wait.what == IN_ASYNC ? wait.name : collective_names[wait.kind];
}

CUEMU_PLAIN void tell_divergence(Worker &w, const Wait &wait) {
	w.divergence_reported = true;
	if (!report(CUEMU_DIVERGENT, wait.file, wait.line, "threads of one block meet in different barriers: %s:%d and %s:%d", w.barrier_wait.file,
	            w.barrier_wait.line, wait.file, wait.line))
		return;
	add_other_place(w.barrier_wait.file, w.barrier_wait.line);
}

// tell_deadlock: nothing can run. One line for each place where threads wait.
CUEMU_PLAIN void tell_deadlock(Worker &w) {
	cuemu_report *r = open_report(CUEMU_DEADLOCK);
	if (!r) return;
	size_t n = snprintf(r->message, sizeof r->message, "no thread of the %s can run",
	                    current_launch.job.cooperative ? "grid" : w.cluster->size > 1 ? "cluster" : "block");
	const Wait *said[8];
	int count = 0;
	for (unsigned t = 0; t < w.threads && count < 8; t++) {
		const Warp &p = w.warp[t / 32];
		uint32_t bit = 1u << t % 32;
		if (!((p.at_barrier | p.in_collective | p.in_cluster | p.in_async | p.in_grid) & bit)) continue;
		const Wait *wait = w.fiber[t].wait;
		bool known = false;
		for (int i = 0; i < count; i++) known |= same_place(*wait, said[i]->file, said[i]->line) && said[i]->what == wait->what;
		if (known) continue;
		said[count++] = wait;
		uint3 at = thread_index(t);
		if (count == 1) {
			snprintf(r->file, sizeof r->file, "%s", wait->file);
			r->line = wait->line;
			r->thread[0] = at.x, r->thread[1] = at.y, r->thread[2] = at.z;
		} else if (count == 2) {
			add_other_place(wait->file, wait->line);
		}
		char detail[80] = "";
		if (wait->what == IN_COLLECTIVE) {
			uint32_t mask = w.fiber[t].mask;
			snprintf(detail, sizeof detail, " mask %08x, still missing lanes %08x", mask, mask & p.live & ~p.in_collective);
		}
		if (n < sizeof r->message)
			n += snprintf(r->message + n, sizeof r->message - n, "; thread (%u,%u,%u) and others wait in %s at %s:%d%s", at.x, at.y, at.z,
			              place_name(*wait), wait->file, wait->line, detail);
	}
}

}  // namespace cuemu
