// The blocks of a launch: which an OS thread takes next, how one starts, and what runs its threads.
#include "cuemu/check.h"
#include "cuemu/fiber_hooks.h"
#include "cuemu/scheduler.h"

namespace cuemu {

CUEMU_PLAIN void start_block(Worker &w, uint64_t block) {
	if (block == 0 || w.order.policy == RANDOM || w.order.policy == GREEDY || !w.in_block) set_ranks(w, block);
	w.in_block = true;
	w.arrived = 0;
	w.votes = 0;
	w.cursor = 0;
	w.parked = false;
	w.yields = w.parkings = w.polls = 0;
	w.direct = !CUEMU_TSAN && !debugging;
	w.direct_thread = MAX_THREADS;
	cuemu_promoted = false;
	async_start(w);
	open_arena(w);
	if (watching) watch_block(w);
}

CUEMU_PLAIN void finish_block(Worker &w) {
	close_arena(w);
	w.progress.store(w.progress.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

namespace {

CUEMU_PLAIN void start_own_block(Worker &w, uint64_t block) {
	block_index(block, &blockIdx);
	w.own_cluster.arrived = 0;
	start_block(w, block);
}

// run_direct calls the threads of a block one after the other, warps by rank. False: the block was promoted, and the thread that did it has ended.
CUEMU_PLAIN bool run_direct(Worker &w) {
	for (unsigned rank = 0; rank < w.warps; rank++) {
		unsigned warp = w.warp_at[rank], lanes = lanes_of(w, warp);
		bool down = w.warp[warp].down;
		threadIdx = thread_index(warp * 32 + (down ? lanes - 1 : 0));
		w.job->lanes(w.job->body, lanes, down);
		if (cuemu_promoted) return false;
	}
	return true;
}

// next_block takes the next block of the grid; chunks of them from the shared counter.
CUEMU_PLAIN bool next_block(uint64_t *block, uint64_t *left) {
	LaunchState &l = current_launch;
	if (abandoned.load(std::memory_order_relaxed)) return false;
	if (*left == 0) {
		uint64_t first = l.next.fetch_add(l.chunk, std::memory_order_relaxed);
		if (first >= l.blocks) return false;
		*left = l.blocks - first < l.chunk ? l.blocks - first : l.chunk;
		*block = first;
	} else {
		++*block;
	}
	--*left;
	return true;
}

__thread uint64_t block_of_order, blocks_left;

// direct_main runs whole blocks on the direct stack until one is promoted; then it has become that block's fiber.
CUEMU_PLAIN void direct_main() {
	Worker &w = *this_worker;
	hook_arrive_first(w);
	for (;;) {
		if (!run_direct(w)) leave_kernel(w);
		finish_block(w);
		if (!next_block(&block_of_order, &blocks_left)) break;
		start_own_block(w, grid_position(block_of_order));
	}
	w.in_block = false;
	void *dead;
	hook_die_home(w, DIRECT_STACK);
	cuemu_switch(&dead, w.home);
}

}  // namespace

CUEMU_PLAIN bool take_block(uint64_t *number) {
	if (!next_block(&block_of_order, &blocks_left)) return false;
	*number = grid_position(block_of_order);
	return true;
}

CUEMU_PLAIN void take_ascending() {
	if (os_threads() == 1) set_ascending(current_launch, block_of_order + 1);
}

CUEMU_PLAIN void set_up(Worker &w, const Job &job) {
	w.job = &job;
	w.threads = job.block.x * job.block.y * job.block.z;
	w.warps = (w.threads + 31) / 32;
	w.one_dimensional = job.block.y == 1 && job.block.z == 1;
	w.divergence_reported = false;
	w.in_block = false;
	hook_prepare(w, w.threads);
}

// run_own_block runs the block that has been started until it ends or is parked.
CUEMU_PLAIN static void run_own_block(Worker &w) {
	void *context;
	unsigned slot = DIRECT_STACK;
	if (w.direct) {
		context = new_stack(stack_top(w, DIRECT_STACK), direct_main);
	} else {
		slot = start_fibers(w);
		context = context_of(w, slot);
	}
	hook_leave_home(w, slot);
	cuemu_switch(&w.home, context);
	hook_arrive_home(w);
}

// run_blocks takes blocks until none is left or the launch is abandoned.
CUEMU_PLAIN void run_blocks(Worker &w) {
	const Job &job = current_launch.job;
	blockDim = job.block;
	gridDim = job.grid;
	blocks_left = 0;
	set_up(w, job);
	w.cluster = &w.own_cluster;
	w.own_cluster.size = w.own_cluster.yielded = 1;
	w.own_cluster.block[0] = &w;
	while (next_block(&block_of_order, &blocks_left)) {
		if (current_launch.cluster_size > 1) {
			if (!run_cluster(w, grid_position(block_of_order))) break;
			continue;
		}
		if (current_launch.job.cooperative) {
			if (!run_resident_grid(w)) break;
			continue;
		}
		start_own_block(w, grid_position(block_of_order));
		run_own_block(w);
		if (abandoned.load(std::memory_order_relaxed)) break;
		if (w.parked ? !run_beside(w) : false) break;
		if (w.in_block) finish_block(w);
		w.in_block = false;
	}
	w.in_block = false;
}

}  // namespace cuemu
