// Copies that run beside the thread that asked for them: boxes by the copy engine, which report to an mbarrier, and cp.async, which a thread's
// groups cover. From the request on the destination holds ones (NaN) and belongs to the copy, and the source may not be written.
#include "cuemu/check.h"
#include "cuemu/async_state.h"
#include "cuemu/fiber_hooks.h"

namespace cuemu {

namespace {

const int ROW = 128; // bytes of a row of a box

uint32_t box_bytes(const Box &box) { return static_cast<uint32_t>(box.straight ? box.valid_bytes : box.rows * ROW); }

int new_copy(Worker &w, Async &a, const Copy &copy) {
	int number;
	if (a.free_copies.empty()) {
		number = static_cast<int>(a.copies.size());
		if (number >= 65534) wrong(w, copy.at, "%d copies are outstanding", number);
		a.copies.push_back(copy);
	} else {
		number = a.free_copies.back();
		a.free_copies.pop_back();
		a.copies[number] = copy;
	}
	a.outstanding++;
	for (uint32_t i = copy.to / 4; i < (copy.to + copy.bytes + 3) / 4; i++) a.in_flight[i] = static_cast<uint16_t>(number + 1);
	memset(w.arena + copy.to, w.arena_fill, copy.bytes);
	if (watching) watch_copied(w, copy.to, copy.bytes);
	return number;
}

uintptr_t source_end(const Copy &c) {
	const uintptr_t from = reinterpret_cast<uintptr_t>(c.box.from);
	if (c.box.rows == 0) return from + c.read;
	return c.box.valid_rows > 0 ? from + static_cast<uintptr_t>((c.box.valid_rows - 1) * c.box.row_bytes + c.box.valid_bytes) : from;
}

void watch_source(Async &a, const Copy &c) {
	const uintptr_t from = reinterpret_cast<uintptr_t>(c.box.from), end = source_end(c);
	if (end == from) return;
	if (from < a.source_low) a.source_low = from;
	if (end > a.source_high) a.source_high = end;
}

void made(Async &a, Copy &c) {
	c.made = true;
	if (--a.outstanding == 0) a.source_low = ~uintptr_t(0), a.source_high = 0;
}

void make_box(Worker &w, const Copy &c) {
	if (c.box.straight) {
		memcpy(w.arena + c.to, c.box.from, c.bytes);
		return;
	}
	for (int row = 0; row < c.box.rows; row++)
		for (int chunk = 0; chunk < ROW / 16; chunk++) {
			const uint32_t at = c.to + static_cast<uint32_t>(row * ROW + (chunk ^ row % 8) * 16);
			char *to = w.arena + at;
			const int inside = row < c.box.valid_rows ? c.box.valid_bytes - chunk * 16 : 0;
			const int bytes = inside < 0 ? 0 : inside > 16 ? 16 : inside;
			if (bytes > 0) memcpy(to, c.box.from + row * c.box.row_bytes + chunk * 16, static_cast<size_t>(bytes));
			if (bytes < 16) memset(to + bytes, 0, static_cast<size_t>(16 - bytes));
		}
}

}  // namespace

const Copy *copy_reading(const Async &a, uintptr_t address, size_t bytes) {
	for (const Copy &c : a.copies) {
		if (!c.used || c.made) continue;
		const uintptr_t from = reinterpret_cast<uintptr_t>(c.box.from);
		if (address >= source_end(c) || address + bytes <= from) continue;
		if (c.box.rows == 0) return &c;
		const int64_t from_first = static_cast<int64_t>(address) - static_cast<int64_t>(from), step = c.box.row_bytes > 0 ? c.box.row_bytes : 1;
		const int64_t column = from_first < 0 ? 0 : from_first % step;
		if (c.box.valid_rows == 1 || column < c.box.valid_bytes || column + static_cast<int64_t>(bytes) > step) return &c;
	}
	return nullptr;
}

void check_destination(Worker &w, Async &a, uint32_t begin, uint32_t end, Origin at, const char *what) {
	for (uint32_t i = begin / 4; i < (end + 3) / 4; i++) {
		if (!a.in_flight[i]) continue;
		const Copy &c = a.copies[a.in_flight[i] - 1];
		wrong(w, at, "%s touches %s, where the copy of %s:%d has not been waited for", what, byte_of(w, i * 4).text, c.at.file, c.at.line);
	}
}

void make_copy(Worker &w, Async &a, int number) {
	Copy &c = a.copies[number];
	if (c.box.rows > 0) {
		make_box(w, c);
		made(a, c);
		bytes_came(w, a, c.barrier, c.bytes);
		return;
	}
	memcpy(w.arena + c.to, c.box.from, c.read);
	memset(w.arena + c.to + c.read, 0, c.bytes - c.read);
	made(a, c);
	if (c.barrier >= 0) bytes_came(w, a, c.barrier, c.bytes);
}

namespace {

// start_box starts a copy of the copy engine into a block of the cluster; w is the block that asks for it.
void start_box(Worker &w, Worker &in, const Box &box, uint32_t to, int barrier, Origin at) {
	if (reinterpret_cast<uintptr_t>(box.from) % 16 != 0)
		wrong(w, at, "a copy begins in the middle of 16 bytes of its source, %p: the copy engine ends the launch with an illegal instruction", box.from);
	Async &a = *in.async;
	const uint32_t bytes = box_bytes(box);
	for (uint32_t chunk = to / 16; chunk < (to + bytes) / 16; chunk++)
		if (a.reading[chunk]) {
			const Reader r = reader_of(a, chunk);
			wrong(w, at, "a copy overwrites %s%s, which the %s of %s:%d still reads", byte_of(w, chunk * 16).text, &in == &w ? "" : " of another block", r.what,
			      r.at.file, r.at.line);
		}
	Copy c = {};
	c.at = at, c.box = box, c.to = to, c.bytes = bytes, c.barrier = barrier, c.thread = w.current, c.used = true;
	const int copy = new_copy(in, a, c);
	if (a.completion == EARLY || (a.completion == SHUFFLED && random_below(a, 3) == 0)) make_copy(in, a, copy);
	else watch_source(a, c);
}

// start_small starts a cp.async, which reports to an mbarrier, or to none: -1. Of the source `read` bytes are read, and zeros stand for the others.
int start_small(Worker &w, Async &a, void *to, const void *from, int bytes, int read, int barrier, Origin at) {
	if (read < 0 || read > bytes) wrong(w, at, "cp.async of %d bytes reads %d bytes of its source: want 0 to %d", bytes, read, bytes);
	const uint32_t t = w.current, begin = arena_offset(w, to, static_cast<size_t>(bytes), at), end = begin + static_cast<uint32_t>(bytes);
	if (reinterpret_cast<uintptr_t>(to) % static_cast<unsigned>(bytes) != 0 || (read && reinterpret_cast<uintptr_t>(from) % static_cast<unsigned>(bytes) != 0))
		wrong(w, at, "cp.async of %d bytes from %p to %p: want both aligned to %d bytes", bytes, from, to, bytes);
	check_destination(w, a, begin, end, at, "cp.async");
	if (a.reading[begin / 16]) {
		const Reader r = reader_of(a, begin / 16);
		wrong(w, at, "cp.async overwrites %s, which the %s of %s:%d still reads", byte_of(w, begin).text, r.what, r.at.file, r.at.line);
	}
	Copy c = {};
	c.at = at, c.box.from = static_cast<const char *>(from), c.to = begin, c.bytes = static_cast<uint32_t>(bytes), c.read = static_cast<uint32_t>(read);
	c.barrier = barrier, c.thread = t, c.group = a.groups[t], c.epoch = a.epoch[t], c.used = true;
	return new_copy(w, a, c);
}

}  // namespace

// make_any makes one of the copies that report to an mbarrier: the youngest, or any. False: there is none. The small ones of cp.async are made
// together for each barrier, whose phase waits for all of them.
bool make_any(Worker &w, Async &a) {
	int found = -1;
	uint32_t seen = 0;
	for (size_t i = 0; i < a.copies.size(); i++) {
		const Copy &c = a.copies[i];
		if (!c.used || c.made || c.barrier < 0) continue;
		seen++;
		if (found < 0 || a.completion != SHUFFLED || random_below(a, seen) == 0) found = static_cast<int>(i);
	}
	if (found < 0) return false;
	const int barrier = a.copies[found].barrier;
	if (a.copies[found].box.rows > 0) make_copy(w, a, found);
	else
		for (size_t i = 0; i < a.copies.size(); i++) {
			const Copy &c = a.copies[i];
			if (c.used && !c.made && c.box.rows == 0 && c.barrier == barrier) make_copy(w, a, static_cast<int>(i));
		}
	return true;
}

}  // namespace cuemu

