// Additions of shared memory to fp32 sums in global memory by the copy engine. They are made when they are asked for, when they are waited for, or
// between; until the wait the shared memory may not be written.
#include "cuemu/async_state.h"
#include "cuemu/fiber_hooks.h"

namespace cuemu {

namespace {

void add(float *to, float value) {
	uint32_t *word = reinterpret_cast<uint32_t *>(to);
	uint32_t before = __atomic_load_n(word, __ATOMIC_RELAXED), after;
	do {
		float sum;
		memcpy(&sum, &before, sizeof sum);
		sum += value;
		memcpy(&after, &sum, sizeof after);
	} while (!__atomic_compare_exchange_n(word, &before, after, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

void make_addition(Worker &w, Addition &s) {
	if (s.made) return;
	s.made = true;
	for (uint32_t i = 0; i < s.bytes / 4; i++) {
		float value;
		memcpy(&value, w.arena + s.from + i * 4, sizeof value);
		add(s.to + i, value);
	}
}

}  // namespace

const Addition *addition_reading(const Async &a, uint32_t chunk) {
	for (const std::deque<Addition> &list : a.additions)
		for (const Addition &s : list)
			if (chunk >= s.from / 16 && chunk < (s.from + s.bytes) / 16) return &s;
	return nullptr;
}

Reader reader_of(const Async &a, uint32_t chunk) {
	if (const Addition *s = addition_reading(a, chunk)) return {"addition", s->at};
	if (const Product *p = product_reading(a, chunk)) return {"product", p->at};
	return {"product", {"?", 0}};
}

// forget_additions: the block has ended.
void forget_additions(Async &a) {
	for (std::deque<Addition> &list : a.additions) {
		if (!list.empty())
			report(CUEMU_TRAP, list.front().at.file, list.front().at.line, "the block ended before this addition had read its shared memory");
		list.clear();
	}
}

}  // namespace cuemu

using namespace cuemu;

extern "C" {

void cuemu_sums_add(float *to, const float *from, uint32_t bytes, const char *file, int line) {
	Unseen books;
	Worker &w = *this_worker;
	Async &a = activate(w);
	const Origin at = {file, line};
	const uint32_t begin = arena_offset(w, from, bytes, at), end = begin + bytes;
	if (bytes == 0 || bytes % 16 != 0 || begin % 16 != 0 || reinterpret_cast<uintptr_t>(to) % 16 != 0)
		wrong(w, at, "an addition of %u bytes to %p from %s: want multiples of 16", bytes, static_cast<void *>(to), byte_of(w, begin).text);
	check_destination(w, a, begin, end, at, "an addition");
	const uint32_t byte = unseen(a, w.current, begin, end);
	if (byte != end)
		wrong(w, at, "an addition reads %s, which thread %u wrote, with no fence.proxy.async and barrier between", byte_of(w, byte).text, a.written[byte] & THREAD_BITS);
	for (uint32_t chunk = begin / 16; chunk < end / 16; chunk++) a.reading[chunk]++;
	a.additions[w.current].push_back({at, to, begin, bytes, a.addition_groups[w.current], false});
	if (a.completion == EARLY || (a.completion == SHUFFLED && random_below(a, 2))) make_addition(w, a.additions[w.current].back());
}

void cuemu_sums_commit(void) {
	Unseen books;
	Worker &w = *this_worker;
	activate(w).addition_groups[w.current]++;
}

// cuemu_sums_wait: others run first, so that what may be overwritten while an addition reads is.
void cuemu_sums_wait(int pending, const char *file, int line) {
	cuemu_yield();
	Unseen books;
	Worker &w = *this_worker;
	Async &a = activate(w);
	std::deque<Addition> &list = a.additions[w.current];
	while (!list.empty() && static_cast<int64_t>(list.front().group) < static_cast<int64_t>(a.addition_groups[w.current]) - pending) {
		Addition &s = list.front();
		make_addition(w, s);
		for (uint32_t chunk = s.from / 16; chunk < (s.from + s.bytes) / 16; chunk++) a.reading[chunk]--;
		list.pop_front();
	}
	if (pending == 0 && !list.empty()) wrong(w, list.front().at, "this addition was not committed, and the wait at %s:%d does not cover it", file, line);
}

}  // extern "C"
