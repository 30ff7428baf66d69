// What a debugger reads of a kernel that has stopped (gdb.py): where the threads of the block stand. CUEMU_DEBUG gives every thread a stack of its
// own from its start. The debugger calls no function: gdb 13 cannot, where a processor has registers that it does not know (AMX).
#include <cstddef>
#include <cstdlib>

#include "cuemu/scheduler.h"

namespace cuemu {

bool debugging = getenv("CUEMU_DEBUG") != nullptr;

}  // namespace cuemu

using namespace cuemu;

extern "C" {

// cuemu_debug_layout is where gdb.py finds what it reads, in the order of its Block.LAYOUT.
extern CUEMU_API const uint64_t cuemu_debug_layout[];
const uint64_t cuemu_debug_layout[] = {
	offsetof(Worker, in_block), offsetof(Worker, threads), offsetof(Worker, current), offsetof(Worker, warp), sizeof(Warp), offsetof(Worker, fiber),
	sizeof(Fiber), offsetof(Fiber, sp), offsetof(Fiber, wait), offsetof(Wait, line), offsetof(Wait, file), offsetof(Warp, live),
	offsetof(Warp, at_barrier), offsetof(Warp, in_collective), offsetof(Warp, in_activemask), offsetof(Warp, in_cluster), offsetof(Warp, in_async),
	offsetof(Warp, in_grid)};

// cuemu_debug_ready is the wait of a thread that has a stack and has not begun.
extern CUEMU_API const Wait cuemu_debug_ready;
const Wait cuemu_debug_ready = {};

// cuemu_debug_arrive is where a thread goes on that a debugger has stopped: behind it stands its own place.
CUEMU_API CUEMU_PLAIN void cuemu_debug_arrive(void) { threadIdx = thread_index(this_worker->current); }

// A debugger stops here: something is wrong.
CUEMU_API __attribute__((noinline)) void cuemu_debug_stop(const char *message) { asm volatile("" : : "r"(message) : "memory"); }

}  // extern "C"

namespace cuemu {

CUEMU_PLAIN void debug_start(Worker &w) {
	for (unsigned t = 0; t < w.threads; t++) {
		first_context(w, t);
		w.fiber[t].wait = &cuemu_debug_ready;
	}
}

}  // namespace cuemu
