// Ordinary accesses of kernels that were compiled with -fsanitize=thread and CUEMU_ACCESSES: the compiler's calls come here, and there is no
// ThreadSanitizer. An access of what a copy or a product holds is a report; stores go into the shadows of async_state.h.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "cuemu/async_state.h"
#include "cuemu/check.h"

#if !CUEMU_TSAN

namespace cuemu {

namespace {

const size_t STACKS = (MAX_THREADS + 1) * STACK_STRIDE;

// stop reports an access at a place of the program; a return address points behind the call.
__attribute__((format(printf, 3, 4))) void stop(Worker &w, Pc pc, const char *format, ...) {
	if (cuemu_report *r = open_report(CUEMU_TRAP)) {
		va_list args;
		va_start(args, format);
		vsnprintf(r->message, sizeof r->message, format, args);
		va_end(args);
		Dl_info at;
		const char *call = static_cast<const char *>(pc) - 1;
		if (dladdr(call, &at)) {
			snprintf(r->pc_module, sizeof r->pc_module, "%s", at.dli_fname);
			r->pc_offset = static_cast<uint64_t>(call - static_cast<const char *>(at.dli_fbase));
		}
	}
	abandon(w);
}

void stop_at_copy(Worker &w, const Async &a, uint32_t word, const char *verb, Pc pc) {
	const Copy &c = a.copies[a.in_flight[word] - 1];
	stop(w, pc, "a %s %s, where the copy of %s:%d has not been waited for", verb, byte_of(w, word * 4).text, c.at.file, c.at.line);
}

void read_shared(Worker &w, uint32_t begin, uint32_t end, Pc pc) {
	const Async &a = *w.async;
	for (uint32_t word = begin / 4; word <= (end - 1) / 4; word++)
		if (a.in_flight[word]) stop_at_copy(w, a, word, "read of", pc);
	const Clock &knows = a.generic[w.current];
	for (uint32_t i = begin; i < end; i++) {
		const uint32_t last = a.written[i];
		if (!(last & BY_COPY) || knows[last & THREAD_BITS] >= last >> 11) continue;
		const uint32_t by = last & THREAD_BITS;
		if (by >= w.threads) {
			const Origin init = a.barriers[by - w.threads].init;
			stop(w, pc, "a read of %s, which was copied, and this thread has not waited for the copy's mbarrier (initialised at %s:%d)", byte_of(w, i).text, init.file, init.line);
		}
		stop(w, pc, "a read of %s, which a cp.async of thread %u wrote: no barrier lies between its wait and this read", byte_of(w, i).text, by);
	}
}

CUEMU_PLAIN void write_shared(Worker &w, uint32_t begin, uint32_t end, Pc pc) {
	Async *a = async_of(w);
	if (!a) return;
	const uint32_t t = thread_of(w);
	if (a->active) {
		for (uint32_t word = begin / 4; word <= (end - 1) / 4; word++)
			if (a->in_flight[word]) stop_at_copy(w, *a, word, "write to", pc);
		for (uint32_t chunk = begin / 16; chunk <= (end - 1) / 16; chunk++) {
			if (!a->reading[chunk]) continue;
			const Reader r = reader_of(*a, chunk);
			stop(w, pc, "a write to %s, which the %s of %s:%d still reads", byte_of(w, begin).text, r.what, r.at.file, r.at.line);
		}
	}
	const uint32_t by = (a->active ? a->epoch[t] : 1) << 11 | t;
	for (uint32_t i = begin; i < end; i++) a->written[i] = by;
	a->dirty = true;
}

// on_stack: words that a product holds as registers are nobody else's.
CUEMU_PLAIN void on_stack(Worker &w, size_t begin, size_t end, bool writes, Pc pc) {
	Async &a = *w.async;
	const uint32_t now = a.fences[w.current] << 5;
	for (size_t i = begin / 4; i <= (end - 1) / 4; i++) {
		uint32_t &word = a.registers[i];
		if (word & 1) stop(w, pc, "%s an accumulator of a product that has not been waited for", writes ? "a write to" : "a read of");
		if (!writes) continue;
		if (word & 30) stop(w, pc, "a write to a register operand of a product that has not been waited for");
		word = now;
	}
}

CUEMU_PLAIN inline void seen(const void *p, size_t bytes, bool writes, Pc pc) {
	Worker *w = this_worker;
	if (!w || !w->in_block || bytes == 0) return;
	if (watching) watch_access(*w, p, bytes, writes ? WRITES : 0, pc);
	const char *at = static_cast<const char *>(p);
	const size_t shared = static_cast<size_t>(at - w->arena);
	const bool active = w->async && w->async->active;
	if (shared < ARENA_BYTES && bytes <= ARENA_BYTES - shared) {
		const uint32_t begin = static_cast<uint32_t>(shared), end = begin + static_cast<uint32_t>(bytes);
		if (writes) write_shared(*w, begin, end, pc);
		else if (active) read_shared(*w, begin, end, pc);
		return;
	}
	if (!active) return;
	const size_t stack = static_cast<size_t>(at - w->stacks);
	if (stack < STACKS && bytes <= STACKS - stack) return on_stack(*w, stack, stack + bytes, writes, pc);
	const uintptr_t address = reinterpret_cast<uintptr_t>(p);
	if (!writes || address >= w->async->source_high || address + bytes <= w->async->source_low) return;
	if (const Copy *c = copy_reading(*w->async, address, bytes))
		stop(*w, pc, "a write to what the copy of %s:%d reads, which has not been waited for", c->at.file, c->at.line);
}

// An atomic operation on shared memory orders threads, by whatever it means to the kernel.
void seen_atomic(const volatile void *p, size_t bytes, bool writes, Pc pc) {
	Worker *w = this_worker;
	if (w && w->in_block) poll(*w, const_cast<const void *>(p), writes);
	else if (checking) host_atomic(const_cast<const void *>(p));
	if (watching) {
		if (w && w->in_block && !writes) note_asked(*w, const_cast<const void *>(p));
		if (w && w->in_block) watch_access(*w, const_cast<const void *>(p), bytes, ATOMIC | (writes ? WRITES : 0), pc);
		return;
	}
	seen(const_cast<const void *>(p), bytes, writes, pc);
	if (!w || !w->in_block || !w->async || !w->async->active) return;
	Async &a = *w->async;
	learn(a, w->current, a.atomics_generic, a.atomics_async);
	if (writes) let_know(a, w->current, a.atomics_generic, a.atomics_async);
}

// An atomic operation was made: changed gives what was there before.
template <class T> T changed(const volatile void *at, T before, T after) {
	const void *p = const_cast<const void *>(at);
	if (!watching || !this_worker || !this_worker->in_block) return before;
	if (before == after) note_asked(*this_worker, p);
	else note_change(*this_worker, p, before, after);
	return before;
}

void seen_volatile(const void *p, size_t bytes, bool writes, Pc pc) {
	Worker *w = this_worker;
	if (w && w->in_block && !writes) poll(*w, p, false);
	if (!watching) return seen(p, bytes, writes, pc);
	if (w && w->in_block && !writes) note_asked(*w, p);
	if (w && w->in_block) watch_access(*w, p, bytes, VOLATILE | (writes ? WRITES : 0), pc);
}

}  // namespace

void refuse_misaligned(uintptr_t address, uintptr_t alignment, Pc pc) {
	Worker *w = this_worker;
	const unsigned bytes = static_cast<unsigned>(std::min<uintptr_t>(alignment, 16));  // what a GPU takes at once at most
	if (!w || !w->in_block || address % bytes == 0) return;
	int64_t past_end;
	const char *at = reinterpret_cast<const char *>(address);
	const Buffer *b = nearest_buffer(at, &past_end);
	if (!b || at < b->data || past_end >= 0) return;  // where variables of a kernel lie is the compiler's choice
	stop(*w, pc, "misaligned address: %u bytes at once are read or written where the address is not a multiple of %u", bytes, bytes);
}

}  // namespace cuemu

