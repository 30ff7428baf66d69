// Clusters: blocks that run at the same time, reach each other's shared memory and share a barrier. The blocks of a cluster run on one OS thread,
// each as a Worker of its own with its own stacks and arena. A block runs until no thread of it can; then home chooses the next.
//
// A block's arena is unmapped until its first thread runs and after its last has ended: who reaches it then, with no barrier of the cluster
// in between, faults.
#include <sys/mman.h>

#include <cstdlib>
#include <new>

#include "cuemu/fiber_hooks.h"
#include "cuemu/scheduler.h"

namespace cuemu {

namespace {

// Blocks that OS threads have made, kept for the next that run beside each other.
__thread Worker **blocks;

}  // namespace

CUEMU_PLAIN Worker *block_beside(unsigned i) {
	if (!blocks) blocks = static_cast<Worker **>(calloc(MAX_RESIDENT, sizeof(Worker *)));
	if (!blocks || blocks[i]) return blocks ? blocks[i] : nullptr;
	void *memory = mmap(nullptr, sizeof(Worker), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) return nullptr;
	Worker *w = new (memory) Worker();
	// Guards double the mappings of a stack, and a process may have 65,530: blocks beside the first go without. All run the same code.
	if (!prepare_worker(*w, i == 0)) return nullptr;
	return blocks[i] = w;
}

namespace {

CUEMU_PLAIN unsigned live_threads(const Cluster &c) {
	unsigned live = 0;
	for (unsigned i = 0; i < c.size; i++) live += c.block[i]->live;
	return live;
}

// complete lets all go on that wait at the barrier, and those that have arrived pass it when they come to wait.
CUEMU_PLAIN void complete(Cluster &c) {
	c.arrived = 0;
	hook_barrier_complete(&c.arrived, &c.departures);
	for (unsigned i = 0; i < c.size; i++) {
		Worker &b = *c.block[i];
		for (unsigned warp = 0; warp < b.warps; warp++) {
			Warp &p = b.warp[warp];
			p.passed |= p.arrived & ~p.in_cluster;
			p.arrived = 0;
			if (p.in_cluster) make_runnable(b, warp, p.in_cluster);
			p.in_cluster = 0;
		}
	}
}

// start_blocks makes every thread of the cluster ready. The blocks' indices follow from the cluster's, x fastest in both.
CUEMU_PLAIN bool start_blocks(Worker &w, Cluster &c, uint64_t number) {
	const Job &job = *w.job;
	const dim3 size = job.cluster, clusters(job.grid.x / size.x, job.grid.y / size.y, job.grid.z / size.z);
	const uint64_t x = number % clusters.x, y = number / clusters.x % clusters.y, z = number / clusters.x / clusters.y;
	for (unsigned rank = 0; rank < c.size; rank++) {
		Worker *b = block_beside(rank);
		if (!b) return false;
		c.block[rank] = b;
		b->order = w.order;
		b->order.seed = w.order.seed * MAX_CLUSTER + rank;
		set_up(*b, job);
		b->cluster = &c;
		b->rank = rank;
		b->at.x = static_cast<unsigned>(x * size.x + rank % size.x);
		b->at.y = static_cast<unsigned>(y * size.y + rank / size.x % size.y);
		b->at.z = static_cast<unsigned>(z * size.z + rank / size.x / size.y);
		start_block(*b, number);
		start_fibers(*b);
		b->entered = b->ended = false;
		guard_arena(*b, true);
	}
	return true;
}

// Turn is the order in which blocks that can run are asked.
struct Turn {
	unsigned rank[MAX_CLUSTER];
	uint64_t random;
};

CUEMU_PLAIN Turn turn_of(const Worker &w, uint64_t number) {
	Turn t;
	const unsigned size = current_launch.cluster_size;
	t.random = mix(w.order.seed * 0x100000001b3u + number);
	for (unsigned i = 0; i < size; i++) t.rank[i] = w.order.policy == REVERSE ? size - 1 - i : i;
	for (unsigned i = size; (w.order.policy == RANDOM || w.order.policy == GREEDY) && i > 1; i--) {
		t.random = mix(t.random);
		const unsigned other = static_cast<unsigned>((t.random >> 32) % i), kept = t.rank[i - 1];
		t.rank[i - 1] = t.rank[other];
		t.rank[other] = kept;
	}
	return t;
}

// demote puts a block that has yielded last: else two that wait for a third could take turns for ever.
CUEMU_PLAIN void demote(Turn &t, unsigned size, unsigned yielded) {
	unsigned to = 0;
	for (unsigned i = 0; i < size; i++)
		if (t.rank[i] != yielded) t.rank[to++] = t.rank[i];
	if (to < size) t.rank[to] = yielded;
}

// next_in_turn is a block that can run; null if there is none.
CUEMU_PLAIN Worker *next_in_turn(const Worker &w, Cluster &c, Turn &t) {
	if (w.order.policy == RANDOM) {
		t.random = mix(t.random);
		const unsigned first = static_cast<unsigned>((t.random >> 32) % c.size), kept = t.rank[0];
		t.rank[0] = t.rank[first];
		t.rank[first] = kept;
	}
	// Blocks that ask again and again for what a late copy has to do with would take turns for ever.
	c.yields = c.yielded < c.size ? c.yields + 1 : 0;
	if (c.yields > 64 * c.size)
		for (unsigned i = 0; i < c.size; i++) async_hurry(*c.block[i]);
	demote(t, c.size, c.yielded);
	c.yielded = c.size;
	for (unsigned i = 0; i < c.size; i++)
		if (c.block[t.rank[i]]->ready) return c.block[t.rank[i]];
	for (unsigned i = 0; i < c.size; i++)
		if (async_idle(*c.block[t.rank[i]])) return c.block[t.rank[i]];
	return nullptr;
}

CUEMU_PLAIN void end_blocks(Worker &w, Cluster &c) {
	for (unsigned i = 0; i < c.size; i++) {
		guard_arena(*c.block[i], false);
		close_arena(*c.block[i]);
		c.block[i]->in_block = false;
	}
	w.progress.store(w.progress.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// enter runs a block until it stops. Its arena is open from the first time on, until its last thread has ended.
CUEMU_PLAIN void enter(Worker &w, Worker &b) {
	if (!b.entered) guard_arena(b, false);
	b.entered = true;
	blockIdx = b.at;
	cuemu_arena = b.arena;
	cuemu_promoted = true;
	this_worker = &b;
	w.at_home.store(false);
	enter_block(b);
	w.at_home.store(true);
	this_worker = &w;
	if (b.live) return;
	b.ended = true;
	guard_arena(b, true);
}

// tell_stuck: threads are left and none can run.
CUEMU_PLAIN void tell_stuck(Worker &w, const Cluster &c) {
	for (unsigned i = 0; i < c.size; i++) {
		if (!c.block[i]->live) continue;
		this_worker = c.block[i];
		blockIdx = c.block[i]->at;
		tell_deadlock(*c.block[i]);
		if (debugging) cuemu_debug_stop(first_report().message);
		break;
	}
	this_worker = &w;
	abandoned.store(true);
}

}  // namespace

CUEMU_PLAIN bool run_cluster(Worker &w, uint64_t number) {
	Cluster c = {};
	c.size = c.yielded = current_launch.cluster_size;
	w.at_home.store(true);
	w.in_block = true;
	if (!start_blocks(w, c, number)) {
		report(CUEMU_LAUNCH_ERROR, w.job->file, w.job->line, "no memory for the stacks of a cluster of %u blocks", c.size);
		abandoned.store(true);
	}
	Turn turn = turn_of(w, number);
	while (!abandoned.load(std::memory_order_relaxed)) {
		Worker *b = next_in_turn(w, c, turn);
		if (b) enter(w, *b);
		else if (live_threads(c)) tell_stuck(w, c);
		else break;
	}
	const bool finished = !abandoned.load(std::memory_order_relaxed);
	if (finished) end_blocks(w, c);
	for (unsigned i = 0; i < c.size; i++)
		if (c.block[i]) c.block[i]->in_block = false;
	w.in_block = false;
	w.at_home.store(false);
	return finished;
}

CUEMU_PLAIN void cluster_left(Worker &w) {
	Cluster &c = *w.cluster;
	const unsigned live = live_threads(c);
	if (c.arrived && c.arrived >= live && live) complete(c);
}

const Worker *peer_of(const Worker &w, const char *address) {
	const Cluster &c = *w.cluster;
	for (unsigned i = 0; i < c.size; i++) {
		const Worker *b = c.block[i];
		if (b != &w && address >= b->arena - 4096 && address < b->arena + ARENA_BYTES + 4096) return b;
	}
	return nullptr;
}

namespace {

CUEMU_PLAIN Warp &warp_here(Worker &w, uint32_t *bit) {
	*bit = 1u << w.current % 32;
	return w.warp[w.current / 32];
}

}  // namespace

}  // namespace cuemu

using namespace cuemu;

extern "C" {

CUEMU_PLAIN unsigned cuemu_cluster_rank(void) { return this_worker->rank; }

CUEMU_PLAIN unsigned cuemu_cluster_size(void) { return this_worker->cluster->size; }

CUEMU_PLAIN void cuemu_cluster_arrive(const char *file, int line) {
	cuemu_promote();
	Worker &w = *this_worker;
	Cluster &c = *w.cluster;
	uint32_t bit;
	Warp &p = warp_here(w, &bit);
	if ((p.arrived | p.passed) & bit) {
		report(CUEMU_DIVERGENT, file, line, "a thread arrives at the barrier of the cluster twice with no wait between");
		abandon(w);
	}
	hook_barrier_arrive(&c.arrived);
	p.arrived |= bit;
	c.arrived++;
	if (c.arrived == live_threads(c)) complete(c);
}

CUEMU_PLAIN void cuemu_cluster_wait(const char *file, int line) {
	cuemu_promote();
	uint32_t bit;
	Warp &p = warp_here(*this_worker, &bit);
	if (!((p.arrived | p.passed) & bit)) {
		report(CUEMU_DIVERGENT, file, line, "a thread waits at the barrier of the cluster and has not arrived there");
		abandon(*this_worker);
	}
	Wait wait = {IN_CLUSTER, 0, line, file, nullptr};
	if (p.passed & bit) p.passed &= ~bit;
	else wait_for_others(&wait);
	hook_barrier_leave(&this_worker->cluster->departures);
}

// cuemu_peer_shared is where a peer has what lies at `own` in this block's shared memory.
CUEMU_PLAIN void *cuemu_peer_shared(const void *own, unsigned rank, const char *file, int line) {
	Worker &w = *this_worker;
	const char *at = static_cast<const char *>(own);
	if (at < cuemu_arena || at >= cuemu_arena + ARENA_BYTES)
		report(CUEMU_TRAP, file, line, "an address that is not in this block's shared memory is taken to a block of the cluster");
	else if (rank >= w.cluster->size)
		report(CUEMU_TRAP, file, line, "block %u of a cluster of %u", rank, w.cluster->size);
	else
		return w.cluster->block[rank]->arena + (at - cuemu_arena);
	abandon(w);
}

}  // extern "C"
