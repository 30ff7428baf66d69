// Every access of a kernel, for `triad check`: inside its buffer, initialised, and ordered with the accesses of other threads. The shadow of a
// stretch of memory has a cell for every four bytes, with the last write and two reads, and a bit for every byte that says it was written.
#include <sys/mman.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "cuemu/check.h"
#include "cuemu/device_api.h"

namespace cuemu {

namespace {

struct Cell {
	Access write, read[2];
};

// Memory is a stretch with its shadow: a device buffer or the shared memory of a worker.
struct Memory {
	const char *begin;
	size_t bytes;
	Cell *cells;
	uint8_t *written;                              // a bit a byte
	const char *file;                              // where it was asked for
	int line;
	bool freed;
	const char *freed_file;
	int freed_line;
};

const ptrdiff_t ROUND_ARENA = 4096;                // a page on both sides is nobody's
std::vector<Memory *> buffers;                    // freed ones too: their addresses are not handed out again
Memory *last_buffer;
std::unordered_map<const Worker *, Memory *> arenas;
std::unordered_map<uintptr_t, Cell> elsewhere;    // cells of global variables

template <class T> T *zeros(size_t count) {
	void *p = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p == MAP_FAILED ? nullptr : static_cast<T *>(p);
}

Memory *new_memory(const char *begin, size_t bytes, const char *file, int line) {
	Memory *m = new Memory{begin, bytes, zeros<Cell>(bytes / 4 + 2), zeros<uint8_t>(bytes / 8 + 1), file, line, false, nullptr, 0};
	return m->cells && m->written ? m : nullptr;
}

Memory *buffer_of(const char *at) {
	auto holds = [at](const Memory *m) { return at >= m->begin && at < m->begin + m->bytes; };
	if (last_buffer && holds(last_buffer)) return last_buffer;
	for (Memory *m : buffers)
		if (holds(m)) return last_buffer = m;
	return nullptr;
}

// near is the buffer in whose surroundings an address lies.
Memory *near(const char *at) {
	Memory *best = nullptr;
	int64_t least = int64_t(1) << 20;
	for (Memory *m : buffers) {
		const int64_t away = at < m->begin ? m->begin - at : at - (m->begin + static_cast<int64_t>(m->bytes));
		if (away < least && !(m->freed && best)) best = m, least = away;
	}
	return best;
}

Memory *arena_of(Worker &w) {
	Memory *&m = arenas[&w];
	if (!m) m = new_memory(w.arena, ARENA_BYTES, nullptr, 0);
	return m;
}

const char *verb(int how) { return how & ATOMIC ? "atomic" : how & WRITES ? "write" : "read"; }

unsigned block_x(uint32_t b) { return b % gridDim.x; }
unsigned block_y(uint32_t b) { return b / gridDim.x % gridDim.y; }
unsigned block_z(uint32_t b) { return b / gridDim.x / gridDim.y; }

void add_other(Finding &f, const Access &a, const char *access) {
	const uint3 t = { a.thread % blockDim.x, a.thread / blockDim.x % blockDim.y, a.thread / blockDim.x / blockDim.y };
	f.number("other_offset", a.pc).index("other_block", block_x(a.block), block_y(a.block), block_z(a.block));
	f.index("other_thread", t.x, t.y, t.z).text("other_access", access);
}

void add_memory(Finding &f, Worker &w, const Memory *m, const char *at) {
	if (!m) {
		f.text("memory", "global variable");
	} else if (m->begin == w.arena) {
		const char *dynamic = current_launch.dynamic_of(w.arena);
		f.text("memory", at >= dynamic ? "dynamic shared memory" : "shared memory");
		Area area = {};
		if (at >= dynamic) f.number("byte", at - dynamic).number("memory_bytes", static_cast<long long>(w.job->shared_bytes));
		else if (area_near(static_cast<uint32_t>(at - w.arena), &area))
			f.number("byte", at - w.arena - area.offset).number("memory_bytes", area.bytes).place("declared", area.file, area.line);
	} else {
		f.text("memory", "device memory").number("byte", at - m->begin).number("memory_bytes", static_cast<long long>(m->bytes));
		f.place("allocated", m->file, m->line);
	}
}

// Pending: a write that raced with another write, about to be made. The same value written twice harms nobody.
struct Pending {
	bool is;
	const char *at;
	size_t bytes;
	char before[16];
	Finding finding{"race"};
} *pending;

void tell_race(Worker &w, const Memory *m, const char *at, size_t bytes, int how, Pc pc, const Access &other, const char *other_access) {
	static Pending the_pending;
	pending = &the_pending;
	Finding f("race");
	f.place("place", pc).text("access", verb(how)).number("bytes", static_cast<long long>(bytes));
	add_other(f, other, other_access);
	add_memory(f, w, m, at);
	uint64_t value = 0;
	memcpy(&value, at, bytes < 8 ? bytes : 8);
	f.number("value", static_cast<long long>(value));
	f.text("scope", other.block != block_of(w) ? "blocks" : other.thread / 32 == thread_of(w) / 32 ? "warp" : "block");
	if ((how & WRITES) && !(how & ATOMIC) && strcmp(other_access, "write") == 0 && bytes <= 16) {
		pending->is = true;
		pending->at = at;
		pending->bytes = bytes;
		memcpy(pending->before, at, bytes);
		pending->finding = f;
		return;
	}
	f.write();
}

bool differs(const Access &a, uint32_t block, uint32_t thread) { return a.block != block || a.thread != thread; }

// note_read keeps the last read and one by another thread.
void note_read(Cell &c, const Access &a) {
	if (differs(c.read[0], a.block, a.thread)) c.read[1] = c.read[0];
	c.read[0] = a;
}

// Slot: where a thread wrote last by a volatile access that no fence stands before.
struct Slot {
	const char *at;
	size_t bytes;
	uint32_t time, block;
};
Slot slots[MAX_THREADS];

// in_step: threads of one warp use a cell by volatile accesses, one has its own place for what it writes so, and the cell is the other's place in
// the same row. Before Volta their order was that of the instructions.
bool in_step(Worker &w, const char *at, const Access &before, const Access &a, bool writes) {
	if (before.block != a.block || before.thread / 32 != a.thread / 32 || before.thread == a.thread) return false;
	const unsigned reader = writes ? before.thread : a.thread, writer = writes ? a.thread : before.thread;
	const Slot &own = slots[reader];
	if (!own.at || own.block != a.block || own.time < launch_time || own.time < block_time(w)) return false;
	const ptrdiff_t away = (static_cast<ptrdiff_t>(writer) - static_cast<ptrdiff_t>(reader)) * static_cast<ptrdiff_t>(own.bytes);
	return at >= own.at + away && at < own.at + away + own.bytes;
}

void tell_in_step(Worker &w, const Memory *m, const char *at, size_t bytes, int how, Pc pc, const Access &other) {
	Finding f("lockstep");
	f.place("place", pc).text("access", verb(how)).number("bytes", static_cast<long long>(bytes));
	add_other(f, other, how & WRITES ? "read" : "write");
	add_memory(f, w, m, at);
	f.write();
}

// order_cell: whether an access of a cell is ordered with those before it; then it is noted.
void order_cell(Worker &w, const Memory *m, Cell &c, const char *at, size_t bytes, uint8_t mask, int how, Pc pc, uint32_t since) {
	const uint32_t block = block_of(w), thread = thread_of(w);
	const bool atomic = how & (ATOMIC | VOLATILE);
	if (c.write.time < since && c.read[0].time < since) step();   // nobody has come so far in this launch
	const Access a = {now, offset_in_program(pc), block, static_cast<uint16_t>(thread), mask, static_cast<uint8_t>(how & (ATOMIC | VOLATILE))};
	// An atomic of this thread came after the others' atomics, and what the thread does now comes after its own.
	const bool mine = c.write.atomic && !differs(c.write, block, thread);
	auto races = [&](const Access &b) {
		if (mine && b.atomic && b.time <= c.write.time) return false;
		return b.time >= since && (b.mask & mask) && differs(b, block, thread) && !(atomic && b.atomic) && !known(w, b);
	};
	auto steps_with = [&](const Access &b) {
		return how & VOLATILE && b.atomic == VOLATILE && b.time >= since && (b.mask & mask) && in_step(w, at, b, a, how & WRITES) && !known(w, b);
	};
	if (!(how & WRITES) && steps_with(c.write)) tell_in_step(w, m, at, bytes, how, pc, c.write);
	if (races(c.write)) tell_race(w, m, at, bytes, how, pc, c.write, c.write.atomic & ATOMIC ? "atomic" : "write");
	if (!(how & WRITES)) return note_read(c, a);
	for (const Access &r : c.read)
		if (steps_with(r)) tell_in_step(w, m, at, bytes, how, pc, r);
	for (const Access &r : c.read)
		if (races(r)) {
			tell_race(w, m, at, bytes, how, pc, r, r.atomic & ATOMIC ? "atomic" : "read");
			break;
		}
	c.write = a;
}

CUEMU_PLAIN bool has_written(const Memory *m, size_t from, size_t to) {
	for (size_t i = from; i < to; i++)
		if (m->written[i / 8] >> i % 8 & 1) return true;
	return false;
}

void mark(Memory *m, size_t from, size_t to) {
	for (; from < to && from % 8; from++) m->written[from / 8] |= uint8_t(1u << from % 8);
	if (to - from >= 8) {
		memset(m->written + from / 8, 0xff, (to - from) / 8);
		from += (to - from) / 8 * 8;
	}
	for (; from < to; from++) m->written[from / 8] |= uint8_t(1u << from % 8);
}

void tell_uninitialised(Worker &w, const Memory *m, const char *at, size_t bytes, Pc pc) {
	Finding f("uninitialised");
	f.place("place", pc).text("access", "read").number("bytes", static_cast<long long>(bytes));
	add_memory(f, w, m, at);
	f.write();
}

void visit(Worker &w, Memory *m, const char *at, size_t bytes, int how, Pc pc, uint32_t since) {
	const size_t begin = static_cast<size_t>(at - m->begin), end = begin + bytes;
	for (size_t i = begin; i < end; ) {
		const size_t cell = i / 4, stop = end < cell * 4 + 4 ? end : cell * 4 + 4;
		const uint8_t mask = static_cast<uint8_t>((1u << (stop - cell * 4)) - (1u << i % 4));
		if (!(how & WRITES && !(how & ATOMIC)) && !has_written(m, i, stop)) {
			tell_uninitialised(w, m, m->begin + i, bytes, pc);
			mark(m, i, stop);                        // reported once
		}
		order_cell(w, m, m->cells[cell], m->begin + i, stop - i, mask, how, pc, since);
		i = stop;
	}
	if (how & WRITES) mark(m, begin, end);
}

[[noreturn]] void die(Worker &w) {
	set_sticky_error();
	abandon(w);
}

void tell_outside(Worker &w, const Memory *m, const char *at, size_t bytes, int how, Pc pc) {
	Finding f(m->freed ? "use-after-free" : "out-of-bounds");
	f.place("place", pc).text("access", verb(how)).number("bytes", static_cast<long long>(bytes));
	add_memory(f, w, m, at);
	if (m->freed) f.place("freed", m->freed_file, m->freed_line);
	f.write();
	die(w);
}

void watch_shared(Worker &w, const char *at, size_t bytes, int how, Pc pc) {
	Memory *m = arena_of(w);
	if (!m) return;
	const char *dynamic = current_launch.dynamic_of(w.arena);
	const uint32_t begin = static_cast<uint32_t>(at - w.arena);
	Area area = {};
	const bool inside = at < w.arena ? false
	                  : at >= dynamic ? at + bytes <= dynamic + w.job->shared_bytes
	                  : area_near(begin, &area) && begin >= area.offset && begin + bytes <= area.offset + area.bytes;
	if (!inside) return tell_outside(w, m, at, bytes, how, pc);
	if (counting) count_access(w, at, bytes, how, pc, true);
	if (how & WRITES && !order_fenced(w)) how &= ~VOLATILE;  // else it may be a flag, as what is atomic may
	const bool flag = how & (ATOMIC | VOLATILE);
	if (flag) order_acquire(w, at);
	visit(w, m, at, bytes, how, pc, block_time(w));
	if (flag && how & WRITES) order_release(w, at);
}

void watch_elsewhere(Worker &w, const char *at, size_t bytes, int how, Pc pc) {
	if (Memory *m = near(at)) tell_outside(w, m, at, bytes, how, pc);
	if (!in_program(at)) {
		if (reinterpret_cast<uintptr_t>(at) < 4096) {
			Finding("null-pointer").place("place", pc).text("access", verb(how)).number("bytes", static_cast<long long>(bytes)).write();
			die(w);
		}
		Finding("host-pointer").place("place", pc).text("access", verb(how)).number("bytes", static_cast<long long>(bytes)).write();
		return;
	}
	const bool flag = how & (ATOMIC | VOLATILE);
	if (flag) order_acquire(w, at);
	for (size_t i = 0; i < bytes; i += 4) {
		Cell &c = elsewhere[reinterpret_cast<uintptr_t>(at + i) / 4];
		order_cell(w, nullptr, c, at + i, bytes - i < 4 ? bytes - i : 4, 15, how, pc, launch_time);
	}
	if (flag && how & WRITES) order_release(w, at);
}

}  // namespace

void settle_pending() {
	if (!pending || !pending->is) return;
	pending->is = false;
	if (memcmp(pending->at, pending->before, pending->bytes) != 0) pending->finding.write();
}

// is_index: threadIdx and its like, which every kernel reads.
CUEMU_PLAIN static bool is_index(const char *at) {
	static const uintptr_t all[] = {
		reinterpret_cast<uintptr_t>(&threadIdx), reinterpret_cast<uintptr_t>(&blockIdx), reinterpret_cast<uintptr_t>(&blockDim),
		reinterpret_cast<uintptr_t>(&gridDim), reinterpret_cast<uintptr_t>(&cuemu_promoted), reinterpret_cast<uintptr_t>(&cuemu_arena),
	};
	for (uintptr_t variable : all)
		if (reinterpret_cast<uintptr_t>(at) - variable < sizeof threadIdx) return true;
	return false;
}

// The last volatile and atomic accesses: what a thread that waits asks again and again is among them.
static const unsigned MOST_ASKED = 16;
static const char *asked[MOST_ASKED];
static unsigned asks;

bool waits_for_host() {
	for (const char *at : asked) {
		const Memory *m = at ? buffer_of(at) : nullptr;
		if (!m || m->freed || sort_of_memory(m->begin) == cudaMemoryTypeDevice) continue;
		if (m->cells[static_cast<size_t>(at - m->begin) / 4].write.time < launch_time) return true;
	}
	return false;
}

// The watchdog's thread reads it.
static std::atomic<uint64_t> stepped{0};
void step() { stepped.store(stepped.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }

// What threads asked for last, and what was at places before their last change. Those that meet in one entry forget each other.
struct Asked {
	uint32_t block, thread;
	const void *at;
};
static Asked last_asked[1024];
static struct { const void *at; uint64_t before; } last_changes[64];

static Asked &asked_by(const Worker &w) { return last_asked[(block_of(w) * 31 + thread_of(w)) % 1024]; }

void note_asked(const Worker &w, const void *at) { asked_by(w) = {block_of(w), thread_of(w), at}; }

void note_change(const Worker &w, const void *at, uint64_t before, uint64_t after) {
	Asked &asked = asked_by(w);
	const bool waits = asked.at && asked.at != at && asked.block == block_of(w) && asked.thread == thread_of(w);
	auto &last = last_changes[reinterpret_cast<uintptr_t>(at) / 4 % 64];
	const bool taken_back = last.at == at && last.before == after;
	asked.at = nullptr;
	last = {at, before};
	if (!waits && !taken_back) step();
}

uint64_t steps() { return stepped.load(std::memory_order_relaxed); }

void watch_access(Worker &w, const void *p, size_t bytes, int how, Pc pc) {
	settle_pending();
	const char *at = static_cast<const char *>(p);
	if (is_index(at)) return;
	if (static_cast<size_t>(at - w.stacks) < (MAX_THREADS + 1) * STACK_STRIDE) return;
	if (current_launch.cluster_size > 1) return;
	if (static_cast<size_t>(at - w.arena + ROUND_ARENA) < ARENA_BYTES + 2 * ROUND_ARENA) return watch_shared(w, at, bytes, how, pc);
	Memory *m = buffer_of(at);
	if (!m) return watch_elsewhere(w, at, bytes, how, pc);
	if (m->freed || at + bytes > m->begin + m->bytes) return tell_outside(w, m, at, bytes, how, pc);
	if (counting) {                                // cudaMalloc's memory begins at a multiple of 256
		const uintptr_t begin = reinterpret_cast<uintptr_t>(m->begin) & ~uintptr_t(255);
		count_access(w, reinterpret_cast<const void *>(begin + static_cast<uintptr_t>(at - m->begin)), bytes, how, pc, false);
	}
	const bool flag = how & (ATOMIC | VOLATILE);
	if (flag) asked[asks++ % MOST_ASKED] = at;
	if (flag) order_acquire(w, p);
	visit(w, m, at, bytes, how, pc, launch_time);
	if (how == (VOLATILE | WRITES) && !order_fenced(w)) slots[thread_of(w)] = {at, bytes, now, block_of(w)};
	if (flag && how & WRITES) order_release(w, p);
}

void watch_block(Worker &w) {
	if (counting) count_meeting(w);
	if (Memory *m = arena_of(w)) memset(m->written, 0, ARENA_BYTES / 8);
	order_block(w);
}

// What an asynchronous copy writes is initialised: async.cc tells of reads that do not wait for it.
void watch_copied(Worker &w, uint32_t to, uint32_t bytes) {
	if (Memory *m = arena_of(w)) mark(m, to, to + bytes);
}

void shadow_buffer(char *data, size_t bytes, const char *file, int line) {
	if (Memory *m = new_memory(data, bytes, file, line)) buffers.push_back(m);
}

void drop_buffer(char *data, const char *file, int line) {
	for (Memory *m : buffers) {
		if (m->begin != data || m->freed) continue;
		m->freed = true;
		m->freed_file = file;
		m->freed_line = line;
		munmap(m->cells, (m->bytes / 4 + 2) * sizeof(Cell));
		m->cells = nullptr;
	}
}

void set_initialised(const void *p, size_t bytes) {
	const char *at = static_cast<const char *>(p);
	Memory *m = bytes ? buffer_of(at) : nullptr;
	if (!m) return;
	const size_t begin = static_cast<size_t>(at - m->begin);
	mark(m, begin, begin + bytes < m->bytes ? begin + bytes : m->bytes);
}

void copy_initialised(const void *to, const void *from, size_t bytes) {
	Memory *source = bytes ? buffer_of(static_cast<const char *>(from)) : nullptr;
	if (!source) return set_initialised(to, bytes);
	const size_t offset = static_cast<size_t>(static_cast<const char *>(from) - source->begin);
	for (size_t i = 0; i < bytes && offset + i < source->bytes; i++)
		if (source->written[(offset + i) / 8] >> (offset + i) % 8 & 1) set_initialised(static_cast<const char *>(to) + i, 1);
}

}  // namespace cuemu

using namespace cuemu;

#pragma GCC visibility push(default)
extern "C" {

// The program's calls of these functions come here, by the linker's --wrap.
#define WATCH(p, n, how) \
	if (watching && this_worker && this_worker->in_block && (n)) watch_access(*this_worker, p, n, how, __builtin_return_address(0))
void *__wrap_memcpy(void *to, const void *from, size_t bytes) {
	WATCH(from, bytes, 0);
	WATCH(to, bytes, WRITES);
	return memcpy(to, from, bytes);
}
void *__wrap_memmove(void *to, const void *from, size_t bytes) {
	WATCH(from, bytes, 0);
	WATCH(to, bytes, WRITES);
	return memmove(to, from, bytes);
}
void *__wrap_memset(void *to, int value, size_t bytes) {
	WATCH(to, bytes, WRITES);
	return memset(to, value, bytes);
}

}  // extern "C"
#pragma GCC visibility pop