using namespace cuemu;

#pragma GCC visibility push(default)
extern "C" {

#define HERE __builtin_return_address(0)
#define ACCESSES(n)                                                                                       \
	CUEMU_PLAIN void __tsan_read##n(void *p) { seen(p, n, false, HERE); }                             \
	CUEMU_PLAIN void __tsan_write##n(void *p) { seen(p, n, true, HERE); }                             \
	CUEMU_PLAIN void __tsan_unaligned_read##n(void *p) { seen(p, n, false, HERE); }                   \
	CUEMU_PLAIN void __tsan_unaligned_write##n(void *p) { seen(p, n, true, HERE); }                   \
	CUEMU_PLAIN void __tsan_volatile_read##n(void *p) { seen_volatile(p, n, false, HERE); }           \
	CUEMU_PLAIN void __tsan_volatile_write##n(void *p) { seen_volatile(p, n, true, HERE); }           \
	CUEMU_PLAIN void __tsan_unaligned_volatile_read##n(void *p) { seen_volatile(p, n, false, HERE); } \
	CUEMU_PLAIN void __tsan_unaligned_volatile_write##n(void *p) { seen_volatile(p, n, true, HERE); } \
	CUEMU_PLAIN void __tsan_read_write##n(void *p) { seen(p, n, true, HERE); }                        \
	CUEMU_PLAIN void __tsan_unaligned_read_write##n(void *p) { seen(p, n, true, HERE); }
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)
void __tsan_init(void) {}
void __tsan_read_range(void *p, size_t bytes) { seen(p, bytes, false, HERE); }
void __tsan_write_range(void *p, size_t bytes) { seen(p, bytes, true, HERE); }
void __tsan_vptr_update(void **p, void *) { seen(p, sizeof *p, true, HERE); }
void __tsan_vptr_read(void **p) { seen(p, sizeof *p, false, HERE); }
void __tsan_func_entry(void *) {}
void __tsan_func_exit(void) {}
void *__tsan_memcpy(void *to, const void *from, size_t bytes) {
	seen(from, bytes, false, HERE);
	seen(to, bytes, true, HERE);
	return memcpy(to, from, bytes);
}
void *__tsan_memmove(void *to, const void *from, size_t bytes) {
	seen(from, bytes, false, HERE);
	seen(to, bytes, true, HERE);
	return memmove(to, from, bytes);
}
void *__tsan_memset(void *to, int value, size_t bytes) {
	seen(to, bytes, true, HERE);
	return memset(to, value, bytes);
}

