// Blocks of a grid that run beside each other on one OS thread, each as a Worker of its own. In a cooperative launch all
// blocks of the grid do, and share a barrier. In any other launch a block whose threads do nothing but wait for
// something in memory is parked, and those that come after it get turns: what it waits for may be theirs to write.
#include "cuemu/check.h"
#include "cuemu/fiber_hooks.h"
#include "cuemu/scheduler.h"

namespace cuemu {

namespace {

// Resident: the blocks that have started and not ended.
struct Resident {
	unsigned count, made;                       // made: blocks of block_beside that were used
	Worker *block[MAX_RESIDENT];
};

int grid_arrivals, grid_departures;            // for TSan: what threads release before the grid's barrier, and acquire after it

// start makes a block of the grid ready on a worker of its own; false: no memory.
CUEMU_PLAIN bool start(Worker &w, Resident &r, Worker *b, uint64_t number) {
	if (!b) return false;
	uint3 at;
	block_index(number, &at);
	b->order = w.order;
	b->order.seed = w.order.seed * MAX_RESIDENT + number;
	set_up(*b, *w.job);
	b->cluster = &b->own_cluster;
	b->own_cluster.size = b->own_cluster.yielded = 1;
	b->own_cluster.block[0] = b;
	b->own_cluster.arrived = 0;
	b->rank = 0;
	b->at = at;
	const uint3 kept = blockIdx;
	blockIdx = at;
	start_block(*b, number);
	blockIdx = kept;
	start_fibers(*b);
	r.block[r.count++] = b;
	return true;
}

// enter gives a block its turn.
CUEMU_PLAIN void enter(Worker &w, Worker &b) {
	blockIdx = b.at;
	cuemu_arena = b.arena;
	cuemu_promoted = true;
	b.parked = false;
	b.yields = 0;
	this_worker = &b;
	w.at_home.store(false);
	enter_block(b);
	w.at_home.store(true);
	this_worker = &w;
	b.parkings += b.parked;
}

CUEMU_PLAIN bool is_over() { return abandoned.load(std::memory_order_relaxed); }

// leave: the launch is abandoned, or all blocks have ended.
CUEMU_PLAIN bool leave(Worker &w, const Resident &r) {
	for (unsigned i = 0; i < r.count; i++) r.block[i]->in_block = false;
	w.in_block = false;
	w.at_home.store(false);
	this_worker = &w;
	return !is_over();
}

CUEMU_PLAIN void no_memory(const Worker &w, unsigned blocks) {
	report(CUEMU_LAUNCH_ERROR, w.job->file, w.job->line, "no memory for the stacks of %u blocks at once", blocks);
	abandoned.store(true);
}

CUEMU_PLAIN void moved_on(Worker &w) { w.progress.store(w.progress.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }

CUEMU_PLAIN void finish(Worker &w, Worker &b) {
	finish_block(b);
	moved_on(w);
}

// all_arrived: every block still has its first thread, which speaks for it, and no thread of it is on its way.
CUEMU_PLAIN bool all_arrived(const Resident &r) {
	for (unsigned i = 0; i < r.count; i++) {
		const Worker &b = *r.block[i];
		if (!(b.warp[0].live & 1)) return false;
		for (unsigned warp = 0; warp < b.warps; warp++)
			if (b.warp[warp].live != b.warp[warp].in_grid) return false;
	}
	return true;
}

CUEMU_PLAIN void pass_grid_barrier(Worker &w, Resident &r) {
	hook_barrier_complete(&grid_arrivals, &grid_departures);
	if (watching) order_grid();
	for (unsigned i = 0; i < r.count; i++) {
		Worker &b = *r.block[i];
		for (unsigned warp = 0; warp < b.warps; warp++) {
			const uint32_t lanes = b.warp[warp].in_grid;
			b.warp[warp].in_grid = 0;
			if (lanes) make_runnable(b, warp, lanes);
		}
	}
	moved_on(w);
}

// tell_stuck: threads of the grid are left and none can run.
CUEMU_PLAIN void tell_stuck(Worker &w, const Resident &r) {
	for (unsigned i = 0; i < r.count; i++) {
		if (!r.block[i]->live) continue;
		this_worker = r.block[i];
		blockIdx = r.block[i]->at;
		tell_deadlock(*r.block[i]);
		if (debugging) cuemu_debug_stop(first_report().message);
		break;
	}
	this_worker = &w;
	abandoned.store(true);
}

CUEMU_PLAIN void shuffle(Resident &r, uint64_t *random) {
	for (unsigned i = r.count; i > 1; i--) {
		*random = mix(*random);
		const unsigned other = static_cast<unsigned>((*random >> 32) % i);
		Worker *kept = r.block[i - 1];
		r.block[i - 1] = r.block[other];
		r.block[other] = kept;
	}
}

CUEMU_PLAIN bool start_all(Worker &w, Resident &r) {
	const Job &job = *w.job;
	const unsigned blocks = job.grid.x * job.grid.y * job.grid.z;
	for (unsigned i = 0; i < blocks; i++) {
		const unsigned number = w.order.policy == REVERSE ? blocks - 1 - i : i;
		if (start(w, r, block_beside(i), number)) continue;
		no_memory(w, blocks);
		return false;
	}
	return true;
}

}  // namespace

// run_resident_grid gives every block that can run a turn, until none can: then all are at the grid's barrier, or have
// ended, or wait for ever.
CUEMU_PLAIN bool run_resident_grid(Worker &w) {
	Resident r;
	r.count = 0;
	w.at_home.store(true);
	w.in_block = true;
	if (!start_all(w, r)) return leave(w, r);
	uint64_t random = mix(w.order.seed);
	for (bool live = true; live && !is_over(); ) {
		if (w.order.policy == RANDOM || w.order.policy == GREEDY) shuffle(r, &random);
		bool ran = false;
		live = false;
		for (unsigned i = 0; i < r.count && !is_over(); i++) {
			Worker &b = *r.block[i];
			if (b.live && (b.ready || async_idle(b))) enter(w, b), ran = true;
			live |= b.live != 0;
		}
		if (ran || !live || is_over()) continue;
		if (all_arrived(r)) pass_grid_barrier(w, r);
		else tell_stuck(w, r);
	}
	for (unsigned i = 0; i < r.count && !is_over(); i++) finish(w, *r.block[i]);
	return leave(w, r);
}

// run_beside starts one more block whenever all that are there have been parked, lowest numbers first as on a GPU, and
// gives all a turn. A block that ends makes room. With no block left to start, those that are there go on in turns: if
// they wait for ever, the watchdog says where.
CUEMU_PLAIN bool run_beside(Worker &w) {
	const unsigned most = resident_blocks(w.threads);
	Resident r;
	r.count = 1;
	r.block[0] = &w;
	Worker *idle[MAX_RESIDENT];
	unsigned idle_count = 0, made = 0;
	w.at = blockIdx;
	w.at_home.store(true);
	take_ascending();
	while (r.count && !is_over()) {
		uint64_t number;
		if (r.count < most && take_block(&number) &&
		    !start(w, r, idle_count ? idle[--idle_count] : block_beside(made++), number))
			no_memory(w, r.count + 1);
		unsigned left = 0;
		for (unsigned i = r.count; i-- > 0 && !is_over(); ) enter(w, *r.block[i]);
		for (unsigned i = 0; i < r.count && !is_over(); i++) {
			Worker *b = r.block[i];
			if (b->live) {
				r.block[left++] = b;
				continue;
			}
			finish(w, *b);
			if (b != &w) idle[idle_count++] = b, b->in_block = false;
		}
		if (!is_over()) r.count = left;
	}
	return leave(w, r);
}

CUEMU_PLAIN void poll(Worker &w, const void *p, bool changes) {
	const unsigned most = 32, thread = thread_of(w);
	if (changes && (w.polled != p || w.polling_thread != thread)) {
		w.polled = p;
		w.polling_thread = thread;
		return;
	}
	if (++w.polls < most) return;
	w.polls = 0;
	cuemu_yield();
}

}  // namespace cuemu

using namespace cuemu;

extern "C" {

CUEMU_PLAIN void cuemu_poll(const void *p) {
	if (this_worker && this_worker->in_block) poll(*this_worker, p, false);
}

CUEMU_PLAIN void cuemu_poll_atomic(const void *p) {
	if (this_worker && this_worker->in_block) poll(*this_worker, p, true);
}

CUEMU_PLAIN int cuemu_cooperative(void) { return current_launch.job.cooperative; }

CUEMU_PLAIN void cuemu_grid_sync(const char *file, int line) {
	if (!current_launch.job.cooperative) {
		report(CUEMU_TRAP, file, line, "grid.sync() in a kernel that was not launched with cudaLaunchCooperativeKernel");
		abandon(*this_worker);
	}
	cuemu_promote();
	hook_barrier_arrive(&grid_arrivals);
	Wait wait = {IN_GRID, 0, line, file, nullptr};
	wait_for_others(&wait);
	hook_barrier_leave(&grid_departures);
}

}  // extern "C"
