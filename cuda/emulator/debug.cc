// What a debugger asks of a kernel that has stopped (gdb.py): where the threads of the block stand. CUEMU_DEBUG gives every thread a stack of its
// own from its start.
#include <cstdio>
#include <cstdlib>

#include "cuemu/scheduler.h"

namespace cuemu {

bool debugging = getenv("CUEMU_DEBUG") != nullptr;

namespace {

const size_t ROOM = 1 << 19;
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

// cuemu_debug_threads: a line for each thread of the block: x y z warp state, and the line and file of the wait where it has stopped.
CUEMU_API const char *cuemu_debug_threads(void) {
	const Worker *w = this_worker;
	if (!w || !w->in_block) return "";
	size_t n = 0;
	for (unsigned t = 0; t < w->threads && n + 500 < ROOM; t++) {
		const uint3 at = thread_index(t);
		const char *state = state_of(*w, t);
		n += static_cast<size_t>(snprintf(text + n, ROOM - n, "%u %u %u\t%u\t%s", at.x, at.y, at.z, t / 32, state));
		const Wait *wait = state[0] == 'w' || state[0] == 'c' ? w->fiber[t].wait : nullptr;
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

// cuemu_debug_start gives a thread its stack, if it has none.
CUEMU_API void cuemu_debug_start(unsigned thread) { context_of(*this_worker, thread); }

// cuemu_debug_resume makes another thread the one that runs; the registers of this one are kept at `sp`.
CUEMU_API void cuemu_debug_resume(unsigned thread, void *sp) {
	Worker &w = *this_worker;
	w.fiber[w.current].sp = sp;
	w.fiber[w.current].wait = nullptr;
	w.current = thread;
	threadIdx = thread_index(thread);
}

// cuemu_debug_arrive is where a thread goes on that a debugger has stopped: behind it stands its own place.
CUEMU_API CUEMU_PLAIN void cuemu_debug_arrive(void) { threadIdx = thread_index(this_worker->current); }

// A debugger stops here: something is wrong.
CUEMU_API __attribute__((noinline)) void cuemu_debug_stop(const char *message) { asm volatile("" : : "r"(message) : "memory"); }

}  // extern "C"