#define CHANGE(n, T, name)                                                                                \
	T __tsan_atomic##n##_##name(volatile T *p, T v, int) {                                            \
		seen_atomic(p, sizeof v, true, HERE);                                                     \
		const T before = __atomic_##name(p, v, __ATOMIC_SEQ_CST);                                 \
		return changed<T>(p, before, *p);                                                              \
	}
#define EXCHANGE_IF(n, T, name, weak)                                                                     \
	int __tsan_atomic##n##_compare_exchange_##name(volatile T *p, T *e, T v, int, int) {              \
		seen_atomic(p, sizeof v, true, HERE);                                                     \
		const T before = *e;                                                                      \
		const bool is = __atomic_compare_exchange_n(p, e, v, weak, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
		changed<T>(p, before, is ? v : before);                                                   \
		return is;                                                                                \
	}
#define ATOMICS(n, T)                                                                                     \
	T __tsan_atomic##n##_load(const volatile T *p, int) {                                             \
		seen_atomic(p, sizeof *p, false, HERE);                                                   \
		return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                              \
	}                                                                                                 \
	void __tsan_atomic##n##_store(volatile T *p, T v, int) {                                          \
		seen_atomic(p, sizeof v, true, HERE);                                                     \
		changed<T>(p, __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST), v);                                 \
	}                                                                                                 \
	T __tsan_atomic##n##_exchange(volatile T *p, T v, int) {                                          \
		seen_atomic(p, sizeof v, true, HERE);                                                     \
		return changed<T>(p, __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST), v);                          \
	}                                                                                                 \
	T __tsan_atomic##n##_compare_exchange_val(volatile T *p, T e, T v, int, int) {                    \
		seen_atomic(p, sizeof v, true, HERE);                                                     \
		const bool is = __atomic_compare_exchange_n(p, &e, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
		return changed<T>(p, e, is ? v : e);                                                      \
	}                                                                                                 \
	EXCHANGE_IF(n, T, strong, false)                                                                  \
	EXCHANGE_IF(n, T, weak, true)                                                                     \
	CHANGE(n, T, fetch_add)                                                                           \
	CHANGE(n, T, fetch_sub)                                                                           \
	CHANGE(n, T, fetch_and)                                                                           \
	CHANGE(n, T, fetch_or)                                                                            \
	CHANGE(n, T, fetch_xor)                                                                           \
	CHANGE(n, T, fetch_nand)
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)
void __tsan_atomic_thread_fence(int) {
	if (watching && this_worker && this_worker->in_block) order_fence(*this_worker);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void __tsan_atomic_signal_fence(int) {}

}  // extern "C"
#pragma GCC visibility pop

#endif
