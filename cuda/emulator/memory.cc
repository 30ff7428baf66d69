// Device buffers: each in a mapping of its own, between two unmapped megabytes, ending less than 16 bytes before the second, or beginning less than
// 128 behind the first (cuemu_arrange). A megabyte, not a page: an overrun by a row or two must not land in the next buffer, and a fault names the
// buffer it came from.
#include <sys/mman.h>

#include <cstdio>
#include <cstring>

#include "cuemu/check.h"
#include "cuemu/faults.h"
#include "cuemu/scheduler.h"

namespace cuemu {

namespace {

const size_t PAGE = 4096, GAP = size_t(1) << 20;
const unsigned MAX_BUFFERS = 4096;
const size_t SAME = 128;                       // bytes: where a buffer lies modulo this does not depend on the place
std::atomic<int> place{CUEMU_AT_END};
std::atomic<int> fill_asked{-1};
Buffer buffers[MAX_BUFFERS];
std::atomic<bool> managed[MAX_BUFFERS];        // beside buffers: the host may read and write it
std::atomic<bool> closed{false};
std::atomic<unsigned> most_used{0};            // no buffer from here on was ever used

void reach(const Buffer &b, int rights) { mprotect(b.mapping + GAP, b.mapped - 2 * GAP, rights); }

void reach_all(int rights) {
	for (unsigned i = 0; i < most_used.load(); i++)
		if (buffers[i].used.load() && buffers[i].data && !managed[i].load()) reach(buffers[i], rights);
}

Buffer *find(const void *data) {
	for (Buffer &b : buffers)
		if (b.used.load() && b.data == data) return &b;
	return nullptr;
}

Buffer *reserve() {
	for (Buffer &b : buffers) {
		bool expected = false;
		if (!b.used.compare_exchange_strong(expected, true)) continue;
		const unsigned at = static_cast<unsigned>(&b - buffers);
		managed[at].store(false);
		for (unsigned most = most_used.load(); most <= at && !most_used.compare_exchange_weak(most, at + 1);) {}
		return &b;
	}
	return nullptr;
}

// data_in gives a buffer of so many bytes its place in what is readable. A kernel may look at its address: that is the same modulo SAME at either
// end, so that it does not choose another order of its sums there.
char *data_in(char *begin, char *end, size_t bytes, size_t misalign) {
	uintptr_t last = reinterpret_cast<uintptr_t>(end) - bytes;
	const uintptr_t first = reinterpret_cast<uintptr_t>(begin);
	switch (place.load()) {
	case CUEMU_EXACT_BEGIN: return begin;
	case CUEMU_EXACT_END: return reinterpret_cast<char *>(last);
	default: last -= (last - misalign) & 15;
	}
	return reinterpret_cast<char *>(place.load() == CUEMU_AT_BEGIN ? first + (last - first) % SAME : last);
}

// guard_at: the byte that a buffer has around it at an address. With equal bytes around every buffer, a copy that goes past the ends of both of its
// tensors would change nothing. Odd bytes keep the exponent of the fill, so that two bytes or four read there are NaN or large with every fill.
char guard_at(const Buffer &b, const char *p) {
	const unsigned slot = static_cast<unsigned>(&b - buffers), fill = static_cast<unsigned char>(b.fill);
	return static_cast<char>(reinterpret_cast<uintptr_t>(p) & 1 ? fill ^ (slot & 1) << 7 : 0x80 | (fill + 37 * slot));
}

void set_guards(const Buffer &b, char *from, const char *to) {
	for (char *p = from; p < to; p++) *p = guard_at(b, p);
}

}  // namespace

char memory_fill() {
	const int asked = fill_asked.load();
	return static_cast<char>(asked < 0 ? fill_of_order() : asked);
}

// A program may print a buffer that it has filled in part: that alone does not depend on the order.
char buffer_fill() {
	const int asked = fill_asked.load();
	return static_cast<char>(asked < 0 ? 0xff : asked);
}

// nearest_buffer: the buffer that holds an address or lies nearest to it, within 1 MiB; *past_end as in a report. Safe in a signal handler.
const Buffer *nearest_buffer(const char *address, int64_t *past_end) {
	const Buffer *nearest = nullptr;
	uint64_t best = uint64_t(1) << 20;
	for (const Buffer &b : buffers) {
		if (!b.used.load() || !b.data) continue;
		int64_t past = address < b.data ? address - b.data : address - (b.data + b.bytes);
		uint64_t away = address < b.data ? static_cast<uint64_t>(-past) : past < 0 ? 0 : static_cast<uint64_t>(past);
		if (away >= best) continue;
		best = away;
		nearest = &b;
		*past_end = past;
	}
	return nearest;
}

void close_device_memory() {
	if (!closed.exchange(true)) reach_all(PROT_NONE);
}

void open_device_memory() {
	if (closed.exchange(false)) reach_all(PROT_READ | PROT_WRITE);
}

void share_with_host(void *data) {
	if (Buffer *b = find(data)) {
		managed[b - buffers].store(true);
		reach(*b, PROT_READ | PROT_WRITE);
	}
}

void let_host_reach(const void *data, int rights) {
	if (Buffer *b = find(data)) reach(*b, rights);
}

// retire: the mapping stays, so that no other buffer gets these addresses; its memory goes back to the system.
void retire(void *data) {
	Buffer *b = find(data);
	if (!b) return;
	madvise(b->mapping + GAP, b->mapped - 2 * GAP, MADV_DONTNEED);
	reach(*b, PROT_NONE);
	b->data = nullptr;
	b->used.store(false);
}

DeviceMemory::DeviceMemory() : was_closed(closed.load()) {
	if (was_closed) open_device_memory();
}

DeviceMemory::~DeviceMemory() {
	if (was_closed) close_device_memory();
}

}  // namespace cuemu

