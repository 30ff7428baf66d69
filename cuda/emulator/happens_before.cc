// What happens before what among the threads of a launch, for `triad check`. One OS thread runs everything, so one counter, `now`, orders all
// events. A thread knows what another did before a time T: of its block's threads T is the last __syncthreads, of its warp's the last __syncwarp
// with it, and of anybody what it learned by reading a flag that was written after a __threadfence.
#include <unordered_map>
#include <vector>

#include "cuemu/check.h"

namespace cuemu {

uint32_t now = 1, launch_time = 1;

namespace {

// Learned: all that was released at a flag up to its number-th release.
struct Learned {
	const void *flag;
	uint32_t number;
};

struct Release {
	uint32_t number, thread, fence, barrier;       // barrier: the last of the block before the fence
	std::vector<Learned> learned;                  // by the thread before
};

struct Flag {
	uint32_t count = 0;
	std::unordered_map<uint32_t, std::vector<Release>> by_block;
};

std::unordered_map<const void *, Flag> flags;

// Knowledge of the block that a worker runs.
struct Knowledge {
	uint32_t start = 0, barrier = 0;
	uint32_t whole_warp[MAX_WARPS] = {};           // all live lanes met
	uint32_t pair[MAX_THREADS][32] = {}, pairs_since[MAX_WARPS] = {};
	uint32_t fence[MAX_THREADS] = {}, barrier_at_fence[MAX_THREADS] = {};
	std::vector<Learned> learned[MAX_THREADS], of_block;
	bool any_learned = false;
	std::vector<const void *> shared_flags;        // the next block of the worker has other ones at these places
};

Knowledge &knowledge(const Worker &w) {
	static std::unordered_map<const Worker *, Knowledge *> all;
	static const Worker *last;
	static Knowledge *of_last;
	if (last == &w) return *of_last;
	Knowledge *&k = all[&w];
	if (!k) k = new Knowledge();
	last = &w;
	return *(of_last = k);
}

void join(std::vector<Learned> &to, const std::vector<Learned> &from) {
	for (const Learned &l : from) {
		bool there = false;
		for (Learned &mine : to) {
			if (mine.flag != l.flag) continue;
			if (mine.number < l.number) mine.number = l.number;
			there = true;
		}
		if (!there) to.push_back(l);
	}
}

// told: whether an access was among what releases had let others know of. most: how many releases are looked at; past it the answer is yes,
// for a race that is not one must not be reported.
bool told(const std::vector<Learned> &learned, const Access &a, int depth, int *most) {
	for (const Learned &l : learned) {
		auto flag = flags.find(l.flag);
		if (flag == flags.end()) continue;
		auto mine = flag->second.by_block.find(a.block);
		if (mine != flag->second.by_block.end())
			for (const Release &r : mine->second)
				if (r.number <= l.number && (a.time < r.barrier || (r.thread == a.thread && a.time < r.fence))) return true;
		if (depth == 0) continue;
		for (const auto &block : flag->second.by_block)
			for (const Release &r : block.second) {
				if (r.number > l.number || r.learned.empty()) continue;
				if (--*most < 0 || told(r.learned, a, depth - 1, most)) return true;
			}
	}
	return false;
}

}  // namespace

uint32_t block_time(const Worker &w) { return knowledge(w).start; }

bool known(Worker &w, const Access &a) {
	if (a.time < launch_time) return true;
	Knowledge &k = knowledge(w);
	const uint32_t self = thread_of(w);
	if (a.block == block_of(w) && a.time >= k.start) {
		if (a.thread == self || a.time < k.barrier) return true;
		const uint32_t warp = self / 32;
		if (a.thread / 32 == warp) {
			if (a.time < k.whole_warp[warp]) return true;
			if (k.pairs_since[warp] >= k.start && a.time < k.pair[self][a.thread % 32]) return true;
		}
		if (async_known(w, self, a.thread, a.time)) return true;
	}
	if (!k.any_learned) return false;
	int most = 4096;
	return told(k.learned[self], a, 3, &most) || told(k.of_block, a, 3, &most);
}

void order_launch() {
	launch_time = ++now;
	flags.clear();
}

// order_grid: all threads of the grid have met.
void order_grid() { launch_time = ++now; }

void order_block(Worker &w) {
	Knowledge &k = knowledge(w);
	k.start = k.barrier = ++now;
	for (const void *flag : k.shared_flags) flags.erase(flag);
	k.shared_flags.clear();
	if (k.any_learned) {
		for (std::vector<Learned> &l : k.learned) l.clear();
		k.of_block.clear();
		k.any_learned = false;
	}
}

void order_barrier(Worker &w) {
	Knowledge &k = knowledge(w);
	k.barrier = ++now;
	if (!k.any_learned) return;
	for (unsigned t = 0; t < w.threads; t++) {
		join(k.of_block, k.learned[t]);
		k.learned[t].clear();
	}
}

void order_warp(Worker &w, unsigned warp, uint32_t lanes) {
	Knowledge &k = knowledge(w);
	const uint32_t time = ++now;
	if (lanes == w.warp[warp].live) {
		k.whole_warp[warp] = time;
	} else {
		if (k.pairs_since[warp] < k.start) {
			for (unsigned i = 0; i < 32; i++)
				for (uint32_t &t : k.pair[warp * 32 + i]) t = 0;
			k.pairs_since[warp] = time;
		}
		uint32_t most[32] = {};
		for (uint32_t rest = lanes; rest; rest &= rest - 1)
			for (unsigned i = 0; i < 32; i++) {
				const uint32_t t = k.pair[warp * 32 + __builtin_ctz(rest)][i];
				if (most[i] < t) most[i] = t;
			}
		for (unsigned i = 0; i < 32; i++)
			if (lanes >> i & 1) most[i] = time;
		for (uint32_t rest = lanes; rest; rest &= rest - 1)
			for (unsigned i = 0; i < 32; i++) k.pair[warp * 32 + __builtin_ctz(rest)][i] = most[i];
	}
	if (!k.any_learned) return;
	std::vector<Learned> all;
	for (uint32_t rest = lanes; rest; rest &= rest - 1) join(all, k.learned[warp * 32 + __builtin_ctz(rest)]);
	for (uint32_t rest = lanes; rest; rest &= rest - 1) k.learned[warp * 32 + __builtin_ctz(rest)] = all;
}

void order_fence(Worker &w) {
	Knowledge &k = knowledge(w);
	const uint32_t t = thread_of(w);
	k.fence[t] = ++now;
	k.barrier_at_fence[t] = k.barrier;
}

bool order_fenced(const Worker &w) {
	const Knowledge &k = knowledge(w);
	const uint32_t fence = k.fence[thread_of(w)];
	return fence >= k.start && fence > k.barrier;
}

// order_release: a thread that has passed a fence in this block lets others know of what was before it.
void order_release(Worker &w, const void *flag) {
	Knowledge &k = knowledge(w);
	const uint32_t t = thread_of(w);
	if (k.fence[t] < k.start) return;
	Flag &f = flags[flag];
	if (f.count == 0 && static_cast<size_t>(static_cast<const char *>(flag) - w.arena) < ARENA_BYTES) k.shared_flags.push_back(flag);
	std::vector<Release> &mine = f.by_block[block_of(w)];
	if (!mine.empty() && mine.back().thread == t && mine.back().fence == k.fence[t] && mine.back().number == f.count && !k.any_learned) return;
	Release r = {++f.count, t, k.fence[t], k.barrier_at_fence[t], {}};
	if (k.any_learned) {
		r.learned = k.of_block;
		join(r.learned, k.learned[t]);
	}
	mine.push_back(r);
}

void order_acquire(Worker &w, const void *flag) {
	if (flags.empty()) return;
	auto f = flags.find(flag);
	if (f == flags.end() || f->second.count == 0) return;
	Knowledge &k = knowledge(w);
	k.any_learned = true;
	join(k.learned[thread_of(w)], {{flag, f->second.count}});
}

}  // namespace cuemu
