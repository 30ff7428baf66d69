// mbarriers, and named barriers of some of a block's warps.
#include <cstring>

#include "cuemu/async_state.h"
#include "cuemu/fiber_hooks.h"

namespace cuemu {

namespace {

const int64_t MOST_BYTES = (1 << 20) - 1; // that a phase may be short of
const unsigned MOST_ARRIVALS = MOST_BYTES;
const uint64_t MARK = 0x5a5a6d6261727269u; // what the eight bytes of a barrier hold

uint64_t mark_of(uint32_t at) { return MARK ^ at; }

void mark(Worker &w, uint32_t at) {
	const uint64_t bits = mark_of(at);
	memcpy(w.arena + at, &bits, sizeof bits);
	memset(w.async->written + at, 0, 8 * sizeof *w.async->written);
}

void end_phase(Worker &w, Async &a, int number) {
	MBarrier &b = a.barriers[number];
	if (b.missing != 0 || b.bytes != 0) return;
	const uint32_t engine = w.threads + static_cast<uint32_t>(number), width = static_cast<uint32_t>(a.generic[0].size());
	b.phase++;
	b.missing = b.arrivals;
	for (size_t i = 0; i < a.copies.size(); i++) {
		Copy &c = a.copies[i];
		if (!c.used || !c.made || c.barrier != number) continue;
		uint32_t by = engine < width ? b.phase << 11 | BY_COPY | engine : 0;
		if (c.box.rows == 0) by = c.epoch << 11 | BY_COPY | c.thread;
		for (uint32_t byte = 0; byte < c.bytes; byte++) a.written[c.to + byte] = by;
		memset(a.in_flight + c.to / 4, 0, c.bytes / 4 * sizeof *a.in_flight);
		a.dirty = true;
		c.used = false;
		a.free_copies.push_back(static_cast<int>(i));
	}
	if (engine < width) {
		if (b.generic.size() < width) b.generic.resize(width);
		if (b.async.size() < width) b.async.resize(width);
		b.generic[engine] = b.async[engine] = b.phase;
	}
	join(b.ended_generic, b.generic);
	join(b.ended_async, b.async);
	wake(w, b.waiting);
}

}  // namespace

void check_known(Worker &w, const Async &a, const MBarrier &b, Origin at) {
	if (a.generic[w.current][b.init_thread] >= b.init_epoch) return;
	wrong(w, at, "an mbarrier is used that thread %u initialised at %s:%d, and no barrier of the block lies between", b.init_thread, b.init.file, b.init.line);
}

int barrier_in(Worker &w, const Worker &in, uint32_t offset, Origin at) {
	const Async &a = *in.async;
	for (size_t i = 0; i < a.barriers.size(); i++) {
		if (a.barriers[i].at != offset) continue;
		uint64_t bits;
		memcpy(&bits, in.arena + offset, sizeof bits);
		if (bits != mark_of(offset)) wrong(w, at, "an mbarrier was written over that %s:%d initialised", a.barriers[i].init.file, a.barriers[i].init.line);
		return static_cast<int>(i);
	}
	wrong(w, at, "an mbarrier is used that was not initialised%s", &in == &w ? "" : " in another block of the cluster");
}

int barrier_at(Worker &w, Async &, const void *p, Origin at) { return barrier_in(w, w, arena_offset(w, p, 8, at), at); }

Worker &peer_in(Worker &w, unsigned rank, Origin at) {
	if (rank >= w.cluster->size) wrong(w, at, "block %u of a cluster of %u", rank, w.cluster->size);
	Worker &in = *w.cluster->block[rank];
	if (in.ended) wrong(w, at, "block %u of the cluster has ended", rank);
	if (!in.entered || !in.async || !in.async->active) wrong(w, at, "block %u of the cluster has not initialised its mbarriers", rank);
	return in;
}

void bytes_came(Worker &w, Async &a, int barrier, uint32_t bytes) {
	a.barriers[barrier].bytes -= bytes;
	end_phase(w, a, barrier);
}

}  // namespace cuemu

using namespace cuemu;