using namespace cuemu;

extern "C" {

CUEMU_API void cuemu_arrange(int asked_place, int fill) {
	place.store(asked_place);
	fill_asked.store(fill);
}

CUEMU_API void *cuemu_alloc(const char *name, size_t bytes, size_t misalign) {
	misalign &= 15;
	if (bytes > (size_t(1) << 46)) return nullptr;
	Buffer *b = reserve();
	if (!b) return nullptr;
	size_t inside = (bytes + 32 + PAGE - 1) / PAGE * PAGE + PAGE;
	char *mapping = static_cast<char *>(mmap(nullptr, inside + 2 * GAP, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
	if (mapping == MAP_FAILED || mprotect(mapping + GAP, inside, PROT_READ | PROT_WRITE) != 0) {
		if (mapping != MAP_FAILED) munmap(mapping, inside + 2 * GAP);
		b->used.store(false);
		return nullptr;
	}
	char *begin = mapping + GAP, *end = begin + inside, *data = data_in(begin, end, bytes, misalign);
	b->fill = buffer_fill();
	set_guards(*b, begin, data);
	memset(data, b->fill, bytes);
	set_guards(*b, data + bytes, end);
	b->mapping = mapping;
	b->mapped = inside + 2 * GAP;
	b->bytes = bytes;
	snprintf(b->name, sizeof b->name, "%s", name ? name : "");
	b->data = data;
	if (closed.load()) reach(*b, PROT_NONE);
	return data;
}

CUEMU_API int cuemu_free(void *data) {
	Buffer *b = find(data);
	if (!b) return -1;
	b->data = nullptr;
	munmap(b->mapping, b->mapped);
	b->used.store(false);
	return 0;
}

CUEMU_API void cuemu_fill(void *data, size_t bytes, const void *pattern, size_t pattern_bytes) {
	if (bytes == 0 || pattern_bytes == 0) return;
	char *to = static_cast<char *>(data);
	size_t done = pattern_bytes < bytes ? pattern_bytes : bytes;
	memcpy(to, pattern, done);
	for (; done < bytes; ) {   // doubling: the filled part is the pattern's next source
		size_t n = done < bytes - done ? done : bytes - done;
		memcpy(to + done, to, n);
		done += n;
	}
}

CUEMU_API void cuemu_copy(void *to, const void *from, size_t bytes) {
	if (bytes) memcpy(to, from, bytes);
}

CUEMU_API int64_t cuemu_check(const void *data, int64_t *before, int64_t *after) {
	*before = *after = 0;
	Buffer *b = find(data);
	if (!b) return 0;
	DeviceMemory open;
	int64_t changed = 0;
	for (const char *p = b->data - 1; p >= b->mapping + GAP; p--) {
		if (*p == guard_at(*b, p)) continue;
		changed++;
		if (*before == 0) *before = b->data - p;
	}
	for (const char *p = b->data + b->bytes; p < b->mapping + b->mapped - GAP; p++) {
		if (*p == guard_at(*b, p)) continue;
		changed++;
		if (*after == 0) *after = p - (b->data + b->bytes) + 1;
	}
	return changed;
}

}  // extern "C"
