// What ASan and TSan must be told about fibers. Without a sanitizer every hook is empty.
//
// ASan gets each switch announced, with the bounds of the stack it goes to. TSan sees every CUDA thread as a TSan fiber; switches carry no
// happens-before, only barriers do. A barrier needs two tokens: arrivals release A, the thread that completes it acquires A and releases
// B, waiters acquire B; with one, a fast thread's next arrival would leak into slow waiters and hide real races.
#ifndef CUEMU_FIBER_HOOKS_H
#define CUEMU_FIBER_HOOKS_H

#include "cuemu/scheduler.h"

#if CUEMU_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if CUEMU_TSAN
#include <sanitizer/tsan_interface.h>

#include <cstdio>

extern "C" void AnnotateIgnoreReadsBegin(const char *file, int line);
extern "C" void AnnotateIgnoreReadsEnd(const char *file, int line);
extern "C" void AnnotateIgnoreWritesBegin(const char *file, int line);
extern "C" void AnnotateIgnoreWritesEnd(const char *file, int line);
#endif

namespace cuemu {

#if CUEMU_ASAN

CUEMU_PLAIN inline void announce(Worker &w, void **fake, unsigned to) {
	__sanitizer_start_switch_fiber(fake, w.stacks + to * STACK_STRIDE + STACK_GUARD, STACK_STRIDE - STACK_GUARD);
}
CUEMU_PLAIN inline void hook_prepare(Worker &, unsigned) {}
CUEMU_PLAIN inline void hook_leave(Worker &w, unsigned from, unsigned to) { announce(w, &w.sanitizer_fake[from], to); }
CUEMU_PLAIN inline void hook_arrive(Worker &w, unsigned self) { __sanitizer_finish_switch_fiber(w.sanitizer_fake[self], nullptr, nullptr); }
CUEMU_PLAIN inline void hook_leave_home(Worker &w, unsigned to) { announce(w, &w.sanitizer_home_fake, to); }
CUEMU_PLAIN inline void hook_arrive_home(Worker &w) { __sanitizer_finish_switch_fiber(w.sanitizer_home_fake, nullptr, nullptr); }
// The bounds of the stack that a first fiber came from: home's, where the sanitizer knew them; later arrivals come from fibers.
CUEMU_PLAIN inline void hook_arrive_first(Worker &w) {
	const void *bottom;
	size_t bytes;
	__sanitizer_finish_switch_fiber(nullptr, &bottom, &bytes);
	const char *stacks = w.stacks, *from = static_cast<const char *>(bottom);
	if (from >= stacks && from < stacks + (MAX_THREADS + 1) * STACK_STRIDE) return;
	w.home_stack = bottom;
	w.home_stack_bytes = bytes;
}
CUEMU_PLAIN inline void hook_die(Worker &w, unsigned, unsigned to) { announce(w, nullptr, to); }
CUEMU_PLAIN inline void hook_die_home(Worker &w, unsigned) { __sanitizer_start_switch_fiber(nullptr, w.home_stack, w.home_stack_bytes); }
CUEMU_PLAIN inline void hook_park(Worker &w, unsigned from) { __sanitizer_start_switch_fiber(&w.sanitizer_fake[from], w.home_stack, w.home_stack_bytes); }

#elif CUEMU_TSAN

CUEMU_PLAIN inline void enter(void *fiber) { __tsan_switch_to_fiber(fiber, __tsan_switch_to_fiber_no_sync); }
// A new TSan fiber inherits what its creator knew: so home makes them all, not the thread that switches to it first.
CUEMU_PLAIN inline void hook_prepare(Worker &w, unsigned threads) {
	for (unsigned i = 0; i < threads; i++) {
		if (w.sanitizer_fiber[i]) continue;
		char name[32];
		snprintf(name, sizeof name, "cuda thread %u", i);   // read by triad in a report
		__tsan_set_fiber_name(w.sanitizer_fiber[i] = __tsan_create_fiber(0), name);
	}
}
CUEMU_PLAIN inline void hook_leave(Worker &w, unsigned, unsigned to) { enter(w.sanitizer_fiber[to]); }
CUEMU_PLAIN inline void hook_arrive(Worker &, unsigned) {}
// A launch's start orders what the host did before it; its end orders what the threads did.
CUEMU_PLAIN inline void hook_leave_home(Worker &w, unsigned to) {
	w.sanitizer_home = __tsan_get_current_fiber();
	enter(w.sanitizer_fiber[to]);
}
CUEMU_PLAIN inline void hook_arrive_home(Worker &) { __tsan_acquire(&current_launch.chunk); }
CUEMU_PLAIN inline void hook_arrive_first(Worker &) { __tsan_acquire(&current_launch.blocks); }
CUEMU_PLAIN inline void hook_die(Worker &w, unsigned, unsigned to) {
	__tsan_release(&current_launch.chunk);
	enter(w.sanitizer_fiber[to]);
}
CUEMU_PLAIN inline void hook_die_home(Worker &w, unsigned) {
	__tsan_release(&current_launch.chunk);
	enter(w.sanitizer_home);
}
CUEMU_PLAIN inline void hook_park(Worker &w, unsigned) { enter(w.sanitizer_home); }   // home comes back: nothing is over yet

#else

inline void hook_prepare(Worker &, unsigned) {}
inline void hook_leave(Worker &, unsigned, unsigned) {}
inline void hook_arrive(Worker &, unsigned) {}
inline void hook_leave_home(Worker &, unsigned) {}
inline void hook_arrive_home(Worker &) {}
inline void hook_arrive_first(Worker &) {}
inline void hook_die(Worker &, unsigned, unsigned) {}
inline void hook_die_home(Worker &, unsigned) {}
inline void hook_park(Worker &, unsigned) {}

#endif

#if CUEMU_TSAN
CUEMU_PLAIN inline void hook_launch_starts() { __tsan_release(&current_launch.blocks); }
CUEMU_PLAIN inline void hook_barrier_arrive(void *arrivals) { __tsan_release(arrivals); }
CUEMU_PLAIN inline void hook_barrier_complete(void *arrivals, void *departures) {
	__tsan_acquire(arrivals);
	__tsan_release(departures);
}
CUEMU_PLAIN inline void hook_barrier_leave(void *departures) { __tsan_acquire(departures); }
#else
inline void hook_launch_starts() {}
inline void hook_barrier_arrive(void *) {}
inline void hook_barrier_complete(void *, void *) {}
inline void hook_barrier_leave(void *) {}
#endif

// Unseen: while it lives, TSan does not look at what this thread does. The books of asynchronous instructions are kept so.
class Unseen {
public:
#if CUEMU_TSAN
	CUEMU_PLAIN Unseen() {
		AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
		AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
	}
	CUEMU_PLAIN ~Unseen() {
		AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
		AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
	}
#else
	Unseen() {}
	~Unseen() {}
#endif
	Unseen(const Unseen &) = delete;
	Unseen &operator=(const Unseen &) = delete;
};

// __syncwarp is a barrier of its own tokens, a pair for each warp.
inline void hook_syncwarp_arrive(void *arrivals) { hook_barrier_arrive(arrivals); }
inline void hook_syncwarp_complete(void *arrivals, void *departures) { hook_barrier_complete(arrivals, departures); }
inline void hook_syncwarp_leave(void *departures) { hook_barrier_leave(departures); }

}  // namespace cuemu

#endif