extern "C" {

void cuemu_mbarrier_init(void *barrier, uint32_t arrivals, const char *file, int line) {
	Unseen books;
	Worker &w = *this_worker;
	Async &a = activate(w);
	const Origin at = {file, line};
	const uint32_t offset = arena_offset(w, barrier, 8, at);
	if (offset % 8 != 0) wrong(w, at, "an mbarrier that is not aligned to 8 bytes");
	if (arrivals == 0 || arrivals > MOST_ARRIVALS) wrong(w, at, "an mbarrier of %u arrivals: want 1 to %u", arrivals, MOST_ARRIVALS);
	MBarrier b = {};
	b.at = offset, b.arrivals = b.missing = arrivals;
	b.init_thread = w.current, b.init_epoch = a.epoch[w.current], b.init = at;
	size_t i = 0;
	while (i < a.barriers.size() && a.barriers[i].at != offset) i++;
	if (i == a.barriers.size()) a.barriers.push_back(b);
	else if (!a.barriers[i].waiting.empty()) wrong(w, at, "an mbarrier is initialised while thread %u waits for it", a.barriers[i].waiting[0]);
	else a.barriers[i] = b;
	mark(w, offset);
}

// cuemu_mbarrier_fence: fence.mbarrier_init.
void cuemu_mbarrier_fence(void) {
	Unseen books;
	Worker &w = *this_worker;
	Async &a = activate(w);
	for (MBarrier &b : a.barriers) b.init_fenced |= b.init_thread == w.current;
}

void cuemu_mbarrier_arrive(void *barrier, uint32_t bytes, const char *file, int line) {
	Unseen books;
	Worker &w = *this_worker;
	Async &a = activate(w);
	const Origin at = {file, line};
	const int number = barrier_at(w, a, barrier, at);
	MBarrier &b = a.barriers[number];
	check_known(w, a, b, at);
	if (b.missing == 0)
		wrong(w, at, "more than the %u arrivals of a phase: %lld bytes of this phase have not come (initialised at %s:%d)", b.arrivals, static_cast<long long>(b.bytes),
		      b.init.file, b.init.line);
	b.bytes += bytes;
	if (b.bytes > MOST_BYTES) wrong(w, at, "%lld bytes are expected in one phase, and an mbarrier counts to %lld", static_cast<long long>(b.bytes), static_cast<long long>(MOST_BYTES));
	hook_barrier_arrive(barrier);
	let_know(a, w.current, b.generic, b.async);
	b.missing--;
	end_phase(w, a, number);
	if (a.completion == SHUFFLED && random_below(a, 2)) make_any(w, a);
}

uint32_t cuemu_mbarrier_phase(void *barrier, const char *file, int line) {
	Unseen books;
	Worker &w = *this_worker;
	Async &a = activate(w);
	return a.barriers[static_cast<size_t>(barrier_at(w, a, barrier, {file, line}))].phase;
}

void cuemu_mbarrier_drop(void *barrier, const char *file, int line) {
	Unseen books;
	Worker &w = *this_worker;
	Async &a = activate(w);
	MBarrier &b = a.barriers[static_cast<size_t>(barrier_at(w, a, barrier, {file, line}))];
	if (b.arrivals == 1) wrong(w, {file, line}, "the last thread of an mbarrier drops out: nobody could arrive any more");
	b.arrivals--;
}

// cuemu_mbarrier_arrive_at: at the mbarrier that lies there in another block of the cluster, or in this one. Clocks stay in their block.
void cuemu_mbarrier_arrive_at(void *barrier, unsigned rank, const char *file, int line) {
	Unseen books;
	Worker &w = *this_worker;
	activate(w);
	if (rank == w.rank) return cuemu_mbarrier_arrive(barrier, 0, file, line);
	const Origin at = {file, line};
	Worker &in = peer_in(w, rank, at);
	Async &a = *in.async;
	const int number = barrier_in(w, in, arena_offset(w, barrier, 8, at), at);
	MBarrier &b = a.barriers[number];
	if (b.missing == 0) wrong(w, at, "more than the %u arrivals of a phase, in another block (initialised at %s:%d)", b.arrivals, b.init.file, b.init.line);
	b.missing--;
	end_phase(in, a, number);
}

void cuemu_mbarrier_wait(void *barrier, uint32_t parity, const char *file, int line) {
	Unseen books;
	Worker &w = *this_worker;
	Async &a = activate(w);
	const Origin at = {file, line};
	const int number = barrier_at(w, a, barrier, at);
	check_known(w, a, a.barriers[number], at);
	if (a.completion == SHUFFLED && random_below(a, 2)) make_any(w, a);
	const uint32_t phase = a.barriers[number].phase;
	if ((phase & 1) == (parity & 1)) {
		a.barriers[number].waiting.push_back(w.current);
		wait_in_async(w, "an mbarrier", at);
		const MBarrier &b = a.barriers[number];
		if (b.phase - phase > 1)
			wrong(w, at, "the mbarrier ended %u phases while this thread waited for one: it may wait for ever, since the parity is the old one again (initialised at %s:%d)",
			      b.phase - phase, b.init.file, b.init.line);
	}
	learn(a, w.current, a.barriers[number].ended_generic, a.barriers[number].ended_async);
	hook_barrier_leave(barrier);
}

// meet: the running thread comes to a barrier, and waits for the others.
static void meet(Worker &w, Async &a, NamedBarrier &b, int waits, const char *what, Origin at) {
	hook_barrier_arrive(&b);
	let_know(a, w.current, b.generic, b.async);
	const uint32_t phase = b.phase;
	if (++b.arrived == b.threads) {
		b.arrived = 0;
		b.phase++;
		b.ended_generic = b.generic, b.ended_async = b.async;
		wake(w, b.waiting);
	}
	if (!waits) return;
	if (b.phase == phase) {
		b.waiting.push_back(w.current);
		wait_in_async(w, what, at);
	}
	learn(a, w.current, b.ended_generic, b.ended_async);
	hook_barrier_leave(&b);
}

// cuemu_named_barrier: bar.sync, or bar.arrive, which does not wait.
void cuemu_named_barrier(int number, int threads, int waits, const char *file, int line) {
	Unseen books;
	Worker &w = *this_worker;
	Async &a = activate(w);
	const Origin at = {file, line};
	if (number < 1 || number > 15) wrong(w, at, "named barrier %d: there are 1 to 15, and 0 is __syncthreads", number);
	if (threads < 32 || threads % 32 != 0 || threads > static_cast<int>(w.warps * 32))
		wrong(w, at, "named barrier %d of %d threads: want a multiple of 32, at most the block's %u", number, threads, w.threads);
	NamedBarrier &b = a.named[number];
	if (b.arrived == 0) b.threads = threads, b.first = at;
	else if (b.threads != threads)
		wrong(w, at, "named barrier %d of %d threads, which is one of %d at %s:%d", number, threads, b.threads, b.first.file, b.first.line);
	meet(w, a, b, waits, "a named barrier", at);
}

// The tiles of 64 threads have the first 16 barriers, those of 128 the next 8.
void cuemu_tile_barrier(unsigned threads, const char *file, int line) {
	Unseen books;
	Worker &w = *this_worker;
	const Origin at = {file, line};
	if (threads >= w.threads) return __syncthreads(file, line);
	Async &a = activate(w);
	unsigned number = w.current / threads;
	for (unsigned smaller = 64; smaller < threads; smaller *= 2) number += MAX_THREADS / smaller;
	NamedBarrier &b = a.tiles[number];
	const unsigned first = w.current / threads * threads;
	b.threads = static_cast<int>(w.threads - first < threads ? w.threads - first : threads);
	meet(w, a, b, 1, "the barrier of a tile", at);
}

void cuemu_tile_put(const void *value, size_t bytes) {
	Unseen books;
	Async &a = activate(*this_worker);
	if (bytes > sizeof a.of_tiles[0]) wrong(*this_worker, {nullptr, 0}, "a tile of several warps exchanges values of at most 64 bytes, and these have %zu", bytes);
	memcpy(a.of_tiles[this_worker->current / 32], value, bytes);
}

void cuemu_tile_get(unsigned warp, void *value, size_t bytes) {
	Unseen books;
	memcpy(value, activate(*this_worker).of_tiles[warp], bytes);
}

}  // extern "C"
