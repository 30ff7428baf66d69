// Shared memory: one arena per worker, between two unmapped pages. Declarations get places from its start on, each followed by a red zone; the
// dynamic part ends at its end. All of it has one byte when a block starts (memory_fill), red zones included, and a red zone that changed is a report.
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cuemu/check.h"
#include "cuemu/fiber_hooks.h"
#include "cuemu/scheduler.h"

uint32_t cuemu_launch_serial;

namespace cuemu {

namespace {

// What declarations have got in this launch: place and size, for red zones, for ASan and for `triad check`.
const unsigned MAX_AREAS = 256;
Area areas[MAX_AREAS];
std::atomic<unsigned> area_count{0};
std::atomic_flag handing_out = ATOMIC_FLAG_INIT;
uint32_t serial_of_areas;

std::atomic<unsigned> arenas_spoiled{0};       // launches that ended amid their blocks, and the program went on

size_t limit_asked() {
	const char *asked = getenv("CUEMU_SHARED_BYTES");
	const long bytes = asked ? atol(asked) : 0;
	return bytes > 0 && static_cast<size_t>(bytes) < SHARED_LIMIT ? static_cast<size_t>(bytes) : SHARED_LIMIT;
}
const size_t limit = limit_asked();

CUEMU_PLAIN void unpoison(const char *p, size_t bytes) {
#if CUEMU_ASAN
	__asan_unpoison_memory_region(p, bytes);
#else
	(void)p, (void)bytes;
#endif
}

CUEMU_PLAIN bool is_filled(const char *p, size_t bytes, char fill) {
	const uint64_t all = static_cast<unsigned char>(fill) * (~uint64_t(0) / 255);
	for (; bytes >= 8; p += 8, bytes -= 8) {
		uint64_t word;
		__builtin_memcpy(&word, p, 8);
		if (word != all) return false;
	}
	for (; bytes; p++, bytes--)
		if (*p != fill) return false;
	return true;
}

// tell_overrun: found when the block has ended, so which thread it was is not known.
CUEMU_PLAIN void tell_overrun(Worker &w, const char *what, size_t bytes) {
	cuemu_report *r = open_report(CUEMU_OUT_OF_BOUNDS);
	if (!r) return;
	r->has_place = 2;
	r->thread[0] = r->thread[1] = r->thread[2] = 0;
	r->line = w.job->line;
	snprintf(r->file, sizeof r->file, "%s", w.job->file);
	snprintf(r->buffer, sizeof r->buffer, "shared memory");
	snprintf(r->message, sizeof r->message, "the block wrote past the end of %s of %zu bytes; launched", what, bytes);
}

// check_red_zones reports a write past the end of a shared variable, or of the dynamic part into the bytes up to its alignment.
CUEMU_PLAIN void check_red_zones(Worker &w) {
	unsigned n = area_count.load(std::memory_order_acquire);
	for (unsigned i = 0; i < n; i++) {
		if (is_filled(w.arena + areas[i].offset + areas[i].bytes, RED_ZONE, w.arena_fill)) continue;
		tell_overrun(w, "a __shared__ declaration", areas[i].bytes);
	}
	size_t bytes = w.job->shared_bytes;
	const char *end = current_launch.dynamic_of(w.arena) + bytes;
	if (bytes && !is_filled(end, static_cast<size_t>(w.arena + ARENA_BYTES - end), w.arena_fill))
		tell_overrun(w, "dynamic shared memory", bytes);
}

}  // namespace

size_t shared_limit() { return limit; }

bool may_have_shared(size_t static_bytes, size_t dynamic_bytes) {
	const size_t all = static_bytes + dynamic_bytes;
	return all <= STATIC_LIMIT || (all <= limit && dynamic_bytes <= dynamic_shared_asked());
}

void spoil_arenas() { arenas_spoiled.fetch_add(1); }

bool area_near(uint32_t offset, Area *area) {
	bool found = false;
	for (unsigned i = 0, n = area_count.load(std::memory_order_acquire); i < n; i++) {
		if (areas[i].offset > offset || (found && areas[i].offset < area->offset)) continue;
		*area = areas[i];
		found = true;
	}
	return found;
}

bool map_arena(Worker &w) {
	char *mapping = static_cast<char *>(mmap(nullptr, ARENA_BYTES + 2 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
	if (mapping == MAP_FAILED) return false;
	if (mprotect(mapping + 4096, ARENA_BYTES, PROT_READ | PROT_WRITE) != 0) return false;
	w.arena = mapping + 4096;
	w.arena_fill = memory_fill();
	memset(w.arena, w.arena_fill, ARENA_BYTES);
	return true;
}

// guard_arena: closed, the arena faults on every access.
CUEMU_PLAIN void guard_arena(Worker &w, bool closed) { mprotect(w.arena, ARENA_BYTES, closed ? PROT_NONE : PROT_READ | PROT_WRITE); }

// open_arena makes the arena the block's: for TSan new memory, for ASan out of bounds but for what has been handed out.
CUEMU_PLAIN void open_arena(Worker &w) {
	cuemu_arena = w.arena;
	if (const char fill = memory_fill(); fill != w.arena_fill || w.arena_spoiled != arenas_spoiled.load()) {
		w.arena_fill = fill;
		w.arena_spoiled = arenas_spoiled.load();
		if (!CUEMU_TSAN) memset(w.arena, fill, ARENA_BYTES);
	}
#if CUEMU_TSAN
	AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
	AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
	mmap(w.arena, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	memset(w.arena, w.arena_fill, ARENA_BYTES);
	AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
	AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#endif
#if CUEMU_ASAN
	__asan_poison_memory_region(w.arena, ARENA_BYTES);
	unpoison(current_launch.dynamic_of(w.arena), w.job->shared_bytes);
#endif
}

// close_arena checks the red zones and fills what the block could write again.
CUEMU_PLAIN void close_arena(Worker &w) {
	unpoison(w.arena, ARENA_BYTES);
	async_end(w);
	if (CUEMU_TSAN) return;
	size_t used = current_launch.static_bytes.load(std::memory_order_relaxed);
	if (used == 0 && w.job->shared_bytes == 0) return;
	check_red_zones(w);
	memset(w.arena, w.arena_fill, used);
	char *dynamic = current_launch.dynamic_of(w.arena);
	memset(dynamic, w.arena_fill, static_cast<size_t>(w.arena + ARENA_BYTES - dynamic));
}

}  // namespace cuemu

using namespace cuemu;

extern "C" {

// cuemu_shared_offset gives a declaration its place, the same in all blocks of a launch.
CUEMU_PLAIN uint32_t cuemu_shared_offset(uint64_t *slot, size_t bytes, size_t align, const char *file, int line) {
	while (handing_out.test_and_set(std::memory_order_acquire)) {
	}
	if (serial_of_areas != cuemu_launch_serial) {
		serial_of_areas = cuemu_launch_serial;
		area_count.store(0, std::memory_order_relaxed);
	}
	uint64_t packed = __atomic_load_n(slot, __ATOMIC_RELAXED);
	LaunchState &l = current_launch;
	bool full = false;
	if (static_cast<uint32_t>(packed >> 32) != cuemu_launch_serial) {
		size_t offset = (l.static_bytes.load(std::memory_order_relaxed) + align - 1) / align * align;
		unsigned n = area_count.load(std::memory_order_relaxed);
		full = l.static_used.load(std::memory_order_relaxed) + bytes > STATIC_LIMIT || n == MAX_AREAS;
		if (!full) {
			areas[n] = {static_cast<uint32_t>(offset), static_cast<uint32_t>(bytes), file, line};
			l.static_bytes.store((offset + bytes + RED_ZONE + 15) / 16 * 16, std::memory_order_relaxed);
			l.static_used.store(l.static_used.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
			area_count.store(n + 1, std::memory_order_release);
			packed = uint64_t(cuemu_launch_serial) << 32 | offset;
			__atomic_store_n(slot, packed, __ATOMIC_RELAXED);
		}
	}
	handing_out.clear(std::memory_order_release);
	Worker &w = *this_worker;
	if (full) {
		report(CUEMU_LAUNCH_ERROR, w.job->file, w.job->line, "the kernel declares more than %zu bytes of static shared memory", STATIC_LIMIT);
		abandon(w);
	}
	if (!may_have_shared(l.static_used.load(std::memory_order_relaxed), w.job->shared_bytes)) {
		l.refused.store(cudaErrorInvalidValue);    // known only here: a GPU's launch does not begin
		abandon(w);
	}
	unpoison(w.arena + static_cast<uint32_t>(packed), bytes);
	return static_cast<uint32_t>(packed);
}

CUEMU_PLAIN void *cuemu_dynamic_shared(void) { return current_launch.dynamic_of(cuemu_arena); }

}  // extern "C"
