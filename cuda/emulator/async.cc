// Asynchronous instructions of a block: clocks, fences, waits, and what is kept from block to block. async_state.h explains the model.
#include <sys/mman.h>

#include <cstdarg>
#include <cstdio>
#include <new>

#include "cuemu/async_state.h"
#include "cuemu/check.h"
#include "cuemu/fiber_hooks.h"

namespace cuemu {

namespace {

const size_t STACKS = (MAX_THREADS + 1) * STACK_STRIDE;

template <class T> T *zeros(size_t count) {
	void *p = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p == MAP_FAILED ? nullptr : static_cast<T *>(p);
}

Completion completion_of(const Order &order) {
	switch (order.policy) {
	case FORWARD: return LATE;
	case REVERSE: return EARLY;
	case RANDOM: return SHUFFLED;
	default: return order.seed % 3 == 1 ? EARLY : order.seed % 3 == 2 ? SHUFFLED : LATE;
	}
}

}  // namespace

void join(Clock &to, const Clock &from) {
	if (to.size() < from.size()) to.resize(from.size());
	typedef uint32_t Four __attribute__((vector_size(16)));
	const size_t whole = from.size() - from.size() % 4;
	for (size_t i = 0; i < whole; i += 4) {  // a clock has hundreds of words, and a kernel thousands of barriers
		Four mine, more;
		memcpy(&mine, &to[i], sizeof mine);
		memcpy(&more, &from[i], sizeof more);
		mine = mine > more ? mine : more;
		memcpy(&to[i], &mine, sizeof mine);
	}
	for (size_t i = whole; i < from.size(); i++) to[i] = to[i] > from[i] ? to[i] : from[i];
}

void wrong(Worker &w, Origin at, const char *format, ...) {
	char text[900];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	report(CUEMU_TRAP, at.file, at.line, "%s", text);
	abandon(w);
}

uint32_t random_below(Async &a, uint32_t n) {
	a.random = mix(a.random);
	return static_cast<uint32_t>((a.random >> 32) % n);
}

uint32_t arena_offset(Worker &w, const void *p, size_t bytes, Origin at) {
	const char *c = static_cast<const char *>(p);
	if (c < w.arena || c + bytes > w.arena + ARENA_BYTES)
		wrong(w, at, "%zu bytes at %p, which is not in this block's shared memory", bytes, p);
	return static_cast<uint32_t>(c - w.arena);
}

ByteName byte_of(const Worker &w, uint32_t offset) {
	ByteName name;
	const uint32_t dynamic = static_cast<uint32_t>(current_launch.dynamic_of(w.arena) - w.arena);
	snprintf(name.text, sizeof name.text, "byte %u of %s shared memory", offset < dynamic ? offset : offset - dynamic, offset < dynamic ? "static" : "dynamic");
	return name;
}

Async *async_of(Worker &w) {
	if (w.async) return w.async;
	Async *a = new (std::nothrow) Async();
	if (!a) return nullptr;
	a->written = zeros<uint32_t>(ARENA_BYTES);
	a->in_flight = zeros<uint16_t>(ARENA_BYTES / 4);
	a->reading = zeros<uint16_t>(ARENA_BYTES / 16);
	a->registers = zeros<uint32_t>(STACKS / 4);
	if (!a->written || !a->in_flight || !a->reading || !a->registers) return nullptr;
	for (uint32_t &fence : a->fences) fence = 1;
	a->last_fence = 1;
	return w.async = a;
}

// activate: what threads wrote before counts as known to all, and not to the asynchronous proxy.
Async &activate(Worker &w) {
	cuemu_promote();
	Async *a = async_of(w);
	if (!a) {
		report(CUEMU_LAUNCH_ERROR, w.job->file, w.job->line, "no memory for the emulator's model of asynchronous instructions");
		abandon(w);
	}
	if (a->active) return *a;
	a->active = true;
	a->completion = completion_of(w.order);
	a->random = mix(w.order.seed * 0x9e3779b97f4a7c15u + blockIdx.x * 31 + blockIdx.y * 17 + blockIdx.z);
	const uint32_t width = w.threads + 64 < THREAD_BITS ? w.threads + 64 : w.threads;
	a->generic.assign(w.threads, Clock(width, 1));
	a->async.assign(w.threads, Clock(width, 0));
	for (uint32_t t = 0; t < w.threads; t++) {
		a->epoch[t] = a->generic[t][t] = 2;
		a->fenced[t] = false;
		for (uint32_t u = w.threads; u < width; u++) a->generic[t][u] = 0;
	}
	a->until.assign(watching ? w.threads : 0, {});
	a->atomics_generic.assign(width, 0);
	a->atomics_async.assign(width, 0);
	a->barriers.clear();
	for (NamedBarrier &b : a->named) b = NamedBarrier();
	for (NamedBarrier &b : a->tiles) b = NamedBarrier();
	a->copies.clear();
	a->free_copies.clear();
	a->of_thread.assign(w.threads, {});
	a->groups.assign(w.threads, 0);
	a->additions.assign(w.threads, {});
	a->addition_groups.assign(w.threads, 0);
	a->outstanding = 0;
	a->source_low = ~uintptr_t(0), a->source_high = 0;
	const int each = static_cast<int>(65536 / (w.warps * 32) / 8 * 8);
	a->free_registers = 0;
	for (int &r : a->warp_registers) r = each > 255 ? 255 : each;
	a->wanting_registers.clear();
	return *a;
}

CUEMU_PLAIN void async_start(Worker &w) {
	if (w.async) w.async->active = false;
}

void async_end(Worker &w) {
	Unseen books;
	if (!w.async) return;
	Async &a = *w.async;
	if (a.active) {
		for (const Copy &c : a.copies)
			if (c.used && !(c.barrier >= 0 && c.made))
				report(CUEMU_TRAP, c.at.file, c.at.line, "the block ended before this copy had been waited for: it would write to another block's shared memory");
		forget_products(a);
		forget_additions(a);
		memset(a.in_flight, 0, ARENA_BYTES / 4 * sizeof *a.in_flight);
		memset(a.reading, 0, ARENA_BYTES / 16 * sizeof *a.reading);
	}
	a.active = false;
	if (!a.dirty) return;
	a.dirty = false;
	const size_t used = current_launch.static_bytes.load(std::memory_order_relaxed);
	const size_t dynamic = static_cast<size_t>(current_launch.dynamic_of(w.arena) - w.arena);
	memset(a.written, 0, used * sizeof *a.written);
	memset(a.written + dynamic, 0, (ARENA_BYTES - dynamic) * sizeof *a.written);
}

// ---- who knows what

static void end_epoch(Async &a, uint32_t thread) {
	if (watching) a.until[thread].push_back(++now);
	a.generic[thread][thread] = ++a.epoch[thread];
}

void let_know(Async &a, uint32_t thread, Clock &generic, Clock &async) {
	join(generic, a.generic[thread]);
	join(async, a.async[thread]);
	end_epoch(a, thread);
}

bool async_known(const Worker &w, uint32_t thread, uint32_t other, uint32_t time) {
	if (!w.async || !w.async->active) return false;
	const Async &a = *w.async;
	const uint32_t epoch = a.generic[thread][other];
	return epoch >= 2 && epoch - 2 < a.until[other].size() && time < a.until[other][epoch - 2];
}

void learn(Async &a, uint32_t thread, const Clock &generic, const Clock &async) {
	join(a.generic[thread], generic);
	join(a.async[thread], async);
}

// learn_all: what a thread learns that has let others know of all it knew: it knew no more, but for its new epoch.
static void learn_all(Async &a, uint32_t thread, const Clock &generic, const Clock &async) {
	a.generic[thread] = generic;
	a.generic[thread][thread] = a.epoch[thread];
	a.async[thread] = async;
}

void async_barrier(Worker &w) {
	Unseen books;
	if (!w.async || !w.async->active) return;
	Async &a = *w.async;
	Clock generic, async;
	for (uint32_t t = 0; t < w.threads; t++) let_know(a, t, generic, async);
	for (uint32_t t = 0; t < w.threads; t++) learn_all(a, t, generic, async);
}

void async_warp_barrier(Worker &w, unsigned warp, uint32_t lanes) {
	Unseen books;
	if (!w.async || !w.async->active) return;
	Async &a = *w.async;
	Clock generic, async;
	for (uint32_t rest = lanes; rest; rest &= rest - 1) let_know(a, warp * 32 + __builtin_ctz(rest), generic, async);
	for (uint32_t rest = lanes; rest; rest &= rest - 1) learn_all(a, warp * 32 + __builtin_ctz(rest), generic, async);
}

uint32_t unseen(const Async &a, uint32_t thread, uint32_t begin, uint32_t end) {
	const Clock &knows = a.async[thread];
	uint32_t seen = 0;
	for (uint32_t i = begin; i < end; i++) {
		const uint32_t last = a.written[i];
		if (last == seen) continue;
		if (last != 0 && knows[last & THREAD_BITS] < last >> 11) return i;
		seen = last;
	}
	return end;
}

// ---- waits

void wait_in_async(Worker &w, const char *what, Origin at) {
	(void)w;
	const Wait wait = {IN_ASYNC, 0, at.line, at.file, what};
	wait_for_others(&wait);
}

void wake(Worker &w, std::vector<uint32_t> &threads) {
	for (const uint32_t t : threads) {
		w.warp[t / 32].in_async &= ~(1u << t % 32);
		make_runnable(w, t / 32, 1u << t % 32);
	}
	threads.clear();
}

bool async_idle(Worker &w) {
	Unseen books;
	if (!w.async || !w.async->active) return false;
	while (!w.ready)
		if (!make_any(w, *w.async)) return false;
	return true;
}

void async_hurry(Worker &w) {
	Unseen books;
	if (w.async && w.async->active && w.live) make_any(w, *w.async);
}

}  // namespace cuemu

using namespace cuemu;

extern "C" {

void cuemu_proxy_fence(void) {
	Unseen books;
	Worker &w = *this_worker;
	Async &a = activate(w);
	const uint32_t t = w.current;
	join(a.async[t], a.generic[t]);
	end_epoch(a, t);
}

// cuemu_registers: setmaxnreg, which the first lane does for its warp.
void cuemu_registers(int wanted, int more, const char *file, int line) {
	Unseen books;
	Worker &w = *this_worker;
	Async &a = activate(w);
	if (w.current % 32 != 0) return;
	const Origin at = {file, line};
	const uint32_t t = w.current, warp = t / 32;
	int &held = a.warp_registers[warp];
	if (more ? wanted < held : wanted > held)
		wrong(w, at, "setmaxnreg.%s to %d registers, and a thread has %d", more ? "inc" : "dec", wanted, held);
	while (more && wanted - held > a.free_registers) {
		a.wanting_registers.push_back(t);
		wait_in_async(w, "setmaxnreg.inc: more registers than the launch holds", at);
	}
	a.free_registers -= wanted - held;
	held = wanted;
	wake(w, a.wanting_registers);
}

}  // extern "C"