using namespace cuemu;

extern "C" {

void cuemu_copy_box(const Box *box, void *barrier, const char *file, int line) {
	Unseen books;
	Worker &w = *this_worker;
	Async &a = activate(w);
	const Origin at = {file, line};
	const uint32_t t = w.current, to = arena_offset(w, box->to, box_bytes(*box), at), end = to + box_bytes(*box);
	const MBarrier &b = a.barriers[barrier_at(w, a, barrier, at)];
	if (a.generic[t][b.init_thread] < b.init_epoch || !(b.init_fenced || a.async[t][b.init_thread] >= b.init_epoch))
		wrong(w, at, "a copy reports to the mbarrier that %s:%d initialised, with no fence.mbarrier_init and barrier of the block between", b.init.file, b.init.line);
	check_destination(w, a, to, end, at, "a copy");
	const uint32_t byte = unseen(a, t, to, end);
	if (byte != end) {
		const uint32_t by = a.written[byte] & THREAD_BITS;
		if (a.written[byte] & BY_COPY && by >= w.threads) wrong(w, at, "a copy overwrites %s, and this thread does not know that its last copy has arrived", byte_of(w, byte).text);
		wrong(w, at, "a copy overwrites %s, which thread %u wrote, with no fence.proxy.async between", byte_of(w, byte).text, by);
	}
	start_box(w, w, *box, to, barrier_at(w, a, barrier, at), at);
}

void cuemu_copy_bytes(void *to, const void *from, uint32_t bytes, void *barrier, const char *file, int line) {
	const Box box = {to, static_cast<const char *>(from), 0, 1, 1, static_cast<int>(bytes), true};
	if (bytes == 0 || (bytes | reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) % 16 != 0)
		wrong(*this_worker, {file, line}, "a copy of %u bytes from %p to %p: want multiples of 16", bytes, from, to);
	cuemu_copy_box(&box, barrier, file, line);
}

// cuemu_copy_box_to_each: the box lands in every block of the cluster whose bit is set, and is reported to the mbarrier there. Of other blocks
// the clocks are not known here: that a copy or product of theirs still holds the bytes is.
void cuemu_copy_box_to_each(const Box *box, void *barrier, unsigned blocks, const char *file, int line) {
	Unseen books;
	Worker &w = *this_worker;
	activate(w);
	const Origin at = {file, line};
	const uint32_t bytes = static_cast<uint32_t>(box->rows) * ROW, to = arena_offset(w, box->to, bytes, at);
	const uint32_t report_to = arena_offset(w, barrier, 8, at);
	if (blocks == 0) wrong(w, at, "a copy to no block of the cluster");
	for (unsigned rank = 0; blocks >> rank; rank++) {
		if (!(blocks >> rank & 1)) continue;
		if (rank == w.rank) {
			cuemu_copy_box(box, barrier, file, line);
			continue;
		}
		Worker &in = peer_in(w, rank, at);
		const int number = barrier_in(w, in, report_to, at);
		check_destination(w, *in.async, to, to + bytes, at, "a copy from another block");
		start_box(w, in, *box, to, number, at);
	}
}

void cuemu_copy_async(void *to, const void *from, int bytes, int read, const char *file, int line) {
	Unseen books;
	Worker &w = *this_worker;
	Async &a = activate(w);
	const int number = start_small(w, a, to, from, bytes, read, -1, {file, line});
	a.of_thread[w.current].push_back(number);
	if (a.completion == EARLY || (a.completion == SHUFFLED && random_below(a, 2))) make_copy(w, a, number);
	else watch_source(a, a.copies[number]);
}

void cuemu_copy_async_to(void *to, const void *from, int bytes, void *barrier, const char *file, int line) {
	Unseen books;
	Worker &w = *this_worker;
	Async &a = activate(w);
	const Origin at = {file, line};
	const int reports_to = barrier_at(w, a, barrier, at);
	check_known(w, a, a.barriers[reports_to], at);
	a.barriers[reports_to].bytes += bytes;
	const int number = start_small(w, a, to, from, bytes, bytes, reports_to, at);
	if (a.completion == EARLY || (a.completion == SHUFFLED && random_below(a, 2))) make_copy(w, a, number);
	else watch_source(a, a.copies[number]);
}

void cuemu_copy_commit(void) {
	Unseen books;
	Worker &w = *this_worker;
	activate(w).groups[w.current]++;
}

void cuemu_copy_wait(int pending, const char *, int) {
	Unseen books;
	Worker &w = *this_worker;
	Async &a = activate(w);
	const uint32_t t = w.current;
	std::vector<int> &list = a.of_thread[t];
	size_t done = 0;
	for (; done < list.size(); done++) {
		Copy &c = a.copies[list[done]];
		if (static_cast<int64_t>(c.group) >= static_cast<int64_t>(a.groups[t]) - pending) break;
		if (!c.made) make_copy(w, a, list[done]);
		for (uint32_t i = c.to; i < c.to + c.bytes; i++) a.written[i] = a.epoch[t] << 11 | BY_COPY | t;
		memset(a.in_flight + c.to / 4, 0, c.bytes / 4 * sizeof *a.in_flight);
		a.dirty = true;
		c.used = false;
		a.free_copies.push_back(list[done]);
	}
	list.erase(list.begin(), list.begin() + static_cast<long>(done));
}

void cuemu_copy_end(void) {
	Unseen books;
	Worker &w = *this_worker;
	if (!w.in_block || !w.async || !w.async->active || w.async->of_thread[w.current].empty()) return;
	const Copy &c = w.async->copies[w.async->of_thread[w.current][0]];
	wrong(w, c.at, "no wait covers this copy: commit it, and wait for it before the thread is done");
}

}  // extern "C"
