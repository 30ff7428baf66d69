// What a debugger asks of a kernel that has stopped (gdb.py): where the threads of the block stand. CUEMU_DEBUG gives every thread a stack of its
// own from its start.
#include <cstdio>
#include <cstdlib>

#include "cuemu/scheduler.h"

namespace cuemu {

bool debugging = getenv("CUEMU_DEBUG") != nullptr;

namespace {

const size_t ROOM = 1 << 17;
char text[ROOM];

const char *state_of(const Worker &w, unsigned thread) {
	const Warp &p = w.warp[thread / 32];
	const uint32_t bit = 1u << thread % 32;
	if (!(p.live & bit)) return "ended";
	if (thread == w.current) return "runs";
	if (!(p.started & bit)) return "ready";
	if ((p.at_barrier | p.in_collective | p.in_activemask | p.in_cluster | p.in_async | p.in_grid) & bit) return "waits";
	return "can go on";
}

}  // namespace

}  // namespace cuemu

using namespace cuemu;

extern "C" {

// cuemu_debug_threads: a line for each thread of the block: x y z warp state, and for one that waits the line and file.
CUEMU_API const char *cuemu_debug_threads(void) {
	const Worker *w = this_worker;
	if (!w || !w->in_block) return "";
	size_t n = 0;
	for (unsigned t = 0; t < w->threads && n + 600 < ROOM; t++) {
		const uint3 at = thread_index(t);
		const char *state = state_of(*w, t);
		n += static_cast<size_t>(snprintf(text + n, ROOM - n, "%u %u %u\t%u\t%s", at.x, at.y, at.z, t / 32, state));
		const Wait *wait = state[0] == 'w' ? w->fiber[t].wait : nullptr;
		if (wait) n += static_cast<size_t>(snprintf(text + n, ROOM - n, "\t%d\t%.400s", wait->line, wait->file));
		n += static_cast<size_t>(snprintf(text + n, ROOM - n, "\n"));
	}
	return text;
}

// cuemu_debug_context: where cuemu_switch has left the registers of a thread; null: it runs, has not started, or has ended.
CUEMU_API void *cuemu_debug_context(unsigned thread) {
	const Worker *w = this_worker;
	if (!w || !w->in_block || thread >= w->threads || thread == w->current) return nullptr;
	const Warp &p = w->warp[thread / 32];
	return (p.live & p.started) >> thread % 32 & 1 ? w->fiber[thread].sp : nullptr;
}

// cuemu_debug_resume makes a thread of the same warp the one that runs, and keeps the registers of the other at `sp`.
CUEMU_API void cuemu_debug_resume(unsigned thread, void *sp) {
	Worker &w = *this_worker;
	w.fiber[w.current].sp = sp;
	w.current = thread;
	threadIdx = thread_index(thread);
}

// A debugger stops here: something is wrong.
CUEMU_API __attribute__((noinline)) void cuemu_debug_stop(const char *message) { asm volatile("" : : "r"(message) : "memory"); }

}  // extern "C"
